//! The clock of a run.

use std::time::{Duration, Instant};

use governor::clock::Clock as Pace;

use crate::domain::Timestamp;

/// Monotonic time as the runtime tells it: the waits and the reading agree, also where time is simulated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Monotonic;

impl Pace for Monotonic {
    type Instant = Instant;

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }
}

/// Wall time at the start, monotonic time since: a clock that is set meanwhile shortens no wait and causes no post.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Timestamp,
    started: Instant,
}

impl Clock {
    /// Starts a clock at the wall's time.
    #[must_use]
    pub fn start() -> Self {
        Self::started_at(Timestamp::now())
    }

    /// Starts a clock at another time.
    #[must_use]
    pub fn started_at(wall: Timestamp) -> Self {
        Self {
            wall,
            started: Monotonic.now(),
        }
    }

    fn elapsed(&self) -> Duration {
        Monotonic.now().saturating_duration_since(self.started)
    }

    /// Returns the time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.wall.after(self.elapsed())
    }

    /// Returns the monotonic instant of a time.
    #[must_use]
    pub fn instant(&self, at: Timestamp) -> Instant {
        // A day is further ahead than any wait between two looks at the clock.
        self.started
            + at.since(self.wall)
                .min(self.elapsed() + Duration::from_secs(86_400))
    }
}
