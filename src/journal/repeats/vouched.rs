//! Whether what a row is compared with is what was loaded: who can write the journal's file can move a load out of the window,
//! take its fingerprints away, or let a payment stand as failed.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::fingerprints::{Key, entry_of};
use super::fingerprints::{chunks_of, first_of};
use super::joins::join;
use crate::domain::{BatchId, LaneId, LoadId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::catalog::{batch_of, reading};
use crate::journal::codec::events::{FILE_LOADED, REPLACED};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::digests::file_digest;
use crate::journal::evidence::encoding::Digest;
use crate::journal::payments::answered::ReadBy;
use crate::journal::verify::intact::Intact;
use crate::journal::verify::one_payment::misfit;
use crate::ledger::intact::{Mismatch, same};
use crate::ledger::pin::{READ_AS_DOCUMENT, dialect_of};
use crate::store::tables::{batch, evidence, instruction, load};
use crate::store::{Read, Reads, Scan, Test, Value, shape};

/// How many bytes the leaf has that takes the place of the salt of a row whose person is forgotten.
const LEAF: usize = 32;

shape! {
    /// A load as its chain has it.
    struct Told of evidence { batch_id: Option<BatchId>, digest: Option<Digest>, detail: String }
}

/// Compares every load of the journal with the chain.
///
/// # Errors
/// [`Error::AlteredLoad`].
pub(in crate::journal) fn check_loads(c: &dyn Read) -> Result<(), Error> {
    let mut on_chain = BTreeSet::new();
    let told = Scan::by(&evidence::about_batch).at(&FILE_LOADED);
    c.each(&told, |told: Told| {
        let detail: serde_json::Value =
            serde_json::from_str(&told.detail).map_err(|_| corrupt("an unreadable load record"))?;
        let load_id = detail["load"].as_i64().map_or(LoadId::NONE, LoadId::new);
        on_chain.insert(load_id);
        let named = match told.batch_id {
            Some(batch_id) => {
                let named = Scan::of(&batch::TABLE).at(&batch_id);
                let name: Option<String> = c.value(&named, batch::name)?;
                name.map(|name| (batch_id, name))
            }
            None => None,
        };
        let Some((batch_id, batch)) = named else {
            return altered(c, load_id, "its batch is gone");
        };
        if !is_as_loaded(c, (batch_id, load_id), told.digest, &detail)? {
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
        Ok(())
    })?;
    let loads = Scan::of(&load::TABLE).only(load::accepted, Test::at_least(&1_i64));
    c.each_row(&loads, &[load::load_id], |row| {
        let load_id = row.get(0)?;
        if !on_chain.contains(&load_id) {
            return altered(c, load_id, "the chain of evidence does not know it");
        }
        Ok(ControlFlow::Continue(()))
    })
}

shape! {
    /// What its chain says of a load.
    #[derive(PartialEq)]
    struct AsLoaded of load { batch_id: BatchId, loaded_at: i64, accepted: i64 }
}

/// Returns whether a load is in its batch, from when it was, and of as many rows. What it set aside is compared with no row.
fn is_as_loaded(
    c: &dyn Read,
    (batch_id, load_id): (BatchId, LoadId),
    digest: Option<Digest>,
    detail: &serde_json::Value,
) -> Result<bool, Error> {
    let Some(loaded_at) = detail["loaded_at"].as_i64() else {
        // An earlier version recorded the digest alone.
        let found = file_digest(c, load_id)?.map(|(digest, _)| digest);
        return Ok(same(digest, found, Mismatch::Instruction).is_ok());
    };
    let found: Option<AsLoaded> = c.first(&Scan::of(&load::TABLE).at(&load_id))?;
    let accepted = detail["accepted"].as_i64().unwrap_or_default();
    Ok(found
        == Some(AsLoaded {
            batch_id,
            loaded_at,
            accepted,
        }))
}

/// Refuses fingerprints that were made with another key: nothing would be found among them.
pub(in crate::journal) fn check_key(c: &dyn Read, key: Key, load_id: LoadId) -> Result<(), Error> {
    let found = match first_to_compare(c, load_id)? {
        Some(seq) => Instructions::of(c).find(seq)?,
        None => None,
    };
    let Some(found) = found else {
        return altered(c, load_id, "its rows are gone");
    };
    let (seq, row) = (found.seq, found.row.instruction);
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

/// Returns the first row of a load whose person is not forgotten; the first one where all of them are.
fn first_to_compare(c: &dyn Read, load_id: LoadId) -> Result<Option<PaymentId>, Error> {
    let Some(first) = first_of(c, load_id)? else {
        return Ok(None);
    };
    let rows = Scan::of(&instruction::TABLE).from(&first);
    let rows = rows.only(instruction::load_id, Test::is(&load_id));
    let mut found: Option<PaymentId> = None;
    c.each_row(&rows, &[instruction::seq, instruction::salt], |row| {
        if matches!(row.value(1)?, Value::Bytes(salt) if salt.len() == LEAF) {
            found = found.or(Some(row.get(0)?));
            return Ok(ControlFlow::Continue(()));
        }
        found = Some(row.get(0)?);
        Ok::<_, Error>(ControlFlow::Break(()))
    })?;
    Ok(found)
}

fn altered<T>(c: &dyn Read, load_id: LoadId, what: &str) -> Result<T, Error> {
    let source: Option<String> = c.value(&Scan::of(&load::TABLE).at(&load_id), load::source)?;
    let what = match source {
        Some(source) => format!("the load of {source}: {what}"),
        None => format!("a load: {what}"),
    };
    Err(Error::AlteredLoad { what })
}

/// Replays rows on record; what is read of the chain of a batch is read once.
#[derive(Default)]
pub(in crate::journal) struct Vouched {
    known: RefCell<BTreeMap<BatchId, Intact>>,
    /// How replies are read by whoever asks.
    reading: Option<String>,
}

impl Vouched {
    /// Of a configuration that reads replies so.
    pub(in crate::journal) fn read_as(reading: Option<&str>) -> Self {
        Self {
            reading: reading.map(str::to_owned),
            ..Self::default()
        }
    }

    /// Returns by what else the gateway's words about a row were read.
    pub(in crate::journal) fn read_otherwise(
        &self,
        c: &dyn Read,
        seq: PaymentId,
    ) -> Result<Option<ReadBy>, Error> {
        let Some(in_force) = &self.reading else {
            return Ok(None);
        };
        let was_read =
            reading(c, batch_of(c, seq)?)?.map_or(Cow::from(READ_AS_DOCUMENT), Cow::from);
        Ok(match was_read == in_force.as_str() {
            true => None,
            false if dialect_of(&was_read) == dialect_of(in_force) => Some(ReadBy::OtherCodes),
            false => Some(ReadBy::OtherDialect),
        })
    }

    /// Returns whether every payment of a row stands where its evidence says.
    pub(in crate::journal) fn stands(&self, c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
        shape! {
            struct Place of instruction { batch_id: BatchId, service_id: LaneId }
        }
        let place: Option<Place> = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
        let Some(Place {
            batch_id,
            service_id: lane,
        }) = place
        else {
            return Err(corrupt(format!("payment {seq} is missing")));
        };
        let mut known = self.known.borrow_mut();
        let intact = known.entry(batch_id).or_default();
        Ok(misfit(intact, c, (batch_id, lane), seq)?.is_none())
    }
}

/// Returns when a payment was replaced by a retry, by the chain.
pub(in crate::journal) fn replaced_at(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<Option<Timestamp>, Error> {
    let own = Scan::by(&evidence::evidence_by_payment).at(&seq);
    let replaced = own.only(evidence::event, Test::is(&REPLACED));
    let mut newest: Option<Timestamp> = None;
    c.each_row(&replaced, &[evidence::at], |row| {
        newest = newest.max(Some(row.get(0)?));
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(newest)
}
