//! How an instruction gets into its table.

use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection};

use crate::domain::{
    AmountField, BatchId, Instruction, LaneId, LoadId, PayerTransactionId, Timestamp,
};
use crate::journal::Error;
use crate::journal::sqlite::evidence::salt::Salt;

/// Where an instruction belongs, and what hides its person.
pub(in crate::journal::sqlite) struct Placed {
    pub(in crate::journal::sqlite) batch_id: BatchId,
    pub(in crate::journal::sqlite) load_id: LoadId,
    pub(in crate::journal::sqlite) service_id: LaneId,
    pub(in crate::journal::sqlite) salt: Salt,
}

/// The columns of an instruction that may be empty, as they are stored and hashed.
pub(in crate::journal::sqlite) struct Texts<'a> {
    pub(in crate::journal::sqlite) account_number: Option<&'a str>,
    pub(in crate::journal::sqlite) narration: Option<&'a str>,
    pub(in crate::journal::sqlite) customer_names: Option<&'a str>,
    pub(in crate::journal::sqlite) invoice_number: Option<&'a str>,
    pub(in crate::journal::sqlite) payment_mode: Option<&'a str>,
    pub(in crate::journal::sqlite) hub_id: Option<&'a str>,
    pub(in crate::journal::sqlite) extra: Option<String>,
    pub(in crate::journal::sqlite) document: Option<&'a str>,
    pub(in crate::journal::sqlite) document_folder: Option<&'a str>,
}

impl<'a> Texts<'a> {
    pub(in crate::journal::sqlite) fn of<M>(row: &'a Instruction<M>) -> Self {
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

/// Rows that one statement appends: its cursors are opened once for all of them.
const TOGETHER: usize = 64;

/// Appends rows to a table, several with one statement.
///
/// What is bound stays bound: of most files' columns one row has what another had in its place before.
pub(in crate::journal::sqlite) struct Appender<'c> {
    many: CachedStatement<'c>,
    one: CachedStatement<'c>,
    width: usize,
    /// The values of `many`, one row after the other.
    bound: Vec<Value>,
    /// How many of them are those of rows to be appended.
    filled: usize,
}

impl<'c> Appender<'c> {
    /// `head` is the statement as far as its `values`.
    pub(in crate::journal::sqlite) fn new(
        c: &'c Connection,
        head: &str,
        width: usize,
    ) -> Result<Self, Error> {
        let row = format!("({})", vec!["?"; width].join(", "));
        let rows = vec![row.as_str(); TOGETHER].join(", ");
        Ok(Self {
            many: c.prepare_cached(&format!("{head} values {rows}"))?,
            one: c.prepare_cached(&format!("{head} values {row}"))?,
            width,
            bound: vec![Value::Null; TOGETHER * width],
            filled: 0,
        })
    }

    /// Adds the next value of a row; the last one of the last row appends all of them.
    pub(in crate::journal::sqlite) fn text(&mut self, text: Option<&str>) -> Result<(), Error> {
        let bound = &mut self.bound[self.filled];
        let same = match (&*bound, text) {
            (Value::Text(bound), Some(text)) => bound == text,
            (Value::Null, None) => true,
            _ => false,
        };
        if !same {
            self.many.raw_bind_parameter(self.filled + 1, text)?;
            match (bound, text) {
                // The buffer is kept: a million rows need no million allocations.
                (Value::Text(bound), Some(text)) => {
                    bound.clear();
                    bound.push_str(text);
                }
                (bound, text) => *bound = text.map_or(Value::Null, |text| text.to_owned().into()),
            }
        }
        self.advance()
    }

    /// The same of a number.
    pub(in crate::journal::sqlite) fn number(&mut self, number: Option<i64>) -> Result<(), Error> {
        let value = number.map_or(Value::Null, Value::Integer);
        if self.bound[self.filled] != value {
            self.many.raw_bind_parameter(self.filled + 1, number)?;
            self.bound[self.filled] = value;
        }
        self.advance()
    }

    /// The same of bytes, which no two rows have in common.
    pub(in crate::journal::sqlite) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.many.raw_bind_parameter(self.filled + 1, bytes)?;
        match &mut self.bound[self.filled] {
            Value::Blob(bound) => {
                bound.clear();
                bound.extend_from_slice(bytes);
            }
            bound => *bound = Value::Blob(bytes.to_vec()),
        }
        self.advance()
    }

    fn advance(&mut self) -> Result<(), Error> {
        self.filled += 1;
        if self.filled == self.bound.len() {
            self.many.raw_execute()?;
            self.filled = 0;
        }
        Ok(())
    }

    /// Appends what waits for more.
    pub(in crate::journal::sqlite) fn flush(&mut self) -> Result<(), Error> {
        for row in self.bound[..self.filled].chunks(self.width) {
            for (at, value) in row.iter().enumerate() {
                self.one.raw_bind_parameter(at + 1, value)?;
            }
            self.one.raw_execute()?;
        }
        self.filled = 0;
        Ok(())
    }
}

/// Appends instructions.
pub(in crate::journal::sqlite) struct Insert<'c>(Appender<'c>);

impl<'c> Insert<'c> {
    pub(in crate::journal::sqlite) fn new(c: &'c Connection) -> Result<Self, Error> {
        // A failure ends the whole transaction; `or fail` spares the statement a journal of its own, with which to take itself back.
        let head = "insert or fail into instruction (batch_id, load_id, line, identifier, reference, generation, received_at, service_id,
             msisdn, account_number, amount, currency, country, narration, customer_names, invoice_number, payment_mode,
             hub_id, extra, document, document_folder, as_due, not_before, salt)";
        Ok(Self(Appender::new(c, head, 24)?))
    }

    /// Appends an instruction, at the latest with [`Self::flush`]; without an amount it waits for its bill.
    pub(in crate::journal::sqlite) fn row<M: AmountField>(
        &mut self,
        placed: &Placed,
        id: &PayerTransactionId,
        generation: u32,
        received_at: i64,
        row: &Instruction<M>,
        amount: Option<i64>,
    ) -> Result<(), Error> {
        let texts = Texts::of(row);
        let to = &mut self.0;
        to.number(Some(placed.batch_id.get()))?;
        to.number(Some(placed.load_id.get()))?;
        to.number(Some(line_number(row.line)))?;
        to.text(Some(id.as_str()))?;
        to.text(row.reference.as_ref().map(|reference| reference.as_str()))?;
        to.number(Some(generation.into()))?;
        to.number(Some(received_at))?;
        to.number(Some(placed.service_id.get()))?;
        to.text(Some(row.msisdn.as_str()))?;
        to.text(texts.account_number)?;
        to.number(amount)?;
        to.text(Some(row.money.currency().code()))?;
        to.text(Some(row.country.code()))?;
        to.text(texts.narration)?;
        to.text(texts.customer_names)?;
        to.text(texts.invoice_number)?;
        to.text(texts.payment_mode)?;
        to.text(texts.hub_id)?;
        to.text(texts.extra.as_deref())?;
        to.text(texts.document)?;
        to.text(texts.document_folder)?;
        to.number(Some(amount.is_none().into()))?;
        to.number(row.not_before().map(Timestamp::as_millis))?;
        to.bytes(&placed.salt)
    }

    /// Appends what waits for more.
    pub(in crate::journal::sqlite) fn flush(&mut self) -> Result<(), Error> {
        self.0.flush()
    }
}

/// Returns the line of a file as it is stored.
pub(in crate::journal::sqlite) fn line_number(line: u64) -> i64 {
    i64::try_from(line).unwrap_or(i64::MAX)
}
