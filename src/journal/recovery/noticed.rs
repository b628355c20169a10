//! Recoveries as they are stored.

use crate::domain::{PaymentId, Timestamp};
use crate::journal::codec::values::corrupt;
use crate::journal::{Error, Recovery};
use crate::ledger::recovery::Cause;
use crate::store::tables::recovery;
use crate::store::{Read, Reads, Scan, Test, shape};

shape! {
    /// When it was noticed, and by what.
    struct Noticed of recovery { begun_at: Timestamp, cause: i64 }
}

/// The recoveries that are not declared done.
pub(in crate::journal) fn open_ones() -> Scan<'static> {
    Scan::of(&recovery::TABLE).only(recovery::done_at, Test::Absent)
}

/// Returns the recovery that is not declared done.
pub(in crate::journal) fn open_recovery(c: &dyn Read) -> Result<Option<Recovery>, Error> {
    let Some(noticed) = c.first::<Noticed>(&open_ones().descending().limit(1))? else {
        return Ok(None);
    };
    let cause = Cause::ALL
        .into_iter()
        .find(|(known, _)| *known == noticed.cause);
    let (_, cause) = cause.ok_or_else(|| corrupt("a recovery with an unknown cause"))?;
    Ok(Some(Recovery {
        since: noticed.begun_at,
        cause,
    }))
}

/// Returns whether batches are missing while a recovery is open; `None`: none is.
pub(in crate::journal) fn batches_missing(c: &dyn Read) -> Result<Option<bool>, Error> {
    let missing: Vec<bool> = c.values(&open_ones(), recovery::batches_missing)?;
    Ok(missing.into_iter().max())
}

/// The recoveries that may have missed something of a payment: by a person's word, nothing had been missed.
fn that_met(seq: &PaymentId) -> Scan<'_> {
    Scan::of(&recovery::TABLE)
        .only(recovery::newest_seq, Test::at_least(seq))
        .only(recovery::reason, Test::Absent)
}

/// Returns whether a payment was there when it was noticed, once, that the journal may have missed something.
pub(in crate::journal) fn was_there_when_noticed(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<bool, Error> {
    Ok(c.any(&that_met(&seq))?)
}

/// Returns when it was noticed last that the journal may have missed what was posted of a payment; `None`: it never was.
pub(in crate::journal) fn noticed_at(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<Option<Timestamp>, Error> {
    let times: Vec<Timestamp> = c.values(&that_met(&seq), recovery::begun_at)?;
    Ok(times.into_iter().max())
}
