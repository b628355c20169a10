//! Payments that a limit keeps from leaving, or would.

use std::ops::ControlFlow;

use rusqlite::{OptionalExtension, params};

use super::reader::{Reader, Snapshot};
use crate::domain::{Timestamp, Totals};
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, PAYMENT_WIDTH, payment_of, stamp};
use crate::journal::sqlite::limits::sums::{exposure, of_batch};
use crate::journal::sqlite::limits::waiting::limited;
use crate::journal::{Error, LimitedRows};
use crate::ledger::limits::Reason;
use crate::ledger::limits::ahead::Ahead;

impl Snapshot<'_> {
    /// Returns which payments of the batch a limit keeps from leaving, by the limit, as the last run found.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn limited(&self) -> Result<Vec<LimitedRows>, Error> {
        limited(self.c, self.batch_id)
    }

    /// Returns which limit keeps a payment from leaving, and when it is looked at again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn limited_by(&self, seq: i64) -> Result<Option<(Reason, Timestamp)>, Error> {
        let found: Option<(String, i64)> = self
            .c
            .query_row(
                "select w.reason, w.until from limited w join life l using (seq) where w.batch_id = ?1 and w.seq = ?2 and l.state = 0",
                [self.batch_id, seq],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        Ok(found.and_then(|(reason, until)| {
            let reason = Reason::of_name(&reason)?;
            Some((reason, Timestamp::from_millis(until)))
        }))
    }

    /// Returns what is under way, in doubt or in conflict over all batches of the account.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn exposure(&self) -> Result<Totals, Error> {
        exposure(self.c, self.batch_id)
    }

    /// Judges what of the batch is to leave; what was paid before is in the journal of `record`.
    ///
    /// # Errors
    /// Faults of either journal.
    pub fn look_ahead(
        &self,
        mut ahead: Ahead,
        record: Option<&Reader>,
        is_rehearsal: bool,
    ) -> Result<Ahead, Error> {
        if ahead.counts()
            && let Some(record) = record
        {
            self.each_ready(|payment| {
                ahead.ask(&payment.instruction);
                ControlFlow::Continue(())
            })?;
            record.paid_before(&mut ahead, is_rehearsal)?;
        }
        ahead.of_batch(&of_batch(self.c, self.batch_id)?);
        self.each_ready(|payment| {
            ahead.judge(&payment.instruction, payment.received_at);
            ControlFlow::Continue(())
        })?;
        Ok(ahead)
    }
}

/// What counts towards ceilings, by where each payment stands: the same that a run folds from the evidence.
const PAID_BEFORE: &str = "from life l cross join instruction i on i.seq = l.seq cross join service s on s.service_id = i.service_id
         cross join batch b on b.batch_id = i.batch_id
     where (l.state in (1, 2, 3, 4, 5, 8) or l.state = 0 and l.exposures > 0) and coalesce(b.rehearsal, 0) = ?1";

impl Reader {
    /// Tells what was paid before, or may have been.
    fn paid_before(&self, ahead: &mut Ahead, is_rehearsal: bool) -> Result<(), Error> {
        let sql = format!("select {PAYMENT_COLUMNS}, l.posted_at, l.state = 5 {PAID_BEFORE}");
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query(params![i64::from(is_rehearsal)])?;
        while let Some(row) = rows.next()? {
            let posted_at: Option<Timestamp> = stamp(row.get(PAYMENT_WIDTH)?);
            let payment = payment_of(row, 0)?;
            ahead.paid(&payment.instruction, posted_at, row.get(PAYMENT_WIDTH + 1)?);
        }
        Ok(())
    }
}
