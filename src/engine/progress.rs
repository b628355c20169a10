//! What a person watching a run sees.

use std::collections::BTreeMap;

use crate::domain::{ServiceCode, Tally, Timestamp, Totals};
use crate::lifecycle::State;

/// What a run waits for, and until when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Awaited {
    /// The next question to the gateway.
    pub ask: Option<Timestamp>,
    /// Which question in a row about its payment that one is, where that is known.
    pub nth: Option<u32>,
    /// The next post, after losses in a row.
    pub posts: Option<Timestamp>,
    /// The first date, or opening, that is waited for.
    pub window: Option<Timestamp>,
    /// The next look at a lane that is held for want of float.
    pub lane: Option<Timestamp>,
}

/// Where a run stands, for a screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Count and amounts per state.
    pub states: BTreeMap<State, Tally>,
    /// Payments handed to the gateway since the run began.
    pub posted: u64,
    /// Questions asked since the run began.
    pub asked: u64,
    /// Lanes held for want of float.
    pub held: Vec<ServiceCode>,
    /// What is waited for.
    pub awaited: Awaited,
    /// Posts are paused: losses in a row.
    pub circuit_open: bool,
    /// The run takes no more payments and waits for what is under way.
    pub draining: bool,
    /// When this was so.
    pub at: Timestamp,
}

impl Progress {
    /// Returns how many payments have ended, and how many there are.
    #[must_use]
    pub fn finished_of(&self) -> (u64, u64) {
        let mut counts = (0, 0);
        for (state, tally) in &self.states {
            counts.1 += tally.count;
            counts.0 += if state.is_finished() { tally.count } else { 0 };
        }
        counts
    }

    /// Returns the amounts that are proven to have moved.
    #[must_use]
    pub fn paid(&self) -> Totals {
        self.states
            .get(&State::Paid)
            .map(|tally| tally.amounts.clone())
            .unwrap_or_default()
    }
}
