//! What is on record of recoveries, compared with the chains. The rule is in [`crate::ledger::recovery::unlike`].

use data_encoding::HEXLOWER;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::noticed::open_recovery;
use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::Reader;
use crate::journal::sqlite::codec::events::{ORDERS_GIVEN_AGAIN, RECOVERY_BEGAN, RECOVERY_DONE};
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::evidence::encoding::CanonicalHasher;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::ledger::recovery::{OnRecord, unlike};

/// Under this name, the evidence has the digest of what is on record of recoveries once it is written.
const ON_RECORD: &str = "on_record";

/// Tells every batch of a change, once it is made.
pub(in crate::journal::sqlite) fn tell(
    c: &WriteSession,
    kind: i64,
    detail: Value,
    now: Timestamp,
) -> Result<(), Error> {
    let detail = sealed(c, detail)?;
    for batch_id in crate::journal::sqlite::codec::catalog::batches(c)? {
        c.mark(batch_id);
        say(c, batch_id, kind, &detail, now)?;
    }
    Ok(())
}

/// Tells every batch that others which may be missing are here by now, or that some are not.
pub(in crate::journal::sqlite) fn tell_moved(
    c: &WriteSession,
    now: Timestamp,
) -> Result<(), Error> {
    let missing: Option<bool> = c
        .prepare_cached("select max(batches_missing) from recovery where done_at is null")?
        .query_row([], |row| row.get(0))?;
    tell(c, RECOVERY_BEGAN, json!({"batches_missing": missing}), now)
}

/// Tells every batch that a person said who posted one of them, if a recovery is on record.
pub(in crate::journal::sqlite) fn tell_of_payer(
    c: &WriteSession,
    now: Timestamp,
) -> Result<(), Error> {
    let some: bool = c
        .prepare_cached("select exists (select 1 from recovery)")?
        .query_row([], |row| row.get(0))?;
    match some {
        true => tell(c, RECOVERY_BEGAN, json!({"who_posted": "confirmed"}), now),
        false => Ok(()),
    }
}

/// Tells a batch that is new of the recovery that is open, if one is.
pub(in crate::journal::sqlite) fn tell_new(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(open) = open_recovery(c)? else {
        return Ok(());
    };
    let began = json!({"cause": open.cause.sentence(), "noticed_at": open.since.as_millis()});
    say(c, batch_id, RECOVERY_BEGAN, &sealed(c, began)?, now)
}

fn say(
    c: &WriteSession,
    batch_id: BatchId,
    kind: i64,
    detail: &str,
    at: Timestamp,
) -> Result<(), Error> {
    c.append(&Evidence {
        batch_id,
        at,
        kind: (kind, None, None),
        detail: Some(detail),
        ..Evidence::default()
    })
}

fn sealed(c: &Connection, mut detail: Value) -> Result<String, Error> {
    detail[ON_RECORD] = digest(c)?.into();
    Ok(detail.to_string())
}

/// What tells all that is on record of recoveries, and of the orders that were lost, from anything else.
fn digest(c: &Connection) -> Result<String, Error> {
    let mut canon = CanonicalHasher::of("recoveries");
    for sql in [
        "select * from recovery order by recovery_id",
        "select * from lost_order order by lost_order_id",
        "select * from payer order by batch",
    ] {
        let mut statement = c.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            canon.row(row)?;
            count += 1;
        }
        canon.integer(count);
    }
    Ok(HEXLOWER.encode(&canon.finish()))
}

/// Returns what is wrong with what is on record of recoveries; `None`: nothing is.
pub(in crate::journal::sqlite) fn altered(c: &Connection) -> Result<Option<&'static str>, Error> {
    let last_words = last_words(c)?;
    let digest = digest(c)?;
    let on_record = c
        .prepare_cached(
            "select count(*) = 0 and not exists (select 1 from lost_order),
                    coalesce(max(newest_seq <> 0 or newest_evidence <> 0), 0), coalesce(max(done_at is null), 0)
             from recovery",
        )?
        .query_row([], |row| {
            Ok(OnRecord {
                digest: &digest,
                is_empty: row.get(0)?,
                met_batches: row.get(1)?,
                is_open: row.get(2)?,
            })
        })?;
    let batches: bool = c
        .prepare_cached("select exists (select 1 from batch)")?
        .query_row([], |row| row.get(0))?;
    Ok(unlike(on_record, &last_words, batches).map(|unlike| unlike.sentence()))
}

/// Returns the last word on the chain of each batch that has one.
fn last_words(c: &Connection) -> Result<Vec<String>, Error> {
    const _: () = assert!(RECOVERY_BEGAN == 50 && RECOVERY_DONE == 51 && ORDERS_GIVEN_AGAIN == 84);
    let mut statement = c.prepare_cached(
        "select coalesce(detail ->> 'on_record', ''), max(evidence_id) from evidence indexed by about_batch
         where seq = 0 and event in (50, 51, 84) group by batch_id",
    )?;
    let found = statement.query_map([], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Refuses a journal in which what is on record of recoveries is not what its evidence says; looked at once, until somebody else
/// writes.
///
/// # Errors
/// [`Error::AlteredLoad`].
pub(in crate::journal::sqlite) fn assert_as_recorded(c: &WriteSession) -> Result<(), Error> {
    if c.knows_recoveries().get() {
        return Ok(());
    }
    match altered(c)? {
        Some(what) => Err(Error::AlteredLoad { what: what.into() }),
        None => {
            c.knows_recoveries().set(true);
            Ok(())
        }
    }
}

/// The same before anything of a batch leaves.
///
/// # Errors
/// [`Error::Altered`].
pub(in crate::journal::sqlite) fn assert_may_leave(
    c: &WriteSession,
    batch_id: BatchId,
) -> Result<(), Error> {
    match assert_as_recorded(c) {
        Err(Error::AlteredLoad { what }) => {
            let name: String = c
                .prepare_cached("select name from batch where batch_id = ?1")?
                .query_row([batch_id], |row| row.get(0))?;
            let batch = BatchName::parse(&name)
                .map_err(|_| crate::journal::sqlite::codec::values::corrupt("a batch name"))?;
            Err(Error::Altered { batch, what })
        }
        judged => judged,
    }
}

impl Journal {
    /// Refuses a journal in which what is on record of recoveries is not what its evidence says.
    ///
    /// # Errors
    /// [`Error::AlteredLoad`].
    pub async fn assert_recoveries(&self) -> Result<(), Error> {
        self.ask(CommitMode::Shared, |c| assert_as_recorded(c))
            .await
    }
}

impl Reader {
    /// Refuses a journal in which what is on record of recoveries is not what its evidence says.
    ///
    /// # Errors
    /// [`Error::AlteredLoad`].
    pub fn assert_recoveries(&self) -> Result<(), Error> {
        match altered(&self.connection)? {
            Some(what) => Err(Error::AlteredLoad { what: what.into() }),
            None => Ok(()),
        }
    }
}
