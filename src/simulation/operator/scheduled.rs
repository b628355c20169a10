//! Rows that name a time before which they may not leave.

use std::cell::RefCell;
use std::time::Duration;

use fastrand::Rng;

use crate::domain::{Instruction, NOT_BEFORE, Timestamp};

/// One seed in so many plays it.
const EVERY: u64 = 4;
/// The latest time that a row names, after its file was written; the earliest is as long before that.
const SPAN_MS: u64 = 240_000;

/// The times of rows, with a generator of their own.
pub(in crate::simulation) struct Times {
    rng: RefCell<Rng>,
    is_on: bool,
}

impl Times {
    pub(in crate::simulation) fn of(seed: u64) -> Self {
        Self {
            rng: RefCell::new(Rng::with_seed(seed ^ 0x71AE)),
            is_on: seed % EVERY == 1,
        }
    }

    /// A row of a file that is written at `now`, with a time or without one.
    pub(in crate::simulation) fn give(&self, mut row: Instruction, now: Timestamp) -> Instruction {
        let mut rng = self.rng.borrow_mut();
        if self.is_on && rng.bool() {
            let from = Timestamp::from_millis(now.as_millis() - SPAN_MS.cast_signed());
            let at = from.after(Duration::from_millis(rng.u64(0..=2 * SPAN_MS)));
            row.extra.push((NOT_BEFORE.to_owned(), at.to_string()));
        }
        row
    }
}
