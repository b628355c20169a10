//! Payments that may have left, and whose "not found" is too old to post them on. The rule is in [`crate::ledger::stale`].

use rusqlite::OptionalExtension;

use crate::domain::{PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::ledger::stale::is_stale;
use crate::lifecycle::{PaymentState, Policy};

/// When payment ?1 was not found last.
// By its place in the evidence: a clock that was ahead once must not make every later answer an old one.
const NOT_FOUND_AT: &str = "select at from evidence indexed by evidence_by_payment where seq = ?1 and event = 6 and class = 7
     order by evidence_id desc limit 1";

fn not_found_at(c: &WriteSession, seq: PaymentId) -> Result<Option<Timestamp>, Error> {
    c.flush()?;
    let at: Option<i64> = c
        .prepare_cached(NOT_FOUND_AT)?
        .query_row([seq], |row| row.get(0))
        .optional()?;
    Ok(at.map(Timestamp::from_millis))
}

/// Returns whether a claim rests on a "not found" that is too old by now.
pub(in crate::journal::sqlite) fn rests_on_stale(
    c: &WriteSession,
    seq: PaymentId,
    life: &PaymentState,
    now: Timestamp,
    policy: &Policy,
) -> Result<bool, Error> {
    Ok(life.is_exposed() && is_stale(life, not_found_at(c, seq)?, now, policy))
}
