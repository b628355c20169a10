//! The time of the store, as a runner knows it by its own clock.

use std::time::Duration;

use crate::domain::Timestamp;

/// The store tells whole milliseconds: the time is this much later at most, in microseconds.
const TOLD_WITHIN: i64 = 1_000;
/// By so many millionths two clocks drift apart at most: quartz by fifty each, and what keeps it to the time by as much again.
const DRIFT: u64 = 250;
/// By so many microseconds more a reading may contradict those before it: clocks are set by small steps, too.
const STEP_MAX: i64 = 2_000;

/// A time by the clock of the store, in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoreTime(i64);

impl StoreTime {
    /// Wraps microseconds since 1970.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns microseconds since 1970.
    #[must_use]
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the time so much later, in whole microseconds, rounded down.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }

    /// Returns the time so much earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(micros(duration)))
    }

    /// Returns how much later this time is than `earlier`; zero when it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        between(earlier.0, self.0)
    }
}

impl From<Timestamp> for StoreTime {
    fn from(told: Timestamp) -> Self {
        Self(told.as_millis().saturating_mul(1_000))
    }
}

/// A time by the clock of a runner that nobody sets and that goes on while its machine sleeps, in microseconds since any start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunnerTime(i64);

impl RunnerTime {
    /// Wraps the time since the start.
    #[must_use]
    pub fn since_start(duration: Duration) -> Self {
        Self(micros(duration))
    }

    /// Returns the time so much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }

    /// Returns how much later this time is than `earlier`; zero when it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        between(earlier.0, self.0)
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn between(earlier: i64, later: i64) -> Duration {
    Duration::from_micros(u64::try_from(later.saturating_sub(earlier)).unwrap_or(0))
}

/// One reading of the store's clock: the store has told its time between two moments of the runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSample {
    /// When it was asked.
    pub asked: RunnerTime,
    /// What it said, cut to whole milliseconds.
    pub told: Timestamp,
    /// When that was heard.
    pub heard: RunnerTime,
}

/// Between what bounds the time of the store lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreClock {
    /// When this was so.
    at: RunnerTime,
    /// By so much the store's clock is ahead of the runner's at least, in microseconds.
    least: i64,
    /// And at most.
    most: i64,
}

impl StoreClock {
    /// Returns what one reading says.
    #[must_use]
    pub fn of(sample: ClockSample) -> Self {
        let told = StoreTime::from(sample.told).0;
        Self {
            at: sample.heard,
            // The runner's own readings are cut to whole microseconds.
            least: told.saturating_sub(sample.heard.0).saturating_sub(1),
            most: told
                .saturating_add(TOLD_WITHIN)
                .saturating_sub(sample.asked.0),
        }
    }

    /// Returns what one more reading leaves of it, and whether one of the clocks was set in between: nothing that was known before
    /// holds then.
    #[must_use]
    pub fn and(self, sample: ClockSample) -> (Self, bool) {
        let alone = Self::of(sample);
        let sway = self.sway(sample.heard);
        let least = alone.least.max(self.least.saturating_sub(sway));
        let most = alone.most.min(self.most.saturating_add(sway));
        match least.saturating_sub(most) {
            // A clock that is slewed faster than is common, or set by little.
            1.. if least.saturating_sub(most) <= STEP_MAX => (alone, false),
            1.. => (alone, true),
            _ => (
                Self {
                    at: sample.heard,
                    least,
                    most,
                },
                false,
            ),
        }
    }

    /// Returns the earliest that it may be by the store's clock.
    #[must_use]
    pub fn earliest(&self, at: RunnerTime) -> StoreTime {
        let ahead = self.least.saturating_sub(self.sway(at));
        StoreTime(at.0.saturating_add(ahead))
    }

    /// Returns the latest that it may be.
    #[must_use]
    pub fn latest(&self, at: RunnerTime) -> StoreTime {
        let ahead = self.most.saturating_add(self.sway(at));
        StoreTime(at.0.saturating_add(ahead))
    }

    /// Returns how far apart these are.
    #[must_use]
    pub fn width(&self, at: RunnerTime) -> Duration {
        self.latest(at).since(self.earliest(at))
    }

    /// Returns when it is certainly that late by the store's clock.
    #[must_use]
    pub fn surely(&self, time: StoreTime) -> RunnerTime {
        let at = RunnerTime(time.0.saturating_sub(self.least));
        RunnerTime(at.0.saturating_add(self.sway(at)))
    }

    /// Returns how far the clocks may have drifted apart by then, in microseconds.
    fn sway(&self, at: RunnerTime) -> i64 {
        let passed = at.0.abs_diff(self.at.0);
        let drifted = u128::from(passed) * u128::from(DRIFT);
        i64::try_from(drifted.div_ceil(1_000_000)).unwrap_or(i64::MAX)
    }
}
