//! What a claim is about to read, told to a store beforehand that is far away: each question would cost a round trip, for which every
//! other run waits.

use super::claim_started::due_by;
use crate::domain::{BatchId, LaneId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::payments::unstarted::{fresh_from, lives_between};
use crate::journal::payments::watched::{watched_between, watches_between};
use crate::journal::session::transaction::WriteSession;
use crate::journal::verify::intact::{about_rows, evidence_between};
use crate::ledger::confirmation::Bound;
use crate::store::Read as _;

/// Expects what says which payments of a lane are there to be claimed.
pub(super) fn expect_claim(
    c: &WriteSession,
    of_lane: (BatchId, LaneId),
    confirmed: Bound,
    share: usize,
    now: Timestamp,
) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    let (batch_id, lane) = of_lane;
    let from = fresh_from(c, batch_id, lane)?;
    let (read_to, mut spans) = c.intact(batch_id, |intact| {
        let spans = from.map(|from| intact.spans(from, share));
        (intact.reads_on_from(), spans.unwrap_or_default())
    });
    for (first, last) in &mut spans {
        *first = (*first).max(from.unwrap_or(0));
        *last = (*last).min(confirmed.instruction.get());
    }
    let mut wanted = vec![due_by(&of_lane, &now)];
    wanted.extend(read_to.iter().map(|read_to| about_rows(&batch_id, read_to)));
    wanted.extend(spans.iter().map(lives_between));
    Ok(c.expect(&wanted)?)
}

/// Expects what says whether payments, in their order, may leave.
pub(super) fn expect_leaving(c: &WriteSession, seqs: &[PaymentId]) -> Result<(), Error> {
    let (true, Some(first), Some(last)) = (c.is_shared(), seqs.first(), seqs.last()) else {
        return Ok(());
    };
    let wanted = [
        evidence_between(first, last),
        watches_between(first, last),
        watched_between(first, last),
    ];
    Ok(c.expect(&wanted)?)
}
