//! The rows of a batch for its report, in the order of its files.

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;

use super::reader::{PAGE, Snapshot, Visited};
use super::records::{Record, Records};
use crate::domain::{Amount, EvidenceId, LoadId, Money, PaymentId};
use crate::journal::codec::values::{corrupt, currency_of};
use crate::journal::load::aside::withdrawal;
use crate::journal::{Error, RejectedRow, ReportRow};
use crate::store::tables::{instruction, rejected};
use crate::store::{Beside, Field, Reads, Row, Scan, Test, Value, shape};

shape! {
    /// A row that was set aside.
    struct SetAside of rejected {
        load_id: LoadId, line: i64, nth: i64, reference: Option<String>, service_code: Option<String>, msisdn: Option<String>,
        account_number: Option<String>, amount_text: Option<String>, amount: Option<i64>, currency: Option<String>, errors: String,
        digest: Option<[u8; 32]>, cells: Option<String>, withdrawn: Option<EvidenceId>,
    }
}

/// The rows of a batch, read in pages.
pub struct Rows<'a> {
    snapshot: &'a Snapshot<'a>,
    records: Records<'a>,
    payments: VecDeque<(LoadId, u64, ReportRow)>,
    rejected: VecDeque<(LoadId, u64, ReportRow)>,
    /// Where the next page begins; `None` when there is none.
    last_payment: Option<PaymentId>,
    last_rejected: Option<(LoadId, i64, i64)>,
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("batch", &self.snapshot.batch)
            .finish_non_exhaustive()
    }
}

impl<'a> Rows<'a> {
    pub(in crate::journal) fn of(snapshot: &'a Snapshot<'a>) -> Self {
        Self {
            snapshot,
            records: Records::of(snapshot.c),
            payments: VecDeque::new(),
            rejected: VecDeque::new(),
            last_payment: Some(PaymentId::NONE),
            last_rejected: Some((LoadId::NONE, -1, -1)),
        }
    }

    fn fill(&mut self) -> Result<(), Error> {
        if self.payments.is_empty()
            && let Some(last) = self.last_payment.take()
        {
            self.fill_payments(last)?;
        }
        if self.rejected.is_empty()
            && let Some(last) = self.last_rejected.take()
        {
            self.fill_rejected(last)?;
        }
        Ok(())
    }

    /// Takes the next rejected row, when it stands before a place: a load and a line.
    pub(in crate::journal) fn rejected_before(
        &mut self,
        place: (LoadId, u64),
    ) -> Result<Option<ReportRow>, Error> {
        if self.rejected.is_empty()
            && let Some(last) = self.last_rejected.take()
        {
            self.fill_rejected(last)?;
        }
        let next = self.rejected.front().map(|(load, line, _)| (*load, *line));
        if next.is_none_or(|next| next >= place) {
            return Ok(None);
        }
        let row = self.rejected.pop_front();
        Ok(row.map(|(_, _, row)| row))
    }

    fn fill_payments(&mut self, last: PaymentId) -> Result<(), Error> {
        let page = Scan::of(&instruction::TABLE)
            .after(&last)
            .only(instruction::batch_id, Test::is(&self.snapshot.batch_id))
            .only(instruction::generation, Test::is(&0_i64))
            .limit(PAGE);
        self.records.each(&page, |record| {
            self.last_payment = Some(record.instruction.seq);
            let ((load_id, line), row) = self.snapshot.report_row(&self.records, record)?;
            self.payments.push_back((load_id, line, row));
            Ok(())
        })
    }

    /// Reads the row of one instruction, and its place: the load and the line of the payment that stands for it now.
    pub(in crate::journal) fn row_of(
        &self,
        seq: PaymentId,
    ) -> Result<((LoadId, u64), ReportRow), Error> {
        let record = self
            .records
            .find(seq)?
            .ok_or_else(|| corrupt("a row that is gone while it is read"))?;
        self.snapshot.report_row(&self.records, record)
    }

