//! Payments that may have left, and whose "not found" is too old to post them on. The rule is in [`crate::ledger::stale`].

use super::posted_elsewhere::last_proven_move;
use crate::domain::{BatchId, EvidenceId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::stale::is_stale;
use crate::lifecycle::{PaymentState, Policy};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan, Test, shape};

/// An answer to a status query, and that what was asked about was not found.
const ANSWERED: i64 = 6;
const NOT_FOUND: i64 = 7;

shape! {
    /// That a payment was not found.
    struct NotFound of evidence { evidence_id: EvidenceId, batch_id: BatchId, at: Timestamp }
}

/// Returns when a payment was not found last, where its batch is now.
// By its place in the evidence: a clock that was ahead once must not make every later answer an old one.
fn not_found_at(c: &WriteSession, seq: PaymentId) -> Result<Option<Timestamp>, Error> {
    c.flush()?;
    let answers = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::is(&ANSWERED))
        .only(evidence::class, Test::is(&NOT_FOUND))
        .descending();
    let Some(last) = c.first::<NotFound>(&answers)? else {
        return Ok(None);
    };
    // The place before a move said so: the one where it would be posted was not asked.
    let moved = last_proven_move(&**c, last.batch_id)?;
    let is_of_now = moved.is_none_or(|moved| moved < last.evidence_id);
    Ok(is_of_now.then_some(last.at))
}

/// Returns whether a claim rests on a "not found" that is too old by now, or was said in another place.
pub(in crate::journal) fn rests_on_stale(
    c: &WriteSession,
    seq: PaymentId,
    life: &PaymentState,
    now: Timestamp,
    policy: &Policy,
) -> Result<bool, Error> {
    Ok(life.is_exposed() && is_stale(life, not_found_at(c, seq)?, now, policy))
}
