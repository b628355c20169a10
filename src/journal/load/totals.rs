//! What the rows of a load come to, and whether that is what was declared, and can be counted.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::ascending::{Ascending, Stands};
use super::job::{ByService, FIRST, Load};
use crate::domain::{Amount, Currency, LaneId, Money, PaymentId, Tally};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::state_number;
use crate::journal::{CrossRowError, Error, LoadRefusal, LoadSummary};
use crate::ledger::payer::Identifiers;
use crate::lifecycle::State;
use crate::store::tables::{instruction, rejected, tally};
use crate::store::{Reads, Scan, Test, shape};

shape! {
    /// What rows of a lane come to that stand at one state, or wait for their amount.
    struct Counted of tally { currency: Currency, state: i64, count: i64, amount: i64 }
}

/// Amounts are counted in these units.
const COARSE: i64 = 1_000_000;

impl Load<'_> {
    /// Refuses rows whose sum is beyond what is counted in 64 bits: every later command would fail at it.
    pub(in crate::journal) fn too_much(&self) -> Result<Option<LoadRefusal>, Error> {
        let mut total = self.rejected.amounts.clone();
        for (currency, minor) in self.skipped.amounts.iter() {
            total.add_minor(currency, minor);
        }
        for lane in &self.lanes {
            total.add_minor(lane.currency, lane.minor);
        }
        self.corrections
            .replacing()
            .for_each(|money| total.add(money));
        if self.existed {
            let rows = self
                .rows_before()
                .only(instruction::generation, Test::is(&FIRST))
                .only(instruction::amount, Test::Present);
            let columns = [instruction::currency, instruction::amount];
            self.c.each_row(&rows, &columns, |row| {
                let coarse = row.get::<i64>(1)? / COARSE * COARSE;
                total.add_minor(row.get(0)?, i128::from(coarse));
                Ok::<_, Error>(ControlFlow::Continue(()))
            })?;
        }
        Ok(total.is_beyond_counting().then(|| LoadRefusal::TooMuch {
            total: total.to_string(),
        }))
    }

    /// Refuses rows that take their batch over its ceiling. What failed or was cancelled before counts no more: should it be paid
    /// anew, the claim judges it. What an earlier journal may have posted is loaded whatever it comes to.
    pub(in crate::journal) fn over_ceiling(
        &self,
        summary: &LoadSummary,
    ) -> Result<Option<LoadRefusal>, Error> {
        if self.plan.batch_ceilings.is_empty() || self.presumes {
            return Ok(None);
        }
        let mut total = summary.total().amounts;
        let ended = [State::Failed, State::Cancelled].map(state_number);
        let of_batch = Scan::of(&tally::TABLE).at(&self.batch_id);
        self.c.each(&of_batch, |row: Counted| {
            if !ended.contains(&row.state) && row.count > 0 {
                total.add_minor(row.currency, i128::from(row.amount));
            }
            Ok::<_, Error>(())
        })?;
        let over = self
            .plan
            .batch_ceilings
            .iter()
            .find_map(|(currency, ceiling)| {
                let minor = total.minor(*currency);
                (minor > i128::from(ceiling.minor())).then_some((*currency, minor, *ceiling))
            });
        let Some((currency, minor, ceiling)) = over else {
            return Ok(None);
        };
        let most = i64::try_from(minor).unwrap_or(i64::MAX);
        let total = Amount::from_minor(most).unwrap_or(ceiling);
        let money = |amount| Money { amount, currency };
        Ok(Some(LoadRefusal::OverCeiling {
            total: money(total),
            ceiling: money(ceiling),
        }))
    }

    /// Compares the file as a whole with what was declared: new rows, rejected ones, and those that were there before.
    pub(in crate::journal) fn check_declared(
        &self,
        summary: &LoadSummary,
        unchanged: &Tally,
    ) -> Result<Option<LoadRefusal>, Error> {
        let mut all = summary.total();
        all.add_all(&summary.rejected);
        all.add_all(unchanged);
        if let Some(expected) = self
            .plan
            .expect_count
            .filter(|expected| *expected != all.count)
        {
            return Ok(Some(LoadRefusal::Count {
                expected,
                found: all.count,
            }));
        }
        // Compared once the rows without an amount have theirs.
        let declared = self.plan.expect_total.filter(|_| summary.unpriced == 0);
        let Some((currency, amount)) = declared else {
            return Ok(None);
        };
        let others = all.amounts.iter().any(|(found, _)| found != currency);
        if all.amounts.minor(currency) == i128::from(amount.minor()) && !others {
            return Ok(None);
        }
        let expected = crate::domain::Money { amount, currency };
        Ok(Some(LoadRefusal::Total {
            expected: format!("{currency} {expected}"),
            found: all.amounts.to_string(),
            unread: self.unread()?,
        }))
    }

    /// Counts the rows that are set aside and whose amounts cannot be read.
    fn unread(&self) -> Result<u64, Error> {
        let unread = Scan::of(&rejected::TABLE)
            .at(&self.load_id)
            .only(rejected::amount, Test::Absent);
        Ok(self.c.count(&unread)?)
    }

    pub(in crate::journal) fn summary(
        &self,
        late: Vec<CrossRowError>,
        unchanged: u64,
    ) -> Result<LoadSummary, Error> {
        let (accepted, unpriced) = match self.altered {
            true => self.accepted(&self.own_rows())?,
            false => self.passed(),
        };
        Ok(LoadSummary {
            accepted,
            unpriced,
            rejected: self.rejected.clone(),
            skipped: self.skipped.clone(),
            late,
            unchanged,
            ..LoadSummary::default()
        })
    }

    /// What the rows that passed add up to, and how many of them wait for their amount.
    fn passed(&self) -> (ByService, u64) {
        let mut accepted: ByService = self
            .lanes
            .iter()
            .map(|lane| {
                let mut tally = Tally::default();
                let rows = (lane.priced + lane.unpriced).unsigned_abs();
                tally.add_many(rows, lane.currency, lane.minor);
                (lane.service.clone(), lane.currency, tally)
            })
            .collect();
        accepted.sort_by(|(a, b, _), (c, d, _)| (a, b).cmp(&(c, d)));
        let unpriced = self.lanes.iter().map(|lane| lane.unpriced.unsigned_abs());
        (accepted, unpriced.sum())
    }

    /// Returns what tells the payments that this load brings from any others, but for those that take the place of earlier ones.
    pub(in crate::journal) fn identifiers(&self) -> Result<Identifiers, Error> {
        if !self.altered {
            return Ok(self.identifiers);
        }
        let mut found = Identifiers::default();
        let rows = self
            .own_rows()
            .only(instruction::generation, Test::is(&FIRST));
        self.c.each_row(&rows, &[instruction::identifier], |row| {
            found.add(&row.get::<String>(0)?);
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// What rows in the table add up to, and how many of them wait for their amount.
    pub(in crate::journal) fn accepted(&self, rows: &Scan<'_>) -> Result<(ByService, u64), Error> {
        let mut lives = Ascending::<Stands>::of(self.c);
        let mut by_lane: BTreeMap<(LaneId, Currency), Tally> = BTreeMap::new();
        let mut unpriced = 0;
        let columns = [
            instruction::service_id,
            instruction::currency,
            instruction::amount,
            instruction::seq,
        ];
        self.c.each_row(rows, &columns, |row| {
            let (lane, currency): (LaneId, Currency) = (row.get(0)?, row.get(1)?);
            let minor: Option<i64> = row.get(2)?;
            if minor.is_none() {
                let seq: PaymentId = row.get(3)?;
                unpriced += u64::from(lives.find(seq)?.is_none());
            }
            let tally = by_lane.entry((lane, currency)).or_default();
            tally.add_many(1, currency, i128::from(minor.unwrap_or(0)));
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        let services = Instructions::of(self.c);
        let mut accepted = Vec::with_capacity(by_lane.len());
        for ((lane, currency), tally) in by_lane {
            accepted.push((services.service(lane)?, currency, tally));
        }
        accepted.sort_by(|(a, b, _), (c, d, _)| (a, b).cmp(&(c, d)));
        Ok((accepted, unpriced))
    }
}
