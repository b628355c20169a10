//! The pulse of the program: by it a standstill shows, of the program or of its machine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a pulse holds after a standstill, until somebody has looked around.
const STOPPED: u64 = u64::MAX;
/// What it holds before it begins to beat.
const UNWATCHED: u64 = u64::MAX - 1;

/// Beats while the program runs. A beat that comes late is none: the standstill shows until [`Self::resume`].
pub struct Pulse {
    /// Milliseconds, by a clock that goes on while the machine sleeps.
    read: Box<dyn Fn() -> u64 + Send + Sync>,
    beats: bool,
    longest: Duration,
    last: AtomicU64,
    /// Milliseconds, by the clock that leases are counted by: it goes on while the machine sleeps, too.
    time: Box<dyn Fn() -> u64 + Send + Sync>,
    /// When the lease is over.
    over_at: AtomicU64,
}

impl Pulse {
    /// Makes a pulse that begins to beat with [`Self::resume`]. A silence that is longer than `longest` is a standstill.
    #[must_use]
    pub fn of_machine(longest: Duration) -> Self {
        Self {
            beats: true,
            ..Self::by(machine_time, longest).leased_by(machine_time)
        }
    }

    /// Counts leases by a clock.
    #[must_use]
    pub fn leased_by(self, time: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self {
            time: Box::new(time),
            ..self
        }
    }

    /// The same by another clock, which stands still unless the program does.
    #[must_use]
    pub fn by(read: impl Fn() -> u64 + Send + Sync + 'static, longest: Duration) -> Self {
        Self {
            read: Box::new(read),
            beats: false,
            longest,
            last: AtomicU64::new(UNWATCHED),
            time: Box::new(|| 0),
            over_at: AtomicU64::new(u64::MAX),
        }
    }

    /// A pulse by which nothing ever stands still.
    #[must_use]
    pub fn steady() -> Self {
        Self::by(|| 0, Duration::MAX)
    }

    /// Returns whether somebody is to let it beat.
    #[must_use]
    pub fn beats(&self) -> bool {
        self.beats
    }

    /// Reads the clock that leases are counted by.
    #[must_use]
    pub fn time(&self) -> u64 {
        (self.time)()
    }

    /// Gives the program a lease: beyond it, whatever beats, it counts as one that stands still.
    pub fn lease(&self, over_at: u64) {
        self.over_at.store(over_at, Ordering::Release);
    }

    /// Returns whether the lease is over, where the program has one.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over_at.load(Ordering::Acquire) <= self.time()
    }

    /// Returns for how long the program has not been seen to run.
    #[must_use]
    pub fn silence(&self) -> Duration {
        if self.is_over() {
            return Duration::MAX;
        }
        match self.last.load(Ordering::Acquire) {
            STOPPED => Duration::MAX,
            UNWATCHED => Duration::ZERO,
            last => Duration::from_millis((self.read)().saturating_sub(last)),
        }
    }

    /// Beats. After a standstill this does nothing.
    pub fn beat(&self) {
        let now = (self.read)();
        let _ = self
            .last
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| {
                if matches!(last, STOPPED | UNWATCHED) {
                    return None;
                }
                let silence = Duration::from_millis(now.saturating_sub(last));
                Some(if silence > self.longest {
                    STOPPED
                } else {
                    now.max(last)
                })
            });
    }

    /// Begins to look around: the reading that [`Self::ago`] and [`Self::resume`] take.
    #[must_use]
    pub fn look(&self) -> u64 {
        (self.read)()
    }

    /// Returns how long ago that was.
    #[must_use]
    pub fn ago(&self, look: u64) -> Duration {
        Duration::from_millis((self.read)().saturating_sub(look))
    }

    /// Beats from then on, or again: what was seen then holds.
    pub fn resume(&self, look: u64) {
        self.last.store(look, Ordering::Release);
    }
}

impl std::fmt::Debug for Pulse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pulse")
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

/// Milliseconds since the machine was started, its sleep included.
#[cfg(target_os = "linux")]
fn machine_time() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Milliseconds since the first reading. A sleep of the machine may not count.
#[cfg(not(target_os = "linux"))]
fn machine_time() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let passed = START.get_or_init(std::time::Instant::now).elapsed();
    u64::try_from(passed.as_millis()).unwrap_or(UNWATCHED - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(1_000) };
    }

    fn pulse() -> Pulse {
        NOW.set(1_000);
        Pulse::by(|| NOW.get(), Duration::from_secs(2))
    }

    #[test]
    fn a_late_beat_shows_until_somebody_has_looked_around() {
        let pulse = pulse();
        NOW.set(9_000);
        pulse.beat();
        assert_eq!(pulse.silence(), Duration::ZERO, "it has not begun");
        pulse.resume(pulse.look());
        for _ in 0..10 {
            NOW.set(NOW.get() + 2_000);
            assert_eq!(pulse.silence(), Duration::from_secs(2));
            pulse.beat();
            assert_eq!(pulse.silence(), Duration::ZERO);
        }
        NOW.set(NOW.get() + 2_001);
        assert_eq!(
            pulse.silence(),
            Duration::from_millis(2_001),
            "before the first beat"
        );
        for _ in 0..3 {
            pulse.beat();
            assert_eq!(pulse.silence(), Duration::MAX, "and after it");
        }
        let look = pulse.look();
        NOW.set(NOW.get() + 500);
        assert_eq!(pulse.ago(look), Duration::from_millis(500));
        pulse.resume(look);
        assert_eq!(pulse.silence(), Duration::from_millis(500));
        pulse.beat();
        assert_eq!(pulse.silence(), Duration::ZERO);
    }

    #[test]
    fn whatever_beats_a_program_stands_still_once_its_lease_is_over() {
        thread_local! {
            static TIME: Cell<u64> = const { Cell::new(5) };
        }
        let pulse = pulse().leased_by(|| TIME.get());
        pulse.resume(pulse.look());
        assert_eq!(pulse.silence(), Duration::ZERO, "it has none");
        pulse.lease(8);
        for (time, silence) in [(7, Duration::ZERO), (8, Duration::MAX)] {
            TIME.set(time);
            pulse.beat();
            assert_eq!(pulse.silence(), silence, "{time}");
        }
        pulse.lease(9);
        assert_eq!(pulse.silence(), Duration::ZERO, "it has another one");
        assert!(!pulse.is_over());
    }

    #[test]
    fn the_machine_tells_its_time_and_a_steady_pulse_needs_none() {
        let pulse = Pulse::of_machine(Duration::from_secs(60));
        pulse.resume(pulse.look());
        assert!(machine_time() > 0);
        assert!(pulse.silence() < Duration::from_secs(60));
        assert_eq!(Pulse::steady().silence(), Duration::ZERO);
    }
}
