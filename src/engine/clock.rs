//! The clock of a run.

use std::time::{Duration, Instant};

use governor::clock::Clock as Pace;

use crate::domain::{BootTime, Timestamp};
use crate::journal::{Error, Journal};
use crate::ledger::slots::RunnerTime;

/// What reads as a shorter sleep is the time between two readings.
const ASLEEP_LEAST: Duration = Duration::from_millis(10);

/// A journal tells the time within so long, or is asked again, so often at most.
const READS_WITHIN: Duration = Duration::from_millis(500);
const READINGS_MAX: u32 = 10;

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
///
/// The sleep of the machine counts: what was heard before it is as old as it is for everybody else.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Timestamp,
    started: Instant,
    /// How long the machine had slept by then.
    slept: Duration,
    /// It began at the time of the machine's clock.
    follows_machine: bool,
    /// The machine's uptime at the start, where time is simulated.
    #[cfg(test)]
    machine: Option<BootTime>,
}

impl Clock {
    /// Starts a clock at the wall's time.
    #[must_use]
    pub fn start() -> Self {
        Self {
            follows_machine: true,
            ..Self::started_at(Timestamp::now())
        }
    }

    /// Starts a clock at the time of a journal that several machines share.
    ///
    /// # Errors
    /// Where the journal cannot tell; [`Error::NoTime`] where it takes too long each time, and its word is from nobody knows when.
    pub async fn of_store(journal: &Journal) -> Result<Self, Error> {
        for _ in 0..READINGS_MAX {
            let asked = Self::started_at(Timestamp::from_millis(0));
            let now = journal.now().await?;
            // The program may have stood still since.
            if asked.elapsed() <= READS_WITHIN {
                return Ok(Self::started_at(now));
            }
        }
        Err(Error::NoTime)
    }

    /// Starts a clock at another time.
    #[must_use]
    pub fn started_at(wall: Timestamp) -> Self {
        Self {
            wall,
            started: Monotonic.now(),
            slept: BootTime::slept(),
            follows_machine: false,
            #[cfg(test)]
            machine: None,
        }
    }

    /// Lets the machine's uptime pass with the runtime's time.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn on(self, machine: BootTime) -> Self {
        Self {
            machine: Some(machine),
            ..self
        }
    }

    /// Reads the clock that nobody sets; `None` where there is none.
    #[must_use]
    pub fn uptime(&self) -> Option<BootTime> {
        #[cfg(test)]
        if let Some(machine) = self.machine {
            let (boot, millis) = machine.parts();
            let passed = u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX);
            return Some(BootTime::from_parts(boot, millis.saturating_add(passed)));
        }
        BootTime::now()
    }

    fn elapsed(&self) -> Duration {
        let awake = Monotonic.now().saturating_duration_since(self.started);
        let asleep = BootTime::slept().saturating_sub(self.slept);
        awake
            + if asleep < ASLEEP_LEAST {
                Duration::ZERO
            } else {
                asleep
            }
    }

    /// Returns the time since its start, as slots to leave in are mapped to it.
    #[must_use]
    pub(super) fn running(&self) -> RunnerTime {
        RunnerTime::since_start(self.elapsed())
    }

    /// Returns the time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.wall.after(self.elapsed())
    }

    /// Returns the time that the machine's clock shows, whoever has set it meanwhile.
    #[must_use]
    pub fn of_machine(&self) -> Timestamp {
        #[cfg(test)]
        if self.machine.is_some() {
            return self.now();
        }
        match self.follows_machine {
            true => Timestamp::now(),
            false => self.now(),
        }
    }

    /// Returns the monotonic instant of a time.
    #[must_use]
    pub fn instant(&self, at: Timestamp) -> Instant {
        // A day is further ahead than any wait between two looks at the clock.
        let (elapsed, at) = (self.elapsed(), at.since(self.wall));
        let ahead = at.saturating_sub(elapsed).min(Duration::from_secs(86_400));
        let behind = elapsed.saturating_sub(at);
        let now = Monotonic.now() + ahead;
        now.checked_sub(behind).unwrap_or(self.started)
    }
}
