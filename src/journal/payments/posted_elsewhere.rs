//! Payments that were posted before their batch was moved to another address or another account: that these do not have one proves nothing,
//! as the post went elsewhere, and what arrived there may not be in the new place yet.

use std::borrow::Cow;

use super::first_claims::first_claim;
use crate::domain::{BatchId, EvidenceId, PaymentId, ResponseDetails};
use crate::journal::Error;
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{
    ACCOUNT_MOVED, ACCOUNT_TAKEN, GATEWAY_MOVED, PRESUMED_POSTED, READING_ACCEPTED, READING_TAKEN,
    event_numbers,
};
use crate::journal::recovery::lost_orders::was_moved_while_open;
use crate::journal::session::subject::Subject;
use crate::ledger::moves::not_found_after_a_move;
use crate::lifecycle::Event;
use crate::store::tables::evidence;
use crate::store::{Read, Reads, Scan, Test, shape};

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

/// Returns whether the last post of a payment was made before its batch was moved last, or may have been.
pub(in crate::journal) fn was_posted_before(
    c: &dyn Read,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<bool, Error> {
    let posted = last_post(c, batch_id, seq)?;
    // An earlier journal may have posted it, where its batch was then; and may have moved the batch afterwards.
    let presumed = newest(c, seq, PRESUMED_POSTED)?;
    if presumed > posted && was_moved_while_open(c, batch_id)? {
        return Ok(true);
    }
    let Some(posted) = posted.or(presumed) else {
        return Ok(false);
    };
    if Some(posted) < last_proven_move(c, batch_id)? {
        return Ok(true);
    }
    is_read_anew_elsewhere(c, batch_id, posted)
}

/// Returns whether a batch has gone elsewhere since a post, when nothing of it was open, and its replies were read in another way after that, by
/// which the post may have arrived where the batch was.
fn is_read_anew_elsewhere(
    c: &dyn Read,
    batch_id: BatchId,
    posted: EvidenceId,
) -> Result<bool, Error> {
    let gone = [ACCOUNT_TAKEN, ACCOUNT_MOVED, GATEWAY_MOVED];
    match first_of(c, batch_id, &gone, posted)? {
        Some(gone) => Ok(first_of(c, batch_id, &READ_ANEW, gone)?.is_some()),
        None => Ok(false),
    }
}

/// Returns whether replies about a batch were read in another way since a payment of it was posted last.
pub(in crate::journal) fn is_read_anew(
    c: &dyn Read,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<bool, Error> {
    match last_post(c, batch_id, seq)? {
        Some(posted) => Ok(first_of(c, batch_id, &READ_ANEW, posted)?.is_some()),
        None => Ok(false),
    }
}

/// That replies about a batch are read in another way.
const READ_ANEW: [i64; 2] = [READING_TAKEN, READING_ACCEPTED];

/// Returns the first evidence about a batch of some kinds behind another one.
fn first_of(
    c: &dyn Read,
    batch_id: BatchId,
    kinds: &[i64],
    behind: EvidenceId,
) -> Result<Option<EvidenceId>, Error> {
    let mut first = None;
    for kind in kinds {
        let of_kind = Scan::by(&evidence::about_batch).at(kind).at(&batch_id);
        let found: Option<EvidenceId> = c.value(&of_kind.after(&behind), evidence::evidence_id)?;
        first = first.into_iter().chain(found).min();
    }
    Ok(first)
}

/// Returns the evidence that a payment was handed out for sending last; `None`: it never was.
pub(in crate::journal) fn last_post(
    c: &dyn Read,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<Option<EvidenceId>, Error> {
    let (claimed, _, _) = event_numbers(Event::Claimed);
    match newest(c, seq, claimed)? {
        Some(posted) => Ok(Some(posted)),
        None => Ok(first_claim(c, batch_id, seq)?.map(|claim| claim.evidence_id)),
    }
}

/// Returns the newest evidence of a kind about a payment.
fn newest(c: &dyn Read, seq: PaymentId, kind: i64) -> Result<Option<EvidenceId>, Error> {
    let of_payment = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::is(&kind))
        .descending();
    Ok(c.value(&of_payment, evidence::evidence_id)?)
}

/// Returns the evidence of each time that a batch was moved to another address or another account, and whether a payment had shown that to be
/// the same place: where nothing did, nothing of the batch was open.
pub(in crate::journal) fn moves(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Vec<(EvidenceId, bool)>, Error> {
    let mut found = Vec::new();
    for kind in [GATEWAY_MOVED, ACCOUNT_MOVED] {
        let of_kind = Scan::by(&evidence::about_batch).at(&kind).at(&batch_id);
        c.each(&of_kind, |row: Moved| {
            let proven = parsed(row.detail.as_deref())?["witness"].is_string();
            found.push((row.evidence_id, proven));
            Ok::<_, Error>(())
        })?;
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns the last time that a batch was moved with such a proof.
pub(in crate::journal) fn last_proven_move(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Option<EvidenceId>, Error> {
    let proven = moves(c, batch_id)?.into_iter().rfind(|(_, proven)| *proven);
    Ok(proven.map(|(at, _)| at))
}

shape! {
    struct Moved of evidence { evidence_id: EvidenceId, detail: Option<String> }
}
