//! Payments compared with the chain of evidence before something rests on them, as a transaction does it.

use std::collections::BTreeSet;

use super::intact::first_with_evidence;
use super::one_payment::{
    Evidence, check_bill, check_instruction, find_misfits, misfit, replay, told, told_of,
};
use crate::domain::{BatchId, LaneId, Payment, PaymentId};
use crate::journal::codec::instructions::Instructions;
use crate::journal::evidence::digests::upload_digest;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Transition};
use crate::ledger::intact::{Mismatch, Span, generation, ready, same, untouched};
use crate::lifecycle::PaymentState;

/// Compares fresh payments of a lane, in their order, with the chain: they are as they were loaded, and nothing is known of
/// them. Returns what does not fit, in words.
pub(in crate::journal) fn check_fresh(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    seqs: &[PaymentId],
) -> Result<Option<String>, Error> {
    c.intact(batch_id, |intact| {
        intact.refresh(c, batch_id)?;
        let claimed_up_to = intact
            .claims
            .get(&lane)
            .and_then(|lane| lane.last())
            .map(|claims| claims.span.1);
        let touched = first_with_evidence(c, seqs)?;
        let mut checked: Option<Span> = None;
        for seq in seqs {
            if let Err(mismatch) = untouched(seq.get(), claimed_up_to, touched == Some(*seq)) {
                return told(c, *seq, mismatch).map(Some);
            }
            if checked.is_some_and(|(_, last)| seq.get() <= last) {
                continue;
            }
            match intact.check_block(c, batch_id, *seq)? {
                Ok(span) => checked = Some(span),
                Err((span, mismatch)) => return told_of(c, span, mismatch).map(Some),
            }
        }
        Ok(None)
    })
}

/// Compares a payment whose life has begun with the chain: its instruction, its document, its bill, and its evidence, which
/// is replayed. Returns what does not fit, in words.
pub(in crate::journal) fn check_touched(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    seq: PaymentId,
    payment: &Payment,
    life: &PaymentState,
    names_a_document: bool,
) -> Result<Option<String>, Error> {
    // What was learned in this transaction is read as well.
    c.flush()?;
    c.intact(batch_id, |intact| {
        intact.refresh(c, batch_id)?;
        if let Some(text) = check_instruction(intact, c, batch_id, seq, payment)? {
            return Ok(Some(text));
        }
        let mut seen = Evidence::default();
        let replayed = replay(intact, c, lane, seq, &mut seen)?;
        let bill = check_bill(c, seq, payment, &seen)?;
        let document = match names_a_document {
            true => same(seen.uploaded, upload_digest(c, seq)?, Mismatch::Document),
            false => Ok(()),
        };
        match ready(life, &replayed).and(bill).and(document) {
            Ok(()) => Ok(None),
            Err(mismatch) => told(c, seq, mismatch).map(Some),
        }
    })
}

/// Compares every generation of a payment's row with the chain: a retry rests on how the earlier ones ended. Returns what does
/// not fit, in words.
pub(in crate::journal) fn check_generations(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    seq: PaymentId,
) -> Result<Option<String>, Error> {
    c.flush()?;
    let found = c.intact(batch_id, |intact| misfit(intact, c, (batch_id, lane), seq))?;
    match found {
        Some((seq, mismatch)) => told(c, seq, mismatch).map(Some),
        None => Ok(None),
    }
}

/// Returns whether a payment stands as its own evidence says.
pub(in crate::journal) fn is_as_recorded(
    c: &WriteSession,
    subject: &Subject,
) -> Result<bool, Error> {
    c.flush()?;
    let Transition {
        seq, lane, life, ..
    } = subject.moved;
    c.intact(subject.batch_id, |intact| {
        intact.refresh(c, subject.batch_id)?;
        let replayed = replay(intact, c, lane, seq, &mut Evidence::default())?;
        Ok(generation(&life, &replayed).is_ok())
    })
}

/// Compares a payment's instruction, and every generation of its row, with the chain, before anything is moved that was not
/// heard of. Returns what does not fit, in words.
pub(in crate::journal) fn check_unheard(
    c: &WriteSession,
    of_lane: (BatchId, LaneId),
    seq: PaymentId,
) -> Result<Option<String>, Error> {
    let payment = Instructions::of(c).payment(seq)?;
    c.flush()?;
    let batch_id = of_lane.0;
    let altered = c.intact(batch_id, |intact| {
        intact.refresh(c, batch_id)?;
        check_instruction(intact, c, batch_id, seq, &payment)
    })?;
    match altered {
        Some(text) => Ok(Some(text)),
        None => check_generations(c, of_lane, seq),
    }
}

/// Compares every payment of a batch that there is evidence about with the chain. Returns what does not fit, in words.
///
/// Reads the whole batch: for what is rare, and rests on nothing having been sent.
pub(in crate::journal) fn check_batch(
    c: &WriteSession,
    batch_id: BatchId,
) -> Result<Option<String>, Error> {
    match misfits(c, batch_id, 1)?.pop() {
        Some((seq, mismatch)) => told(c, seq, mismatch).map(Some),
        None => Ok(None),
    }
}

/// Returns the payments of a batch that somebody has edited in the file, among those that there is evidence about.
pub(in crate::journal) fn edited(
    c: &WriteSession,
    batch_id: BatchId,
) -> Result<BTreeSet<PaymentId>, Error> {
    let found = misfits(c, batch_id, usize::MAX)?;
    Ok(found.into_iter().map(|(seq, _)| seq).collect())
}

/// Returns up to `limit` payments of a batch that do not fit the chain, among those that there is evidence about.
pub(in crate::journal) fn misfits(
    c: &WriteSession,
    batch_id: BatchId,
    limit: usize,
) -> Result<Vec<(PaymentId, Mismatch)>, Error> {
    c.flush()?;
    c.intact(batch_id, |intact| find_misfits(intact, c, batch_id, limit))
}
