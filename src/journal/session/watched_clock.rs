//! The clock of a store that several machines share, as a run counts beside it.
//!
//! A run counts from what that clock showed when it began, so that nobody who sets a clock shortens a wait. One that begins later counts
//! from another time then, and what the first has posted would be as old for it as the clock was set ahead: so the first one ends.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{BootTime, Timestamp};
use crate::lifecycle::Policy;

/// A clock that goes by so much more or less than its run counts was set.
const STEP_MAX: Duration = Duration::from_secs(20);

/// Whoever is alive renews its lease within this time.
const RENEWED_WITHIN: Duration = Duration::from_secs(2);

fn most_apart() -> Duration {
    planted!(journal::step_of_clock(STEP_MAX))
}

/// Returns whether a lease shows that the clock may have been set: ahead, so that the lease is over while its run lives and has not looked
/// yet; or back, as no lease lasts so long.
pub(in crate::journal) fn may_have_been_set(
    lease_until: Timestamp,
    lease: Duration,
    now: Timestamp,
) -> bool {
    is_set_back(lease_until, lease, now)
        || now.since(lease_until) >= most_apart().saturating_sub(lease + RENEWED_WITHIN)
}

/// Returns whether a lease ends later than any does that was given by the clock as it goes now.
pub(in crate::journal) fn is_set_back(
    lease_until: Timestamp,
    lease: Duration,
    now: Timestamp,
) -> bool {
    lease_until > now.after(lease * 2)
}

/// What a process counts by a clock that nobody sets. The sleep of its machine counts.
#[derive(Clone, Copy, Debug)]
pub(in crate::journal) struct Counter {
    began: Instant,
    slept: Duration,
}

impl Counter {
    pub(in crate::journal) fn start() -> Self {
        Self {
            began: Instant::now(),
            slept: BootTime::slept(),
        }
    }

    /// Returns the time since its start.
    pub(in crate::journal) fn elapsed(&self) -> Duration {
        self.began.elapsed() + BootTime::slept().saturating_sub(self.slept)
    }
}

/// What a process had counted when it asked for the turn of a transaction, and when it had it. The clock of the store was read in between:
/// whoever stands still there has not seen that it was set.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::journal) struct Turn {
    pub(in crate::journal) asked: Duration,
    pub(in crate::journal) had: Duration,
}

/// What is seen of a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::journal) enum Seen {
    /// It goes as the run counts.
    Right,
    /// It was set: for the first time that anybody sees it. By the policy of the run, doubts wait anew.
    Set(Policy),
    /// It was set before.
    WasSet,
}

/// What the clock of the store showed when a run began, what the process had counted by then, and by what its doubts wait.
#[derive(Clone, Debug)]
pub(in crate::journal) struct WatchedClock {
    showed: Timestamp,
    counted: Duration,
    policy: Policy,
    was_set: bool,
    /// Seen in a transaction that is not committed yet.
    is_seen: bool,
}

impl WatchedClock {
    /// Begins when a run takes its batch.
    pub(in crate::journal) fn begin(showed: Timestamp, counted: Duration, policy: &Policy) -> Self {
        Self {
            showed,
            counted,
            policy: policy.clone(),
            was_set: false,
            is_seen: false,
        }
    }

    /// Compares what it showed with what was counted meanwhile.
    pub(in crate::journal) fn look(&mut self, showed: Timestamp, counted: Turn) -> Seen {
        if self.was_set || self.is_seen {
            return Seen::WasSet;
        }
        let millis = |of: Duration| i64::try_from(of.as_millis()).unwrap_or(i64::MAX);
        let by_clock = showed.as_millis().saturating_sub(self.showed.as_millis());
        let [least, most] = [counted.asked, counted.had]
            .map(|counted| millis(counted).saturating_sub(millis(self.counted)));
        let apart = by_clock - by_clock.clamp(least, most.max(least));
        if apart.saturating_abs() <= millis(most_apart()) {
            return Seen::Right;
        }
        self.is_seen = true;
        Seen::Set(self.policy.clone())
    }

    /// Returns whether it was seen that it was set.
    pub(in crate::journal) fn was_set(&self) -> bool {
        self.was_set || self.is_seen
    }

    /// A transaction begins: the one before it was committed.
    pub(in crate::journal) fn keep(&mut self) {
        self.was_set |= std::mem::take(&mut self.is_seen);
    }

    /// The transaction came to nothing.
    pub(in crate::journal) fn forget(&mut self) {
        self.is_seen = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1_000)
    }

    fn turn(asked: u64, had: u64) -> Turn {
        let [asked, had] = [asked, had].map(Duration::from_secs);
        Turn { asked, had }
    }

    #[test]
    fn a_clock_that_was_set_is_seen_until_that_was_committed() {
        let secs = Duration::from_secs;
        // What it shows, and what was counted, since the run began.
        for (shows, counted, is_right) in [
            (60, 60, true),
            (80, 60, true),
            (81, 60, false),
            (3_660, 60, false),
            (40, 60, true),
            (39, 60, false),
            (-3_540, 60, false),
            // It was waited for, or the machine slept.
            (7_260, 7_250, true),
        ] {
            let policy = Policy::default();
            let mut clock = WatchedClock::begin(at(5_000), secs(7), &policy);
            let mut look = || clock.look(at(5_000 + shows), turn(7 + counted, 7 + counted));
            let expected = match is_right {
                true => [Seen::Right, Seen::Right],
                false => [Seen::Set(policy), Seen::WasSet],
            };
            assert_eq!([look(), look()], expected, "{shows} {counted}");
            assert_eq!(clock.was_set(), !is_right);
            clock.forget();
            assert_eq!(
                clock.look(at(5_060), turn(67, 67)),
                Seen::Right,
                "taken back"
            );
        }
        let mut clock = WatchedClock::begin(at(0), secs(0), &Policy::default());
        assert!(matches!(clock.look(at(100), turn(1, 1)), Seen::Set(_)));
        clock.keep();
        clock.forget();
        assert_eq!(
            clock.look(at(2), turn(2, 2)),
            Seen::WasSet,
            "set right again"
        );
    }

    #[test]
    fn whoever_stands_still_on_its_turn_sees_a_clock_that_goes_on() {
        for (shows, is_right) in [
            (-1, false),
            (0, true),
            (20, true),
            (50, true),
            (80, true),
            (90, true),
            (91, false),
        ] {
            let mut clock = WatchedClock::begin(at(0), Duration::ZERO, &Policy::default());
            let seen = clock.look(at(shows), turn(20, 70));
            assert_eq!(seen == Seen::Right, is_right, "{shows}");
        }
        // It asked for its turn before the run's clock was read.
        let mut clock = WatchedClock::begin(at(60), Duration::from_secs(60), &Policy::default());
        assert_eq!(clock.look(at(5), turn(4, 60)), Seen::Right);
    }

    #[test]
    fn a_lease_that_a_step_would_end_may_be_that_of_a_run_that_lives() {
        let lease = Duration::from_secs(10);
        // A run that lives has renewed it a second ago, and the clock was set ahead by the least that counts.
        assert!(may_have_been_set(at(109), lease, at(100 + 20)));
        for (now, may_be) in [
            // No lease lasts so long: it was set back since.
            (89, true),
            (90, false),
            (110, false),
            (117, false),
            (118, true),
            (3_700, true),
        ] {
            assert_eq!(may_have_been_set(at(110), lease, at(now)), may_be, "{now}");
        }
    }
}
