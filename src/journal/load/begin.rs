//! How the rows of a load begin: their lives, their tallies, and what proves later that they are as they were loaded.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::job::{FIRST, Load};
use crate::domain::{BatchId, LaneId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::approval::verbs::pin_rule;
use crate::journal::codec::events::PRESUMED_POSTED;
use crate::journal::codec::values::{UNPRICED, corrupt, state_number};
use crate::journal::evidence::chain::Evidence;
use crate::journal::evidence::digests;
use crate::journal::evidence::instruction_blocks;
use crate::journal::payments::unstarted::begin_lane;
use crate::journal::run::{dates, destination};
use crate::ledger::calendar::BatchDates;
use crate::lifecycle::State;
use crate::store::tables::{instruction, tally};
use crate::store::{Reads, Scan, Test, Writes, shape};

shape! {
    /// A payment, and its lane.
    struct Own of instruction { seq: PaymentId, service_id: LaneId }
}
shape! {
    /// The life of a payment as it begins: due at once.
    struct Begun of life {
        seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, due_at: i64, exposures: u32,
        quarantine_from: Option<Timestamp>,
    }
}
shape! {
    /// Rows of a lane that stand at one state, or wait for their amount, and what they come to.
    struct Sum of tally { batch_id: BatchId, service_id: LaneId, currency: String, state: i64, count: i64, amount: i64 }
}

/// Rows that are read before what comes of them is written.
const PAGE: usize = 4096;

impl Load<'_> {
    /// Begins the lives of the new rows that do not wait for their first claim, and puts what was loaded on the chain.
    pub(in crate::journal) fn begin_lives(&mut self) -> Result<(), Error> {
        let batch_id = self.batch_id;
        // Asked before it is posted, where an earlier journal may have posted it. What else waits, for its document, is no fresh payment.
        let (waiting, state, exposures, quarantine_from) = match self.presumes {
            true => (
                Scan::of(&instruction::TABLE),
                State::InDoubt,
                1,
                Some(self.plan.now),
            ),
            false => (
                Scan::by(&instruction::instruction_with_document).at(&batch_id),
                State::Ready,
                0,
                None,
            ),
        };
        let waiting = waiting.only(instruction::amount, Test::Present);
        self.pages(&waiting, |page| {
            let begun = page.into_iter().map(|row| Begun {
                seq: row.seq,
                batch_id,
                service_id: row.service_id,
                state,
                due_at: 0,
                exposures,
                quarantine_from,
            });
            Ok(self.c.insert_all(&begun.collect::<Vec<_>>())?)
        })?;
        for lane in &self.lanes {
            begin_lane(self.c, batch_id, lane.service_id, lane.first)?;
        }
        self.begin_tallies(state_number(state))?;
        self.c.with(|c, chain| {
            let now = self.plan.now;
            digests::file(c, chain, batch_id, self.load_id, now)?;
            if self.altered {
                // What replaces a payment is on the chain with that one.
                let last = self.corrections.first_replacement();
                let last = last.map_or(i64::MAX, |first| first.get() - 1);
                return instruction_blocks::seal(c, chain, batch_id, (self.base + 1, last), now);
            }
            self.blocks
                .iter()
                .try_for_each(|block| instruction_blocks::append(c, chain, batch_id, block, now))
        })?;
        self.seal_documents()?;
        if self.presumes {
            self.presume_posted()?;
        }
        let now = self.plan.now;
        pin_rule(self.c, batch_id, self.plan.approval.as_ref(), now)?;
        if let Some(to) = &self.plan.destination {
            destination::begin(self.c, batch_id, to, now)?;
        }
        self.c
            .acted(batch_id, now, "load", self.plan.source.as_str().into())?;
        match self.existed || self.plan.dates == BatchDates::default() {
            true => Ok(()),
            false => dates::record(self.c, batch_id, (self.plan.dates, true), now),
        }
    }

    fn begin_tallies(&self, state: i64) -> Result<(), Error> {
        let sums = match self.altered {
            true => self.sums_in_table(state)?,
            false => self.sums_that_passed(state),
        };
        for ((lane, currency, state), (count, minor)) in sums {
            let amount = i64::try_from(minor).map_err(|_| too_much())?;
            self.add(Sum {
                batch_id: self.batch_id,
                service_id: lane,
                currency,
                state,
                count,
                amount,
            })?;
        }
        Ok(())
    }

    /// Returns what the rows come to that passed by.
    fn sums_that_passed(&self, state: i64) -> Sums {
        let mut sums = Sums::new();
        for lane in &self.lanes {
            for (state, count, minor) in [
                (state, lane.priced, lane.minor),
                (UNPRICED, lane.unpriced, 0),
            ] {
                if count > 0 {
                    let key = (lane.service_id, lane.currency.code().to_owned(), state);
                    let sum = sums.entry(key).or_default();
                    sum.0 += count;
                    sum.1 += minor;
                }
            }
        }
        sums
    }

    /// Returns what the rows of this load come to that are left.
    fn sums_in_table(&self, state: i64) -> Result<Sums, Error> {
        let mut sums = Sums::new();
        let rows = self
            .own_rows()
            .only(instruction::generation, Test::is(&FIRST));
        let columns = [
            instruction::service_id,
            instruction::currency,
            instruction::amount,
        ];
        self.c.each_row(&rows, &columns, |row| {
            let minor: Option<i64> = row.get(2)?;
            let state = if minor.is_some() { state } else { UNPRICED };
            let sum = sums.entry((row.get(0)?, row.get(1)?, state)).or_default();
            sum.0 += 1;
            sum.1 += i128::from(minor.unwrap_or(0));
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(sums)
    }

    /// Adds to the tally of the batch.
    fn add(&self, more: Sum) -> Result<(), Error> {
        let one = Scan::of(&tally::TABLE)
            .at(&more.batch_id)
            .at(&more.service_id)
            .at(&more.currency)
            .at(&more.state);
        let (count, amount) = match self.c.first::<Sum>(&one)? {
            Some(sum) => (sum.count, sum.amount),
            None => (0, 0),
        };
        let amount = amount.checked_add(more.amount).ok_or_else(too_much)?;
        Ok(self.c.put(&Sum {
            count: count + more.count,
            amount,
            ..more
        })?)
    }

    fn presume_posted(&self) -> Result<(), Error> {
        self.pages(&Scan::of(&instruction::TABLE), |page| {
            page.into_iter().try_for_each(|row| {
                self.c.append(&Evidence {
                    batch_id: self.batch_id,
                    seq: row.seq,
                    at: self.plan.now,
                    kind: (PRESUMED_POSTED, None, None),
                    ..Evidence::default()
                })
            })
        })
    }

    /// Shows rows of this load that replace no other ones a page at a time: whoever is shown them may write.
    fn pages(
        &self,
        rows: &Scan<'_>,
        mut visit: impl FnMut(Vec<Own>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut last = PaymentId::new(self.base);
        loop {
            let behind = rows
                .clone()
                .after(&last)
                .only(instruction::generation, Test::is(&FIRST))
                .limit(PAGE);
            let page: Vec<Own> = self.c.list(&behind)?;
            let Some(newest) = page.last() else {
                return Ok(());
            };
            last = newest.seq;
            visit(page)?;
        }
    }
}

/// Rows by lane, currency and state: how many, and their minor units.
type Sums = BTreeMap<(LaneId, String, i64), (i64, i128)>;

fn too_much() -> Error {
    corrupt("amounts that come to more than a tally can hold")
}
