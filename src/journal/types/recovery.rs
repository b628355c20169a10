//! What the verbs say of a journal that may have missed something.

use crate::domain::{BatchName, Timestamp};
use crate::ledger::Purpose;
use crate::ledger::recovery::{Became, Cause, Since, became};
use crate::lifecycle::PaymentState;

/// A journal that may have missed something, until that is declared made up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// When it was noticed.
    pub since: Timestamp,
    /// How it showed.
    pub cause: Cause,
}

/// What a reader sees of a journal that may have missed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// How it shows.
    pub cause: Cause,
    /// Since when its recovery is under way; `None`: nobody has opened it for writing yet.
    pub since: Option<Timestamp>,
}

/// What became of an order that a batch is presumed posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presuming {
    /// Payments of the batch that are asked about first now.
    pub payments: u64,
    /// The same of other batches.
    pub others: u64,
    /// A recovery began with it.
    pub begins: bool,
}

/// What is known of the payments of a batch that were presumed posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presumed {
    /// The batch.
    pub batch: BatchName,
    /// What it is for.
    pub purpose: Purpose,
    /// How many were presumed posted.
    pub payments: u64,
    /// Of these: nothing was heard of them yet.
    pub unasked: u64,
    /// The gateway does not know them, or not yet beyond doubt: they are posted once it has said so twice.
    pub not_found: u64,
    /// The gateway knows them: an earlier journal had posted them.
    pub known: u64,
    /// This journal has posted them since.
    pub posted: u64,
    /// A person decided: their end, or that nothing had run.
    pub decided: u64,
}

impl Presumed {
    pub(in crate::journal) fn none_of(batch: BatchName, purpose: Purpose) -> Self {
        Self {
            batch,
            purpose,
            payments: 0,
            unasked: 0,
            not_found: 0,
            known: 0,
            posted: 0,
            decided: 0,
        }
    }

    /// Returns how many payments the gateway is yet to be asked about; nobody waits for a rehearsal.
    #[must_use]
    pub fn left_to_ask(&self) -> u64 {
        match self.purpose {
            Purpose::Rehearsal => 0,
            Purpose::Gateway | Purpose::Unknown => self.unasked,
        }
    }

    pub(in crate::journal) fn count(&mut self, life: &PaymentState, since: Since) {
        self.payments += 1;
        let which = match became(life, since) {
            Became::Unasked => &mut self.unasked,
            Became::NotFound => &mut self.not_found,
            Became::Known => &mut self.known,
            Became::Posted => &mut self.posted,
            Became::Decided => &mut self.decided,
        };
        *which += 1;
    }
}
