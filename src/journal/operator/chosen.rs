//! Failed payments that a person chose.

use super::names::rows_named;
use super::retriable::not_allowed;
use crate::domain::{BatchId, BatchName, PaymentId};
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::preflight::unpriced::without_amount;
use crate::journal::{Error, Failure, Failures};
use crate::lifecycle::State;
use crate::store::tables::life;
use crate::store::{Read, Reads, Scan, Test, shape};
use std::collections::BTreeSet;

/// Returns the failures that are meant, in the order of their rows; some of them may have no retry all the same.
pub(in crate::journal) fn chosen(
    c: &dyn Read,
    batch: &BatchName,
    which: &Failures,
) -> Result<Vec<PaymentId>, Error> {
    let batch_id = known_batch(c, batch)?;
    let failures = retriable(c, batch_id, which.code)?;
    if which.named.is_empty() {
        return Ok(failures);
    }
    let mut chosen = BTreeSet::new();
    for name in &which.named {
        let seq = rows_named(c, (batch, batch_id), name)?[0];
        if failures.binary_search(&seq).is_err() {
            return Err(refusal(c, seq)?);
        }
        chosen.insert(seq);
    }
    Ok(chosen.into_iter().collect())
}

/// Returns the proven failures of a batch that may be paid anew unless [`super::unretried::judged`] says otherwise, with this code
/// if there is one.
fn retriable(c: &dyn Read, batch_id: BatchId, code: Option<i32>) -> Result<Vec<PaymentId>, Error> {
    let mut failures = Scan::of(&life::TABLE)
        .only(life::batch_id, Test::is(&batch_id))
        .only(life::state, Test::is(&State::Failed))
        .only(life::replaced_by, Test::Absent);
    if let Some(code) = &code {
        failures = failures.only(life::code, Test::is(code));
    }
    Ok(c.values(&failures, life::seq)?)
}

pub(in crate::journal) fn failure(c: &dyn Read, seq: PaymentId) -> Result<Failure, Error> {
    let found = Instructions::of(c).find(seq)?;
    let code = c.value(&Scan::of(&life::TABLE).at(&seq), life::code)?;
    let (found, code) = found
        .zip(code)
        .ok_or_else(|| corrupt("a payment without its instruction"))?;
    let payment = found.payment()?;
    Ok(Failure {
        line: payment.instruction.line,
        reference: payment.instruction.reference,
        msisdn: payment.instruction.msisdn,
        money: payment.instruction.money,
        code,
    })
}

shape! {
    /// How a payment has ended.
    struct Ended of life { state: State, code: Option<i32>, replaced_by: Option<PaymentId> }
}

/// Says why a payment that is named is none of the failures.
pub(in crate::journal) fn refusal(c: &dyn Read, seq: PaymentId) -> Result<Error, Error> {
    if let Some(state) = without_amount(c, seq)? {
        return not_allowed(c, seq, state, "it has no amount, and was never posted");
    }
    let ended: Option<Ended> = c.first(&Scan::of(&life::TABLE).at(&seq))?;
    let (state, is_replaced, code) = match ended {
        Some(life) => (life.state, life.replaced_by.is_some(), life.code),
        None => (State::Ready, false, None),
    };
    let why = match (state, is_replaced, code) {
        (State::Failed, true, _) => {
            "its row has been retried or replaced already, by a later payment".to_owned()
        }
        (State::Failed, false, Some(code)) => {
            format!("it failed with another code than the one that is given, {code}")
        }
        (State::Failed, false, None) => {
            "an operator recorded it as failed, and a code is given".to_owned()
        }
        (State::Paid, ..) => "it is paid already".to_owned(),
        (State::Cancelled, ..) => {
            "it was withdrawn; to pay it after all, load its row under another batch name"
                .to_owned()
        }
        (State::Ready, ..) => "the next run pays it anyway".to_owned(),
        (State::Conflict, ..) => {
            "it may be paid: ask the gateway's people, and record the answer with `disburse resolve`"
                .to_owned()
        }
        _ => "its outcome is not known yet; only what is proven to have failed is paid again"
            .to_owned(),
    };
    not_allowed(c, seq, state.name(), &why)
}
