//! Payments that a limit keeps from leaving, or would.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rusqlite::{OptionalExtension, params};

use super::reader::{Reader, Snapshot};
use crate::domain::{Money, PaymentId, ServiceCode, Timestamp, Totals};
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, PAYMENT_WIDTH, payment_of, stamp};
use crate::journal::sqlite::limits::recorded::of_last_run;
use crate::journal::sqlite::limits::sums::{exposure_at, of_batch};
use crate::journal::sqlite::limits::waiting::limited;
use crate::journal::{Error, Home, LimitedRows};
use crate::ledger::confirmation::Bound;
use crate::ledger::limits::ahead::Ahead;
use crate::ledger::limits::judge::is_over;
use crate::ledger::limits::{Ceilings, Limits, Reason};

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
    pub fn limited_by(&self, seq: PaymentId) -> Result<Option<(Reason, Timestamp)>, Error> {
        let found: Option<(String, i64)> = self
            .c
            .query_row(
                "select w.reason, w.until from limited w join life l using (seq) where w.batch_id = ?1 and w.seq = ?2 and l.state = 0",
                (self.batch_id, seq),
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        Ok(found.and_then(|(reason, until)| {
            let reason = Reason::of_name(&reason)?;
            Some((reason, Timestamp::from_millis(until)))
        }))
    }

    /// Returns the ceilings that the last run came with, where it came with any; its lists are not kept.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn limits_of_last_run(&self) -> Result<Option<Limits>, Error> {
        of_last_run(self.c, self.batch_id)
    }

    /// Returns whether signatures that reach this far cover a payment, with its amount.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn is_covered(&self, seq: PaymentId, bound: Bound) -> Result<bool, Error> {
        let priced_by: Option<Option<i64>> = self
            .c
            .query_row(
                "select (select b.bill_id from bill b where b.seq = i.seq and b.outcome = 0) from instruction i where i.seq = ?1 and i.as_due = 1",
                [seq],
                |row| row.get(0),
            )
            .optional()?;
        Ok(bound.covers(seq.get(), priced_by.flatten()))
    }

    /// Returns what is under way, in doubt or in conflict over all batches of the account; of a batch that has not run yet, over
    /// those of the `first` gateway and account that it would be given.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn exposure(&self, first: Option<&Home>) -> Result<Totals, Error> {
        let first = first.map(|home| (home.gateway.as_str(), home.account.as_str()));
        exposure_at(self.c, self.batch_id, first)
    }

    /// Returns the services whose next payment would take what is under way over the ceilings of `exposure`, each with that payment's
    /// amount. What waits for another limit is passed over, as a run does.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn exposed(
        &self,
        ceilings: &Ceilings,
        used: &Totals,
        services: usize,
    ) -> Result<Vec<(ServiceCode, Money)>, Error> {
        let mut is_limited = self
            .c
            .prepare("select exists (select 1 from limited where batch_id = ?1 and seq = ?2)")?;
        let (mut seen, mut found, mut fault) = (BTreeSet::new(), Vec::new(), None);
        self.each_ready_numbered(|seq, payment| {
            let row = &payment.instruction;
            if seen.contains(&row.service) {
                return ControlFlow::Continue(());
            }
            match is_limited.query_row((self.batch_id, seq), |row| row.get(0)) {
                Ok(true) => return ControlFlow::Continue(()),
                Ok(false) => {}
                Err(error) => {
                    fault = Some(error);
                    return ControlFlow::Break(());
                }
            }
            let Money { amount, currency } = row.money;
            let ceiling = ceilings.get(&currency).copied();
            if is_over(ceiling, used.minor(currency), amount) {
                found.push((row.service.clone(), row.money));
            }
            seen.insert(row.service.clone());
            match seen.len() < services {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        match fault {
            None => Ok(found),
            Some(error) => Err(error.into()),
        }
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
