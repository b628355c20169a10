//! Recoveries as they are stored.

use rusqlite::{Connection, OptionalExtension};

use crate::domain::{PaymentId, Timestamp};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::{Error, Recovery};
use crate::ledger::recovery::Cause;

/// Returns the recovery that is not declared done.
pub(in crate::journal::sqlite) fn open_recovery(c: &Connection) -> Result<Option<Recovery>, Error> {
    let found: Option<(i64, i64)> = c
        .prepare_cached("select begun_at, cause from recovery where done_at is null order by recovery_id desc limit 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((begun_at, number)) = found else {
        return Ok(None);
    };
    let cause = Cause::ALL.into_iter().find(|(known, _)| *known == number);
    let (_, cause) = cause.ok_or_else(|| corrupt("a recovery for no reason"))?;
    Ok(Some(Recovery {
        since: Timestamp::from_millis(begun_at),
        cause,
    }))
}

/// Returns whether a payment was there when it was noticed, once, that the journal may have missed something.
pub(in crate::journal::sqlite) fn was_there_when_noticed(
    c: &Connection,
    seq: PaymentId,
) -> Result<bool, Error> {
    // By a person's word, nothing had been missed.
    Ok(c.prepare_cached(
        "select exists (select 1 from recovery where newest_seq >= ?1 and reason is null)",
    )?
    .query_row([seq], |row| row.get(0))?)
}

/// Returns when it was noticed last that the journal may have missed what was posted of a payment; `None`: it never was.
pub(in crate::journal::sqlite) fn noticed_at(
    c: &Connection,
    seq: PaymentId,
) -> Result<Option<Timestamp>, Error> {
    let at: Option<i64> = c
        .prepare_cached(
            "select max(begun_at) from recovery where newest_seq >= ?1 and reason is null",
        )?
        .query_row([seq], |row| row.get(0))?;
    Ok(at.map(Timestamp::from_millis))
}
