//! What the verbs say of a journal that may have missed something.

use crate::domain::{BatchName, Timestamp};
use crate::ledger::recovery::Cause;
use crate::lifecycle::{Life, State};

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

/// What is known of the payments of a batch that were presumed posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presumed {
    /// The batch.
    pub batch: BatchName,
    /// How many were presumed posted.
    pub payments: u64,
    /// Of these: nothing was heard of them yet.
    pub unasked: u64,
    /// The gateway does not know them, or not yet beyond doubt: they are posted once it has said so twice, or are by now.
    pub not_found: u64,
    /// The gateway knows them: an earlier journal had posted them, or this one has since.
    pub known: u64,
}

impl Presumed {
    pub(super) fn none_of(batch: BatchName) -> Self {
        Self {
            batch,
            payments: 0,
            unasked: 0,
            not_found: 0,
            known: 0,
        }
    }

    pub(super) fn count(&mut self, life: &Life, answered: bool) {
        self.payments += 1;
        let ended = matches!(life.state, State::Paid | State::Failed | State::Conflict);
        if life.known || ended {
            self.known += 1;
        } else if life.state == State::InDoubt && !answered {
            self.unasked += 1;
        } else {
            self.not_found += 1;
        }
    }
}
