//! The generation after a payment, and in what it is alike.

use std::ops::ControlFlow;

use crate::domain::PaymentId;
use crate::journal::Error;
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::StoredRow;
use crate::store::tables::instruction;
use crate::store::{self, Column, Read, Reads, Scan, Value};

/// The generation after a payment.
pub(super) struct Next {
    pub(super) row: StoredRow,
    /// It is of the same row, whatever was mended in it.
    pub(super) corrects: bool,
    /// It is the same instruction.
    pub(super) repeats: bool,
}

/// Columns in which the generations of a row are alike, whatever was mended in it; the others in which they are where nothing was.
const ROW: [Column; 4] = [
    instruction::batch_id,
    instruction::reference,
    instruction::service_id,
    instruction::currency,
];
const REST: [Column; 13] = [
    instruction::load_id,
    instruction::line,
    instruction::msisdn,
    instruction::account_number,
    instruction::country,
    instruction::narration,
    instruction::customer_names,
    instruction::invoice_number,
    instruction::payment_mode,
    instruction::hub_id,
    instruction::extra,
    instruction::document,
    instruction::not_before,
];

/// Returns the generation after a payment.
pub(super) fn next_of(
    c: &dyn Read,
    instructions: &Instructions<'_>,
    seq: PaymentId,
    by: PaymentId,
) -> Result<Option<Next>, Error> {
    let Some(next) = instructions.find(by)? else {
        return Ok(None);
    };
    let of = |seq: PaymentId, columns: &[Column]| {
        let mut found: Option<Vec<Value<'static>>> = None;
        let own = Scan::of(&instruction::TABLE).at(&seq);
        c.each_row(&own, columns, |row| {
            let values = (0..columns.len()).map(|at| Ok(row.value(at)?.into_owned()));
            found = Some(values.collect::<Result<_, store::Error>>()?);
            Ok::<_, Error>(ControlFlow::Break(()))
        })?;
        Ok::<_, Error>(found)
    };
    let corrects = of(seq, &ROW)? == of(by, &ROW)?;
    let amount = of(seq, &[instruction::amount])?;
    let repeats = corrects
        && amount.as_deref() != Some(&[Value::Null])
        && amount == of(by, &[instruction::amount])?
        && of(seq, &REST)? == of(by, &REST)?;
    Ok(Some(Next {
        row: next.row,
        corrects,
        repeats,
    }))
}
