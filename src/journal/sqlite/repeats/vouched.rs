//! Whether what a row is compared with is what was loaded: who can write the journal's file can move a load out of the window,
//! take its fingerprints away, or let a payment stand as failed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::fingerprints::chunks_of;
use super::fingerprints::{Key, entry_of};
use super::joins::join;
use crate::domain::{BatchId, LaneId, LoadId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::{FILE_LOADED, REPLACED};
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, PAYMENT_WIDTH, corrupt, stored_of};
use crate::journal::sqlite::evidence::digests::file_digest;
use crate::journal::sqlite::evidence::encoding::Digest;
use crate::journal::sqlite::verify::intact::{Intact, misfit};
use crate::ledger::intact::{Mismatch, same};
use crate::ledger::pin::READ_AS_DOCUMENT;

/// Compares every load of the journal with the chain.
///
/// # Errors
/// [`Error::AlteredLoad`].
pub(in crate::journal::sqlite) fn check_loads(c: &Connection) -> Result<(), Error> {
    let mut statement = c.prepare_cached(
        "select e.batch_id, e.digest, e.detail, b.name from evidence e indexed by about_batch left join batch b on b.batch_id = e.batch_id
         where e.seq = 0 and e.event = 26",
    )?;
    const _: () = assert!(FILE_LOADED == 26);
    let mut rows = statement.query([])?;
    let mut on_chain = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let detail: String = row.get(2)?;
        let detail: serde_json::Value =
            serde_json::from_str(&detail).map_err(|_| corrupt("a load on the chain"))?;
        let load_id = detail["load"].as_i64().map_or(LoadId::NONE, LoadId::new);
        on_chain.insert(load_id);
        let Some(batch) = row.get::<_, Option<String>>(3)? else {
            return altered(c, load_id, "its batch is gone");
        };
        if !is_as_loaded(c, (row.get(0)?, load_id), row.get(1)?, &detail)? {
            return altered(
                c,
                load_id,
                &format!("it is not as it was loaded into batch {batch}"),
            );
        }
        let fingerprints = detail["fingerprints"].as_i64();
        if fingerprints.is_some_and(|chunks| chunks_of(c, load_id).ok() != Some(chunks)) {
            return altered(
                c,
                load_id,
                &format!("the fingerprints of its rows, in batch {batch}, are not all there"),
            );
        }
    }
    let mut loads = c.prepare_cached("select load_id from load where accepted > 0")?;
    let mut rows = loads.query([])?;
    while let Some(row) = rows.next()? {
        let load_id = row.get(0)?;
        if !on_chain.contains(&load_id) {
            return altered(c, load_id, "the chain of evidence does not know it");
        }
    }
    Ok(())
}

/// Returns whether a load is in its batch, from when it was, and of as many rows. What it set aside is compared with no row.
fn is_as_loaded(
    c: &Connection,
    (batch_id, load_id): (BatchId, LoadId),
    digest: Option<Digest>,
    detail: &serde_json::Value,
) -> Result<bool, Error> {
    let Some(loaded_at) = detail["loaded_at"].as_i64() else {
        // An earlier version recorded the digest alone.
        let found = file_digest(c, load_id)?.map(|(digest, _)| digest);
        return Ok(same(digest, found, Mismatch::Instruction).is_ok());
    };
    let found: Option<(BatchId, i64, i64)> = c
        .prepare_cached("select batch_id, loaded_at, accepted from load where load_id = ?1")?
        .query_row([load_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let accepted = detail["accepted"].as_i64().unwrap_or_default();
    Ok(found == Some((batch_id, loaded_at, accepted)))
}

/// Refuses fingerprints that were made with another key: nothing would be found among them.
pub(in crate::journal::sqlite) fn check_key(
    c: &Connection,
    key: Key,
    load_id: LoadId,
) -> Result<(), Error> {
    let sql = format!(
        "select {PAYMENT_COLUMNS}, i.seq from instruction i join service s using (service_id)
         where i.seq >= (select min(first_seq) from fingerprints where load_id = ?1) and i.load_id = ?1
         order by length(i.salt) is 32, i.seq limit 1"
    );
    let mut statement = c.prepare_cached(&sql)?;
    let mut rows = statement.query([load_id])?;
    let Some(row) = rows.next()? else {
        return altered(c, load_id, "its rows are gone");
    };
    let seq: PaymentId = row.get(PAYMENT_WIDTH)?;
    let row = stored_of(row, 0)?.instruction;
    // All persons of the load were forgotten, and nothing is left to make a fingerprint of.
    if row.msisdn.is_forgotten() {
        return Ok(());
    }
    let mut found = false;
    for hash in key.hashes(&row, row.money.written()) {
        join(c, load_id, &[entry_of(hash)], |_, seqs| {
            found |= seqs.iter().any(|(known, _)| *known == seq);
            Ok(())
        })?;
    }
    match found {
        true => Ok(()),
        false => altered(c, load_id, "its fingerprints are not those of its rows"),
    }
}

fn altered<T>(c: &Connection, load_id: LoadId, what: &str) -> Result<T, Error> {
    let source: Option<String> = c
        .prepare_cached("select source from load where load_id = ?1")?
        .query_row([load_id], |row| row.get(0))
        .optional()?;
    let what = match source {
        Some(source) => format!("the load of {source}: {what}"),
        None => format!("a load: {what}"),
    };
    Err(Error::AlteredLoad { what })
}

/// Replays rows on record; what is read of the chain of a batch is read once.
#[derive(Default)]
pub(in crate::journal::sqlite) struct Vouched {
    known: RefCell<BTreeMap<BatchId, Intact>>,
    /// How replies are read by whoever asks.
    reading: Option<String>,
}

impl Vouched {
    /// Of a configuration that reads replies so.
    pub(in crate::journal::sqlite) fn read_as(reading: Option<&str>) -> Self {
        Self {
            reading: reading.map(str::to_owned),
            ..Self::default()
        }
    }

    /// Returns whether what the gateway said of a row was read in another way.
    pub(in crate::journal::sqlite) fn is_read_otherwise(
        &self,
        c: &Connection,
        seq: PaymentId,
    ) -> Result<bool, Error> {
        let Some(in_force) = &self.reading else {
            return Ok(false);
        };
        Ok(c.prepare_cached(
            "select coalesce(b.reading, ?2) <> ?3 from instruction i join batch b using (batch_id) where i.seq = ?1",
        )?
        .query_row(params![seq, READ_AS_DOCUMENT, in_force], |row| row.get(0))?)
    }

    /// Returns whether every payment of a row stands where its evidence says.
    pub(in crate::journal::sqlite) fn stands(
        &self,
        c: &Connection,
        seq: PaymentId,
    ) -> Result<bool, Error> {
        let (batch_id, lane): (BatchId, LaneId) = c
            .prepare_cached("select batch_id, service_id from instruction where seq = ?1")?
            .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut known = self.known.borrow_mut();
        let intact = known.entry(batch_id).or_default();
        Ok(misfit(intact, c, (batch_id, lane), seq)?.is_none())
    }
}

/// Returns when a payment was replaced by a retry, by the chain.
pub(in crate::journal::sqlite) fn replaced_at(
    c: &Connection,
    seq: PaymentId,
) -> Result<Option<Timestamp>, Error> {
    let at: Option<i64> = c
        .prepare_cached(
            "select max(at) from evidence indexed by evidence_by_payment where seq = ?1 and event = ?2",
        )?
        .query_row(params![seq, REPLACED], |row| row.get(0))?;
    Ok(at.map(Timestamp::from_millis))
}
