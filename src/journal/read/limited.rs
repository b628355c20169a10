//! Payments that a limit keeps from leaving, or would.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::reader::{Reader, Snapshot};
use crate::domain::{BatchId, Money, PaymentId, ServiceCode, Timestamp, Totals};
use crate::journal::codec::instructions::{BATCH, COLUMNS, Instructions};
use crate::journal::limits::recorded::of_last_run;
use crate::journal::limits::sums::{exposure_at, of_batch};
use crate::journal::limits::waiting;
use crate::journal::{Error, Home, LimitedRows};
use crate::ledger::confirmation::Bound;
use crate::ledger::limits::ahead::Ahead;
use crate::ledger::limits::judge::is_over;
use crate::ledger::limits::{Ceilings, Limits, Reason};
use crate::lifecycle::State;
use crate::store::tables::{batch, bill, instruction, life, limited};
use crate::store::{Beside, Read, Reads, Scan, Test, shape};

shape! {
    /// Which limit keeps a payment from leaving.
    struct Kept of limited { reason: String, until: Timestamp }
}
shape! {
    /// A payment that may count towards ceilings.
    struct Counting of life { seq: PaymentId, state: State, exposures: u32, posted_at: Option<Timestamp> }
}

impl Snapshot<'_> {
    /// Returns which payments of the batch a limit keeps from leaving, by the limit, as the last run found.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn limited(&self) -> Result<Vec<LimitedRows>, Error> {
        waiting::limited(self.c, self.batch_id)
    }

    /// Returns which limit keeps a payment from leaving, and when it is looked at again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn limited_by(&self, seq: PaymentId) -> Result<Option<(Reason, Timestamp)>, Error> {
        let own = Scan::of(&limited::TABLE).at(&self.batch_id).at(&seq);
        let Some(Kept { reason, until }) = self.c.first(&own)? else {
            return Ok(None);
        };
        let ready = Scan::of(&life::TABLE)
            .at(&seq)
            .only(life::state, Test::is(&State::Ready));
        if !self.c.any(&ready)? {
            return Ok(None);
        }
        Ok(Reason::of_name(&reason).map(|reason| (reason, until)))
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
        let as_due = Scan::of(&instruction::TABLE)
            .at(&seq)
            .only(instruction::as_due, Test::is(&true));
        let priced_by = match self.c.any(&as_due)? {
            true => {
                let decided = Scan::by(&bill::bill_that_decided)
                    .at(&seq)
                    .only(bill::outcome, Test::is(&0_i64));
                self.c.value(&decided, bill::bill_id)?
            }
            false => None,
        };
        Ok(bound.covers(seq, priced_by))
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
        let (mut seen, mut found, mut fault) = (BTreeSet::new(), Vec::new(), None);
        self.each_ready_numbered(|seq, payment| {
            let row = &payment.instruction;
            if seen.contains(&row.service) {
                return ControlFlow::Continue(());
            }
            let limited = Scan::of(&limited::TABLE).at(&self.batch_id).at(&seq);
            match self.c.any(&limited) {
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

/// Where payments stand that count towards ceilings, whatever became of their posts; a ready one counts where one may have left.
const COUNTS: [State; 7] = [
    State::Ready,
    State::Posting,
    State::InDoubt,
    State::Acknowledged,
    State::Delivered,
    State::Paid,
    State::Conflict,
];

impl Reader {
    /// Tells what was paid before, or may have been, by where each payment stands: the same that a run folds from the evidence.
    fn paid_before(&self, ahead: &mut Ahead, is_rehearsal: bool) -> Result<(), Error> {
        let c: &dyn Read = self.store();
        let instructions = Instructions::of(c);
        let mut rows = Beside::of(c, &instruction::TABLE, &COLUMNS);
        let mut batches: BTreeMap<BatchId, bool> = BTreeMap::new();
        let counting = Scan::of(&life::TABLE).only(life::state, Test::among(&COUNTS));
        c.each(&counting, |life: Counting| {
            if life.state == State::Ready && life.exposures == 0 {
                return Ok(());
            }
            let Some(row) = rows.find(life.seq.get())? else {
                return Ok(());
            };
            let batch_id = row.get(BATCH)?;
            let is_meant = match batches.get(&batch_id) {
                Some(is_meant) => *is_meant,
                None => {
                    let own = Scan::of(&batch::TABLE).at(&batch_id);
                    let of_batch: Option<Option<bool>> = c.value(&own, batch::rehearsal)?;
                    let is_meant = of_batch
                        .is_some_and(|rehearsal| rehearsal.unwrap_or(false) == is_rehearsal);
                    batches.insert(batch_id, is_meant);
                    is_meant
                }
            };
            if is_meant {
                let payment = instructions.read(&row)?.payment()?;
                let is_paid = life.state == State::Paid;
                ahead.paid(&payment.instruction, life.posted_at, is_paid);
            }
            Ok::<_, Error>(())
        })
    }
}