    fn fill_rejected(&mut self, (load_id, line, nth): (LoadId, i64, i64)) -> Result<(), Error> {
        let page = Scan::of(&rejected::TABLE)
            .after_all(vec![load_id.to_value(), line.to_value(), nth.to_value()])
            .only(rejected::batch_id, Test::is(&self.snapshot.batch_id))
            .only(rejected::replaced_by, Test::Absent)
            .limit(PAGE);
        self.snapshot.c.each(&page, |row: SetAside| {
            let (load_id, line) = (row.load_id, row.line.unsigned_abs());
            self.last_rejected = Some((load_id, row.line, row.nth));
            let currency_code = row.currency.unwrap_or_default();
            let money = match row.amount.and_then(Amount::from_minor) {
                Some(amount) => Some(Money {
                    amount,
                    currency: currency_of(&currency_code)?,
                }),
                None => None,
            };
            let rejected = RejectedRow {
                line,
                reference: row.reference.unwrap_or_default(),
                service_code: row.service_code.unwrap_or_default(),
                msisdn: row.msisdn.unwrap_or_default(),
                account_number: row.account_number.unwrap_or_default(),
                amount_text: row.amount_text.unwrap_or_default(),
                currency_code,
                money,
                errors: row.errors,
                // Earlier versions kept none.
                digest: row.digest.unwrap_or_default(),
                cells: row.cells.unwrap_or_default(),
            };
            let row = match withdrawal(self.snapshot.c, row.withdrawn)? {
                Some(withdrawal) => ReportRow::Withdrawn(rejected, withdrawal),
                None => ReportRow::Rejected(rejected),
            };
            self.rejected.push_back((load_id, line, row));
            Ok::<_, Error>(())
        })
    }
}

impl Snapshot<'_> {
    /// Hands out the rejected rows that mended ones have taken the place of, each with its cells as a JSON object, what was wrong with
    /// it, and the `extra` of the mended one as an array of pairs: an answer to the message that it came in names it all the same.
    ///
    /// # Errors
    /// Faults of the journal, and what `take` returns.
    pub fn each_mended<E: From<Error>>(
        &self,
        mut take: impl FnMut(&str, &str, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut mended = Beside::of(self.c, &instruction::TABLE, &[instruction::extra]);
        let replaced = Scan::of(&rejected::TABLE)
            .only(rejected::batch_id, Test::is(&self.batch_id))
            .only(rejected::replaced_by, Test::Present);
        let columns = [rejected::cells, rejected::errors, rejected::replaced_by];
        let pass = self.c.each_row(&replaced, &columns, |row| {
            let Some(payment) = mended.find(row.get(2)?)? else {
                return Ok(ControlFlow::Continue(()));
            };
            let (cells, errors, extra) = (row.value(0)?, row.value(1)?, payment.value(0)?);
            let extra = match &extra {
                Value::Null => "[]",
                extra => text(extra),
            };
            take(text(&cells), text(&errors), extra).map_err(Visited)?;
            Ok(ControlFlow::Continue(()))
        });
        pass.map_err(|Visited(error)| error)
    }

    fn report_row(
        &self,
        records: &Records<'_>,
        record: Record,
    ) -> Result<((LoadId, u64), ReportRow), Error> {
        if !record.has_amount() {
            let (load_id, record) = self.unpriced_record(record)?;
            let line = record.row.line;
            return Ok(((load_id, line), ReportRow::Unpriced(Box::new(record))));
        }
        let is_replaced = record.replaced_by.is_some();
        let (load_id, record) = self.payment_record(record)?;
        let (load_id, record) = match is_replaced {
            true => self.standing_for(records, record.seq)?,
            false => (load_id, record),
        };
        let line = record.payment.instruction.line;
        Ok(((load_id, line), ReportRow::Payment(Box::new(record))))
    }
}

/// Returns the text of a column; none is empty.
fn text<'v>(value: &'v Value<'_>) -> &'v str {
    match value {
        Value::Text(text) => text,
        Value::Null | Value::Integer(_) | Value::Bytes(_) => "",
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<ReportRow, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.fill() {
            // One error ends the rows: there is no way to tell what would have followed.
            (self.last_payment, self.last_rejected) = (None, None);
            self.payments.clear();
            self.rejected.clear();
            return Some(Err(error));
        }
        let payment = self.payments.front().map(|(load, line, _)| (*load, *line));
        let rejected = self.rejected.front().map(|(load, line, _)| (*load, *line));
        let rejected_first = match (payment, rejected) {
            (None, None) => return None,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(payment), Some(rejected)) => rejected < payment,
        };
        if rejected_first {
            self.rejected.pop_front().map(|(_, _, row)| Ok(row))
        } else {
            self.payments.pop_front().map(|(_, _, row)| Ok(row))
        }
    }
}
