//! What keeps a payment whose life has begun from being posted: its document, and how far a confirmation reaches.

use crate::domain::{BatchId, BillId, LaneId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::instructions::names_document;
use crate::journal::codec::values::NEVER;
use crate::ledger::confirmation::Bound;
use crate::store::tables::{bill, instruction, life, upload};
use crate::store::{Read, Reads, Scan, Test, shape};
use std::ops::ControlFlow;

shape! {
    /// What of an instruction decides whether it may be posted.
    pub(super) struct PostingTerms of instruction {
        seq: PaymentId, as_due: bool, document: Option<String>, extra: Option<String>, not_before: Option<i64>,
    }
}

impl PostingTerms {
    /// Reads them; `None` where there is no such instruction.
    pub(super) fn of(c: &dyn Read, seq: PaymentId) -> Result<Option<Self>, Error> {
        Ok(c.first(&Scan::of(&instruction::TABLE).at(&seq))?)
    }

    /// Returns whether a confirmation covers the payment, with the amount that its bill told.
    pub(super) fn are_covered(&self, c: &dyn Read, confirmed: Bound) -> Result<bool, Error> {
        if !confirmed.covers(self.seq, None) {
            return Ok(false);
        }
        Ok(match self.as_due {
            true => confirmed.covers(self.seq, priced_by(c, self.seq)?),
            false => true,
        })
    }

    /// Returns whether the payment may be posted as far as its document goes: it has none, or names a reference of its own, or the
    /// file service has it.
    // What is tried comes in the order of its price: most rows have no document.
    pub(super) fn document_is_there(&self, c: &dyn Read) -> Result<bool, Error> {
        Ok(self.document.is_none()
            || c.any(&Scan::of(&upload::TABLE).at(&self.seq))?
            || names_document(self.extra.as_deref())?)
    }
}

/// Returns the bill that told the amount of a payment.
fn priced_by(c: &dyn Read, seq: PaymentId) -> Result<Option<BillId>, Error> {
    let told = Scan::by(&bill::bill_that_decided)
        .at(&seq)
        .only(bill::outcome, Test::is(&0_i64));
    Ok(c.value(&told, bill::bill_id)?)
}

/// The payments of a lane that may be posted once their time comes, the oldest first: all but those that wait for a word.
pub(super) fn waiting_in_lane<'a>(batch_id: &'a BatchId, lane: &'a LaneId) -> Scan<'a> {
    Scan::by(&life::post_queue)
        .at(batch_id)
        .at(lane)
        .before(&NEVER)
}

/// Returns whether a payment of a lane waits for its document, though it is confirmed.
// Asked only where nothing may be posted, so that the first row it meets decides.
pub(super) fn waits_for_document(
    c: &dyn Read,
    (batch_id, lane): (BatchId, LaneId),
    confirmed: Bound,
) -> Result<bool, Error> {
    // Most batches have no documents: then nothing is looked at.
    if !c.any(&Scan::by(&instruction::instruction_with_document).at(&batch_id))? {
        return Ok(false);
    }
    any_waiting(c, (batch_id, lane), confirmed, |terms| {
        Ok(terms.are_covered(c, confirmed)? && !terms.document_is_there(c)?)
    })
}

/// Returns whether a payment of a lane waits for a confirmation, or for signatures: it is beyond this bound.
pub(super) fn waits_for_word(
    c: &dyn Read,
    (batch_id, lane): (BatchId, LaneId),
    bound: Bound,
) -> Result<bool, Error> {
    if bound.instruction < PaymentId::AFTER_ALL {
        let beyond = bound.instruction.next();
        let later = waiting_in_lane(&batch_id, &lane).only(life::seq, Test::at_least(&beyond));
        if c.any(&later)? {
            return Ok(true);
        }
    }
    // Behind it are only those whose bill came later, and most services have no bills.
    if !c.any(&Scan::by(&instruction::taken_from_bill).at(&lane))? {
        return Ok(false);
    }
    any_waiting(c, (batch_id, lane), bound, |terms| {
        Ok(!terms.are_covered(c, bound)?)
    })
}

/// Returns whether a waiting payment of a lane within a bound is such.
fn any_waiting(
    c: &dyn Read,
    (batch_id, lane): (BatchId, LaneId),
    bound: Bound,
    is_such: impl Fn(&PostingTerms) -> Result<bool, Error>,
) -> Result<bool, Error> {
    let within = Test::at_most(&bound.instruction);
    let waiting = waiting_in_lane(&batch_id, &lane).only(life::seq, within);
    let mut found = false;
    c.each_row(&waiting, &[life::seq], |row| {
        if let Some(terms) = PostingTerms::of(c, row.get(0)?)? {
            found = is_such(&terms)?;
        }
        Ok::<_, Error>(match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}
