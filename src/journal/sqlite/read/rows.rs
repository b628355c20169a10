//! The rows of a batch for its report, in the order of its files.

use std::collections::VecDeque;

use rusqlite::{Row, params};

use super::reader::Snapshot;
use super::reader::{PAGE, record_columns};
use crate::domain::{Amount, LoadId, Money, PaymentId};
use crate::journal::sqlite::codec::values::{PAYMENT_WIDTH, corrupt, currency_of};
use crate::journal::sqlite::load::aside::withdrawal;
use crate::journal::{Error, RejectedRow, ReportRow};

// CROSS JOIN keeps the order of the tables, as for a single record; a row without an amount has no life.
const ROW_TABLES: &str = "from instruction i left join life l on l.seq = i.seq cross join service s on s.service_id = i.service_id";

/// The rows of a batch, read in pages.
#[derive(Debug)]
pub struct Rows<'a> {
    snapshot: &'a Snapshot<'a>,
    payments: VecDeque<(LoadId, u64, ReportRow)>,
    rejected: VecDeque<(LoadId, u64, ReportRow)>,
    /// Where the next page begins; `None` when there is none.
    last_payment: Option<PaymentId>,
    last_rejected: Option<(LoadId, i64, i64)>,
}

impl<'a> Rows<'a> {
    pub(in crate::journal::sqlite) fn of(snapshot: &'a Snapshot<'a>) -> Self {
        Self {
            snapshot,
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
    pub(in crate::journal::sqlite) fn rejected_before(
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
        let c = self.snapshot.c;
        let mut statement = c.prepare_cached(&format!(
            "select {} {ROW_TABLES}
             where i.seq > ?2 and i.batch_id = ?1 and i.generation = 0 order by i.seq limit ?3",
            record_columns()
        ))?;
        let mut rows = statement.query(params![self.snapshot.batch_id, last, PAGE])?;
        while let Some(row) = rows.next()? {
            self.last_payment = Some(row.get(PAYMENT_WIDTH + 10)?);
            let ((load_id, line), row) = self.snapshot.report_row(row)?;
            self.payments.push_back((load_id, line, row));
        }
        Ok(())
    }

    fn fill_rejected(&mut self, (load_id, line, nth): (LoadId, i64, i64)) -> Result<(), Error> {
        let mut statement = self.snapshot.c.prepare_cached(
            "select load_id, line, coalesce(reference, ''), coalesce(service_code, ''), coalesce(msisdn, ''),
                 coalesce(account_number, ''), coalesce(amount_text, ''), coalesce(currency, ''), amount, errors, nth, digest, coalesce(cells, ''), withdrawn
             from rejected where batch_id = ?1 and replaced_by is null and (load_id, line, nth) > (?2, ?3, ?4) order by load_id, line, nth limit ?5",
        )?;
        let mut rows =
            statement.query(params![self.snapshot.batch_id, load_id, line, nth, PAGE])?;
        while let Some(row) = rows.next()? {
            let (load_id, line): (LoadId, i64) = (row.get(0)?, row.get(1)?);
            self.last_rejected = Some((load_id, line, row.get(10)?));
            let currency_code: String = row.get(7)?;
            let amount: Option<i64> = row.get(8)?;
            let money = match amount.and_then(Amount::from_minor) {
                Some(amount) => Some(Money {
                    amount,
                    currency: currency_of(&currency_code)?,
                }),
                None => None,
            };
            let rejected = RejectedRow {
                line: line.unsigned_abs(),
                reference: row.get(2)?,
                service_code: row.get(3)?,
                msisdn: row.get(4)?,
                account_number: row.get(5)?,
                amount_text: row.get(6)?,
                currency_code,
                money,
                errors: row.get(9)?,
                // Earlier versions kept none.
                digest: row.get::<_, Option<[u8; 32]>>(11)?.unwrap_or_default(),
                cells: row.get(12)?,
            };
            let row = match withdrawal(self.snapshot.c, row.get(13)?)? {
                Some(withdrawal) => ReportRow::Withdrawn(rejected, withdrawal),
                None => ReportRow::Rejected(rejected),
            };
            self.rejected.push_back((load_id, line.unsigned_abs(), row));
        }
        Ok(())
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
        let mut statement = self
            .c
            .prepare_cached(
                "select coalesce(r.cells, ''), r.errors, coalesce(i.extra, '[]')
                 from rejected r join instruction i on i.seq = r.replaced_by
                 where r.batch_id = ?1 and r.replaced_by is not null order by r.load_id, r.line, r.nth",
            )
            .map_err(Error::from)?;
        let mut rows = statement.query([self.batch_id]).map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            let text = |at: usize| row.get_ref(at).ok().and_then(|cell| cell.as_str().ok());
            let [cells, errors, extra] = [0, 1, 2].map(|at| text(at).unwrap_or_default());
            take(cells, errors, extra)?;
        }
        Ok(())
    }

    /// Reads the row of one instruction, and its place: the load and the line of the payment that stands for it now.
    pub(in crate::journal::sqlite) fn row_of(
        &self,
        seq: PaymentId,
    ) -> Result<((LoadId, u64), ReportRow), Error> {
        let mut statement = self.c.prepare_cached(&format!(
            "select {} {ROW_TABLES} where i.seq = ?1",
            record_columns()
        ))?;
        let mut rows = statement.query([seq])?;
        let row = rows
            .next()?
            .ok_or_else(|| corrupt("a row that is gone while it is read"))?;
        self.report_row(row)
    }

    fn report_row(&self, row: &Row<'_>) -> Result<((LoadId, u64), ReportRow), Error> {
        if let Some((load_id, record)) = self.unpriced_record(row)? {
            let line = record.row.line;
            return Ok(((load_id, line), ReportRow::Unpriced(Box::new(record))));
        }
        let (load_id, record) = self.payment_record(row)?;
        let replaced: Option<PaymentId> = row.get(PAYMENT_WIDTH + 17)?;
        let (load_id, record) = match replaced {
            Some(_) => self.standing_for(record.seq)?,
            None => (load_id, record),
        };
        let line = record.payment.instruction.line;
        Ok(((load_id, line), ReportRow::Payment(Box::new(record))))
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
