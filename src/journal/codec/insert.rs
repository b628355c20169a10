//! How an instruction gets into its table.

use crate::domain::{
    AmountField, BatchId, Instruction, LaneId, LoadId, PayerTransactionId, PaymentId,
};
use crate::journal::Error;
use crate::journal::evidence::salt::Salt;
use crate::store::tables::instruction;
use crate::store::{Append, Clash, Column, Field, Value, Write};

/// Where an instruction belongs, and what hides its person.
pub(in crate::journal) struct Placed {
    pub(in crate::journal) batch_id: BatchId,
    pub(in crate::journal) load_id: LoadId,
    pub(in crate::journal) service_id: LaneId,
    pub(in crate::journal) salt: Salt,
}

/// The columns of an instruction that may be empty, as they are stored and hashed.
pub(in crate::journal) struct Texts<'a> {
    pub(in crate::journal) account_number: Option<&'a str>,
    pub(in crate::journal) narration: Option<&'a str>,
    pub(in crate::journal) customer_names: Option<&'a str>,
    pub(in crate::journal) invoice_number: Option<&'a str>,
    pub(in crate::journal) payment_mode: Option<&'a str>,
    pub(in crate::journal) hub_id: Option<&'a str>,
    pub(in crate::journal) extra: Option<String>,
    pub(in crate::journal) document: Option<&'a str>,
    pub(in crate::journal) document_folder: Option<&'a str>,
}

impl<'a> Texts<'a> {
    pub(in crate::journal) fn of<M>(row: &'a Instruction<M>) -> Self {
        fn full(text: &str) -> Option<&str> {
            Some(text).filter(|text| !text.is_empty())
        }
        Self {
            account_number: full(&row.account_number)
                .filter(|account| *account != row.msisdn.as_str()),
            narration: full(&row.narration),
            customer_names: full(&row.customer_names),
            invoice_number: full(&row.invoice_number),
            payment_mode: full(&row.payment_mode),
            hub_id: full(&row.hub_id),
            extra: match row.extra.as_slice() {
                [] => None,
                extra => Some(serde_json::to_string(extra).expect("pairs of texts are JSON")),
            },
            document: row
                .document
                .as_ref()
                .map(|document| document.written.as_str()),
            document_folder: row
                .document
                .as_ref()
                .and_then(|document| full(&document.folder)),
        }
    }
}

/// What is written of an instruction; its number is the next one.
const COLUMNS: [Column; 24] = [
    instruction::batch_id,
    instruction::load_id,
    instruction::line,
    instruction::identifier,
    instruction::reference,
    instruction::generation,
    instruction::received_at,
    instruction::service_id,
    instruction::msisdn,
    instruction::account_number,
    instruction::amount,
    instruction::currency,
    instruction::country,
    instruction::narration,
    instruction::customer_names,
    instruction::invoice_number,
    instruction::payment_mode,
    instruction::hub_id,
    instruction::extra,
    instruction::document,
    instruction::document_folder,
    instruction::as_due,
    instruction::not_before,
    instruction::salt,
];

/// Appends instructions.
pub(in crate::journal) struct Insert<'c>(Box<dyn Append + 'c>);

impl<'c> Insert<'c> {
    pub(in crate::journal) fn new(c: &'c dyn Write) -> Result<Self, Error> {
        Ok(Self(c.appender(&instruction::TABLE, &COLUMNS)?))
    }

    /// Appends an instruction, at the latest with [`Self::flush`]; without an amount it waits for its bill.
    pub(in crate::journal) fn row<M: AmountField>(
        &mut self,
        placed: &Placed,
        id: &PayerTransactionId,
        generation: u32,
        received_at: i64,
        row: &Instruction<M>,
        amount: Option<i64>,
    ) -> Result<(), Error> {
        let texts = Texts::of(row);
        let values = values(placed, id, generation, received_at, row, amount, &texts);
        for value in values {
            self.0.value(value)?;
        }
        Ok(())
    }

    /// Appends what waits for more.
    pub(in crate::journal) fn flush(&mut self) -> Result<(), Error> {
        Ok(self.0.flush()?)
    }
}

/// Inserts one instruction; returns its number.
pub(in crate::journal) fn insert_one<M: AmountField>(
    c: &dyn Write,
    placed: &Placed,
    id: &PayerTransactionId,
    generation: u32,
    received_at: i64,
    row: &Instruction<M>,
    amount: Option<i64>,
) -> Result<PaymentId, Error> {
    let number = PaymentId::new(c.allocate(&instruction::TABLE, 1)?);
    let texts = Texts::of(row);
    let values = values(placed, id, generation, received_at, row, amount, &texts);
    let columns: Vec<Column> = [instruction::seq].into_iter().chain(COLUMNS).collect();
    let values: Vec<Value<'_>> = [number.to_value()].into_iter().chain(values).collect();
    c.insert_rows(&instruction::TABLE, &columns, &[values], Clash::Refuse)?;
    Ok(number)
}

/// Returns the values of an instruction, in the order of their columns.
fn values<'v, M: AmountField>(
    placed: &'v Placed,
    id: &'v PayerTransactionId,
    generation: u32,
    received_at: i64,
    row: &'v Instruction<M>,
    amount: Option<i64>,
    texts: &'v Texts<'v>,
) -> [Value<'v>; COLUMNS.len()] {
    [
        placed.batch_id.to_value(),
        placed.load_id.to_value(),
        Value::Integer(line_number(row.line)),
        id.to_value(),
        row.reference.to_value(),
        Value::Integer(generation.into()),
        Value::Integer(received_at),
        placed.service_id.to_value(),
        row.msisdn.to_value(),
        texts.account_number.to_value(),
        amount.map_or(Value::Null, Value::Integer),
        row.money.currency().to_value().into_owned(),
        row.country.to_value(),
        texts.narration.to_value(),
        texts.customer_names.to_value(),
        texts.invoice_number.to_value(),
        texts.payment_mode.to_value(),
        texts.hub_id.to_value(),
        texts.extra.to_value(),
        texts.document.to_value(),
        texts.document_folder.to_value(),
        Value::Integer(i64::from(amount.is_none())),
        row.not_before().to_value().into_owned(),
        placed.salt.to_value(),
    ]
}

/// Returns the line of a file as it is stored.
pub(in crate::journal) fn line_number(line: u64) -> i64 {
    i64::try_from(line).unwrap_or(i64::MAX)
}
