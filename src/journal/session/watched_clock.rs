//! The clock of a store that several machines share, as a run counts beside it.

use std::time::Duration;

use crate::domain::Timestamp;
use crate::lifecycle::Policy;

/// A clock that goes ahead by more than this, while its run counts no such time, was set.
const STEP_MAX: Duration = Duration::from_secs(20);

/// How far the clock of the store was ahead of what a run counts, and by what its doubts wait.
#[derive(Clone, Debug)]
pub(in crate::journal) struct WatchedClock {
    ahead: i64,
    /// Seen in a transaction that is not committed yet.
    seen: Option<i64>,
    policy: Policy,
}

impl WatchedClock {
    /// Begins with what a run counts at the moment at which it takes its batch.
    pub(in crate::journal) fn begin(told: Timestamp, now: Timestamp, policy: &Policy) -> Self {
        Self {
            ahead: now.as_millis().saturating_sub(told.as_millis()),
            seen: None,
            policy: policy.clone(),
        }
    }

    /// Compares what the run counts with the clock, for which it waited so long; returns the policy of its doubts where somebody has set
    /// the clock ahead since.
    pub(in crate::journal) fn look(
        &mut self,
        told: Timestamp,
        now: Timestamp,
        waited: Duration,
    ) -> Option<Policy> {
        let ahead = now.as_millis().saturating_sub(told.as_millis());
        self.seen = Some(ahead);
        let by = u128::try_from(ahead.saturating_sub(self.ahead)).unwrap_or(0);
        let most = STEP_MAX.saturating_add(waited).as_millis();
        (by > most).then(|| self.policy.clone())
    }

    /// A transaction begins: the one before it was committed.
    pub(in crate::journal) fn keep(&mut self) {
        self.ahead = self.seen.take().unwrap_or(self.ahead);
    }

    /// The transaction came to nothing.
    pub(in crate::journal) fn forget(&mut self) {
        self.seen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1_000)
    }

    #[test]
    fn a_clock_that_is_set_ahead_is_seen_until_that_was_committed() {
        let mut clock = WatchedClock::begin(at(5), at(3_600), &Policy::default());
        let wait = Duration::from_secs(8);
        for (told, now, is_seen) in [
            (at(65), at(3_660), false),
            // It waited for its turn.
            (at(70), at(3_690), false),
            (at(71), at(3_966), true),
            (at(72), at(3_967), true),
        ] {
            assert_eq!(clock.look(told, now, wait).is_some(), is_seen, "{told}");
            clock.forget();
        }
        assert!(clock.look(at(73), at(3_968), wait).is_some());
        clock.keep();
        assert!(clock.look(at(74), at(3_969), wait).is_none());
        clock.keep();
        assert!(clock.look(at(75), at(70), wait).is_none(), "set back");
        clock.keep();
        assert!(
            clock.look(at(76), at(3_971), wait).is_some(),
            "and ahead again"
        );
    }
}
