//! The limits of a run, and what this claim has taken of them already.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{Currency, LaneId, Money, Totals};
use crate::ledger::limits::Limits;

/// The limits of the run of a batch.
#[derive(Debug)]
pub(in crate::journal) struct Limiter {
    pub(in crate::journal) limits: Arc<Limits>,
    /// 1: a rehearsal, which counts among its like.
    pub(in crate::journal) realm: i64,
    /// What this claim lets leave, by whom it counts for: the evidence of it is counted by the next claim.
    taken: BTreeMap<(String, Currency), i128>,
    /// What is under way, in doubt or in conflict, as it was read, and what this claim adds to it.
    pub(in crate::journal) exposure: Option<Totals>,
    /// What of the batch was not proven unpaid, as it was read, and what this claim adds to it.
    pub(in crate::journal) batch: Option<Totals>,
    /// Lanes in which a payment of this amount waits until less is under way.
    full: BTreeMap<LaneId, Money>,
}

impl Limiter {
    pub(in crate::journal) fn new(limits: Arc<Limits>, realm: i64) -> Self {
        Self {
            limits,
            realm,
            taken: BTreeMap::new(),
            exposure: None,
            batch: None,
            full: BTreeMap::new(),
        }
    }

    /// Begins a claim: everything is read anew.
    pub(in crate::journal) fn begin_claim(&mut self) {
        self.taken.clear();
        self.exposure = None;
        self.batch = None;
        self.full.clear();
    }

    /// Returns what this claim has taken of somebody's ceiling.
    pub(in crate::journal) fn taken(&self, name: &str, currency: Currency) -> i128 {
        let taken = self.taken.get(&(name.to_owned(), currency));
        taken.copied().unwrap_or(0)
    }

    /// Takes a payment that leaves: of those that it counts for, and of the exposure.
    pub(in crate::journal) fn take<const N: usize>(
        &mut self,
        names: [(String, bool); N],
        money: Money,
    ) {
        let minor = i128::from(money.amount.minor());
        for (name, counts) in names {
            if counts {
                *self.taken.entry((name, money.currency)).or_default() += minor;
            }
        }
        for totals in [&mut self.exposure, &mut self.batch].into_iter().flatten() {
            totals.add(money);
        }
    }

    /// Notes that a lane waits until less is under way.
    pub(in crate::journal) fn fill(&mut self, lane: LaneId, money: Money) {
        self.full.insert(lane, money);
    }

    /// Returns what waits in a lane until less is under way.
    pub(in crate::journal) fn waits(&self, lane: LaneId) -> Option<Money> {
        self.full.get(&lane).copied()
    }
}
