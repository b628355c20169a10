//! By how much later than its slot a request may arrive.

use std::time::Duration;

/// The window over which a rate holds.
pub(super) const WINDOW: Duration = Duration::from_secs(1);
/// How much later than its slot a request may leave at least: timers, and whoever waits for a processor, are late by that.
const LATENESS: Duration = Duration::from_millis(4);
/// By so much more unevenly than they left, requests may arrive: those of hosts, too, of which one is further from the gateway than
/// another.
const PATH: Duration = Duration::from_millis(2);
/// What is always allowed for: a hundredth of the rate.
const STANDARD: Duration = Duration::from_millis(10);
/// Whoever knows the time of the store no better than this has no slots.
const MOST: Duration = Duration::from_secs(1);

/// The time after its slot within which a request arrives.
///
/// It is the same for whoever knows the time of the store well enough, so that a slot of one runner can follow that of another.
/// Whoever knows it less well has more, which lowers the rate while it takes part, and breaks nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spread(Duration);

impl Spread {
    /// Returns the spread of a runner that knows the time of the store within `width`; `None` for one that knows it too badly.
    #[must_use]
    pub fn of(width: Duration) -> Option<Self> {
        let needed = LATENESS.saturating_add(PATH).saturating_add(width);
        (needed <= MOST).then(|| Self(needed.max(STANDARD)))
    }

    /// A spread that was stored; never less than what is always allowed for.
    pub(super) fn of_stored(spread: Duration) -> Self {
        Self(spread.max(STANDARD))
    }

    /// Returns it as a duration.
    #[must_use]
    pub fn get(self) -> Duration {
        self.0
    }

    /// Returns by how much it is more than what is always allowed for.
    #[must_use]
    pub fn beyond_standard(self) -> Duration {
        self.0.saturating_sub(STANDARD)
    }

    /// Returns how much later than its slot, at the latest that it may be, a request may leave.
    #[must_use]
    pub fn leaves_within(self) -> Duration {
        planted!(ledger::leaves_within(self.0.saturating_sub(PATH)))
    }
}
