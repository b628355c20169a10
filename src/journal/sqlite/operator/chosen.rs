//! Failed payments that a person chose.

use super::names::rows_named;
use super::retriable::{RETRIABLE, not_allowed};
use crate::domain::{BatchName, PaymentId};
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::{
    PAYMENT_COLUMNS, PAYMENT_WIDTH, corrupt, payment_of, state_of,
};
use crate::journal::sqlite::preflight::unpriced::without_amount;
use crate::journal::{Error, Failure, Failures};
use crate::lifecycle::State;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// Returns the failures that are meant, in the order of their rows; some of them may have no retry all the same.
pub(in crate::journal::sqlite) fn chosen(
    c: &Connection,
    batch: &BatchName,
    which: &Failures,
) -> Result<Vec<PaymentId>, Error> {
    let batch_id = known_batch(c, batch)?;
    let failures: Vec<PaymentId> = c
        .prepare(&format!(
            "select seq from life l where {RETRIABLE} order by seq"
        ))?
        .query_map(params![batch_id, which.code], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
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

pub(in crate::journal::sqlite) fn failure(
    c: &Connection,
    seq: PaymentId,
) -> Result<Failure, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select {PAYMENT_COLUMNS}, l.code from instruction i join service s using (service_id) join life l using (seq) where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let row = rows
        .next()?
        .ok_or_else(|| corrupt("a payment without its instruction"))?;
    let payment = payment_of(row, 0)?;
    Ok(Failure {
        line: payment.instruction.line,
        reference: payment.instruction.reference,
        msisdn: payment.instruction.msisdn,
        money: payment.instruction.money,
        code: row.get(PAYMENT_WIDTH)?,
    })
}

/// Says why a payment that is named is none of the failures.
pub(in crate::journal::sqlite) fn refusal(c: &Connection, seq: PaymentId) -> Result<Error, Error> {
    if let Some(state) = without_amount(c, seq)? {
        return not_allowed(c, seq, state, "it has no amount, and was never posted");
    }
    let (state, code, is_replaced): (i64, Option<i32>, bool) = c
        .prepare_cached(
            "select coalesce(l.state, 0), l.code, l.replaced_by is not null from instruction i left join life l using (seq) where i.seq = ?1",
        )?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let state = state_of(state)?;
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
        (State::Paid, ..) => "it is paid already, and nobody is paid twice".to_owned(),
        (State::Cancelled, ..) => {
            "it was withdrawn; to pay it after all, load its row under another batch name"
                .to_owned()
        }
        (State::Ready, ..) => "the next run pays it anyway".to_owned(),
        (State::Conflict, ..) => {
            "it may be paid: find out with the gateway, and record it with `disburse resolve`"
                .to_owned()
        }
        _ => "its outcome is not known yet; only what is proven to have failed is paid again"
            .to_owned(),
    };
    not_allowed(c, seq, state.name(), &why)
}
