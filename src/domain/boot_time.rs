//! The clock that nobody sets.

use std::time::Duration;

/// Two clocks that are read within this long are read at once.
#[cfg(target_os = "linux")]
const READ_WITHIN: Duration = Duration::from_millis(5);

/// How long the machine has been running, its sleep included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootTime {
    /// Which of its starts it counts from.
    boot: u128,
    millis: u64,
}

impl BootTime {
    /// Wraps a reading.
    #[must_use]
    pub fn from_parts(boot: u128, millis: u64) -> Self {
        Self { boot, millis }
    }

    /// Returns which start it counts from, and the milliseconds since.
    #[must_use]
    pub fn parts(self) -> (u128, u64) {
        (self.boot, self.millis)
    }

    /// Reads the clock; `None` where the system does not tell its starts apart.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn now() -> Option<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot = u128::from_str_radix(&boot.trim().replace('-', ""), 16).ok()?;
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let millis = u64::try_from(time.tv_sec).ok()?.checked_mul(1000)?
            + u64::try_from(time.tv_nsec).ok()? / 1_000_000;
        Some(Self { boot, millis })
    }

    /// Reads the clock; `None` where the system does not tell its starts apart.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn now() -> Option<Self> {
        None
    }

    /// Returns how long the machine has slept since its start.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn slept() -> Duration {
        use rustix::time::{ClockId, clock_gettime};
        let read = |id| {
            let time = clock_gettime(id);
            let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
            seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
        };
        // Whoever is stopped between the readings has not slept.
        loop {
            let (before, both, after) = (
                read(ClockId::Monotonic),
                read(ClockId::Boottime),
                read(ClockId::Monotonic),
            );
            if after.saturating_sub(before) < READ_WITHIN {
                return both.saturating_sub(before);
            }
        }
    }

    /// Returns how long the machine has slept since its start: not known here.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub fn slept() -> Duration {
        Duration::ZERO
    }

    /// Returns the reading of so long ago, or of the start.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self {
            millis: self.millis.saturating_sub(millis),
            ..self
        }
    }

    /// Returns the time since an earlier reading; `None` when it is of another start, or no earlier one.
    #[must_use]
    pub fn since(self, earlier: Self) -> Option<Duration> {
        let millis = self.millis.checked_sub(earlier.millis)?;
        (self.boot == earlier.boot).then_some(Duration::from_millis(millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_readings_of_one_start_can_be_compared() {
        let later = BootTime::from_parts(1, 5_000);
        let earlier = later.before(Duration::from_millis(1_500));
        assert_eq!(later.since(earlier), Some(Duration::from_millis(1_500)));
        assert_eq!(earlier.since(later), None);
        assert_eq!(later.since(BootTime::from_parts(2, 3_500)), None);
        assert_eq!(later.before(Duration::MAX), BootTime::from_parts(1, 0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_tells_its_uptime() {
        let first = BootTime::now().expect("Linux tells it");
        std::thread::sleep(Duration::from_millis(20));
        let passed = BootTime::now().and_then(|now| now.since(first));
        assert!(passed.is_some_and(|passed| passed >= Duration::from_millis(19)));
    }
}
