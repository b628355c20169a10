//! The clock of a run.

use std::time::{Duration, Instant};

use crate::domain::Timestamp;

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
        Self {
            wall: Timestamp::now(),
            started: Instant::now(),
        }
    }

    /// Returns the time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.wall.after(self.started.elapsed())
    }

    /// Returns the monotonic instant of a time.
    #[must_use]
    pub fn instant(&self, at: Timestamp) -> Instant {
        // A day is further ahead than any wait between two looks at the clock.
        self.started
            + at.since(self.wall)
                .min(self.started.elapsed() + Duration::from_secs(86_400))
    }
}
