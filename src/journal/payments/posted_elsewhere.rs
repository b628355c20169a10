//! Payments that were posted before their batch was moved to another address or another account: that these do not have one proves nothing,
//! as the post went elsewhere, and what arrived there may not be in the new place yet.

use std::borrow::Cow;

use super::first_claims::first_claim;
use crate::domain::{BatchId, EvidenceId, PaymentId, ResponseDetails};
use crate::journal::Error;
use crate::journal::codec::events::{ACCOUNT_MOVED, GATEWAY_MOVED, event_numbers};
use crate::journal::session::subject::Subject;
use crate::ledger::pin::not_found_after_a_move;
use crate::lifecycle::Event;
use crate::store::tables::evidence;
use crate::store::{Read, Reads, Scan, Test};

/// What stands beside such an answer.
const NOTE: &str = "it was posted before its batch was moved, so that it is not known in the new place proves nothing";

/// Returns what an answer is worth about a payment, and its words.
pub(in crate::journal) fn worth<'s>(
    c: &dyn Read,
    subject: &Subject,
    event: Event,
    said: &'s ResponseDetails,
) -> Result<(Event, Cow<'s, ResponseDetails>), Error> {
    let Some(worth) = not_found_after_a_move(event, subject.moved.life.state) else {
        return Ok((event, Cow::Borrowed(said)));
    };
    if !was_posted_before(c, subject.batch_id, subject.moved.seq)? {
        return Ok((event, Cow::Borrowed(said)));
    }
    let anomaly = Some(NOTE.to_owned());
    Ok((
        worth,
        Cow::Owned(ResponseDetails {
            anomaly,
            ..said.clone()
        }),
    ))
}

/// Returns whether the last post of a payment was made before its batch was moved last.
fn was_posted_before(c: &dyn Read, batch_id: BatchId, seq: PaymentId) -> Result<bool, Error> {
    let mut moved = EvidenceId::NONE;
    for kind in [GATEWAY_MOVED, ACCOUNT_MOVED] {
        let moves = Scan::by(&evidence::about_batch).at(&kind).at(&batch_id);
        let newest: Option<EvidenceId> = c.value(&moves.descending(), evidence::evidence_id)?;
        moved = moved.max(newest.unwrap_or(EvidenceId::NONE));
    }
    if moved == EvidenceId::NONE {
        return Ok(false);
    }
    Ok(last_post(c, batch_id, seq)?.is_some_and(|posted| posted < moved))
}

/// Returns the evidence that a payment was handed out for sending last; `None`: it never was.
pub(in crate::journal) fn last_post(
    c: &dyn Read,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<Option<EvidenceId>, Error> {
    let (claimed, _, _) = event_numbers(Event::Claimed);
    let posts = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .descending();
    let posts = posts.only(evidence::event, Test::is(&claimed));
    match c.value(&posts, evidence::evidence_id)? {
        Some(posted) => Ok(Some(posted)),
        None => Ok(first_claim(c, batch_id, seq)?.map(|claim| claim.evidence_id)),
    }
}
