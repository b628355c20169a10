//! Payments that can show that a new name or a new address is the same place: the gateway has shown there to have them.

use std::ops::ControlFlow;

use super::destination::sent_elsewhere;
use super::pinned::lives;
use super::question::question_about;
use crate::domain::{BatchId, EvidenceId, PaymentId};
use crate::journal::codec::events::{is_heard, is_of_nothing};
use crate::journal::codec::values::corrupt;
use crate::journal::{Error, Question};
use crate::ledger::moves;
use crate::lifecycle::PaymentState;
use crate::store::tables::evidence;
use crate::store::{Read, Reads, Scan};

/// Returns up to `limit` payments that the place has shown to have where the batch is now, the newest first; what a person has ended only where there is
/// nothing else.
pub(in crate::journal) fn witnesses(
    c: &dyn Read,
    batch_id: BatchId,
    limit: usize,
) -> Result<Vec<Question>, Error> {
    let moved = sent_elsewhere(c, batch_id)?.pop();
    let most = if moved.is_some() { usize::MAX } else { limit };
    let best = such(c, batch_id, (limit, most), moved, moves::can_witness_best)?;
    match best.is_empty() {
        true => such(c, batch_id, (limit, most), moved, moves::can_witness),
        false => Ok(best),
    }
}

fn such(
    c: &dyn Read,
    batch_id: BatchId,
    (limit, most): (usize, usize),
    moved: Option<EvidenceId>,
    is_such: fn(&PaymentState) -> bool,
) -> Result<Vec<Question>, Error> {
    let mut found = Vec::new();
    for seq in lives(c, batch_id, most, is_such)? {
        if found.len() == limit {
            break;
        }
        // What another place has told of says nothing of this one.
        let is_of_before = match moved {
            Some(moved) => is_told_of(c, seq, Some(moved))?,
            None => false,
        };
        if !is_of_before {
            let question = question_about(c, seq)?;
            found.push(question.ok_or_else(|| corrupt(format!("payment {seq} is missing")))?);
        }
    }
    Ok(found)
}

/// Returns whether something was heard of a payment, before some other evidence where that is named, but that no post of it came to anything.
pub(super) fn is_told_of(
    c: &dyn Read,
    seq: PaymentId,
    before: Option<EvidenceId>,
) -> Result<bool, Error> {
    let of_payment = Scan::by(&evidence::evidence_by_payment).at(&seq);
    let mut found = false;
    let columns = [evidence::evidence_id, evidence::event];
    c.each_row(&of_payment, &columns, |row| {
        let (at, event): (EvidenceId, i64) = (row.get(0)?, row.get(1)?);
        let is_late = before.is_some_and(|before| at > before);
        found |= !is_late && is_heard(event) && !is_of_nothing(event);
        Ok::<_, Error>(match found || is_late {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}
