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

shape! {
    /// Up to which payment a recovery may have missed something, and when it was noticed.
    struct Met of recovery { newest_seq: PaymentId, begun_at: Timestamp }
}

/// Returns when it was noticed that something may have been missed of a payment: by a person's word, nothing had been missed.
// There are few, and the same are read for every payment.
fn that_met(c: &dyn Read, seq: PaymentId) -> Result<impl Iterator<Item = Timestamp>, Error> {
    let all = Scan::of(&recovery::TABLE).only(recovery::reason, Test::Absent);
    let all: Vec<Met> = c.list(&all)?;
    let met = all.into_iter().filter(move |met| met.newest_seq >= seq);
    Ok(met.map(|met| met.begun_at))
}

/// Returns whether a payment was there when it was noticed, once, that the journal may have missed something.
pub(in crate::journal) fn was_there_when_noticed(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<bool, Error> {
    Ok(that_met(c, seq)?.next().is_some())
}

/// Returns when it was noticed last that the journal may have missed what was posted of a payment; `None`: it never was.
pub(in crate::journal) fn noticed_at(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<Option<Timestamp>, Error> {
    Ok(that_met(c, seq)?.max())
}
