//! Payments that may have left, and whose "not found" is too old to post them on. The rule is in [`crate::ledger::stale`].

use crate::domain::{PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::stale::is_stale;
use crate::lifecycle::{PaymentState, Policy};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan, Test};

/// An answer to a status query, and that what was asked about was not found.
const ANSWERED: i64 = 6;
const NOT_FOUND: i64 = 7;

/// Returns when a payment was not found last.
// By its place in the evidence: a clock that was ahead once must not make every later answer an old one.
fn not_found_at(c: &WriteSession, seq: PaymentId) -> Result<Option<Timestamp>, Error> {
    c.flush()?;
    let answers = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::is(&ANSWERED))
        .only(evidence::class, Test::is(&NOT_FOUND))
        .descending();
    Ok(c.value(&answers, evidence::at)?)
}

/// Returns whether a claim rests on a "not found" that is too old by now.
pub(in crate::journal) fn rests_on_stale(
    c: &WriteSession,
    seq: PaymentId,
    life: &PaymentState,
    now: Timestamp,
    policy: &Policy,
) -> Result<bool, Error> {
    Ok(life.is_exposed() && is_stale(life, not_found_at(c, seq)?, now, policy))
}
