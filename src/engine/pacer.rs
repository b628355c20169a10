//! How fast payments leave.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock as _;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

use super::clock::Monotonic;
use crate::domain::Rate;

const SECOND: Duration = Duration::from_secs(1);
/// By so much more unevenly than they passed, requests may arrive.
const UNEVEN: Duration = Duration::from_millis(10);

/// A rate limit that holds over every window of one second.
///
/// Requests are what passes: `rate / packets` a second, each with room for `packets` payments. Were payments let pass
/// one by one, a request would have to wait until a whole one had gathered, and the sum of the two would be beyond the
/// rate.
///
/// A leaky bucket of burst `b` and refill `r` lets at most `b + r − 1` requests pass in a second. A burst of one would
/// lose time to the timer's granularity at high rates, so the burst is one more for every 200 requests a second, and
/// the refill is lowered by as much. It is lowered by one more for every 250, for requests that arrive closer together than
/// they passed: a busy machine holds one up for some milliseconds, and not the next. In all that is less than 1 %. Below 250
/// requests a second there is none to leave out, and the refill of a second takes ten milliseconds longer instead.
#[derive(Debug)]
pub struct Pacer {
    limiter: RateLimiter<NotKeyed, InMemoryState, Monotonic>,
    clock: Monotonic,
    packets: usize,
}

impl Pacer {
    /// Makes a pacer for requests of up to `packets` payments; more than the rate are taken as the rate.
    #[must_use]
    pub fn new(rate: Rate, packets: usize) -> Self {
        let packets = packets.clamp(1, rate.get() as usize);
        let requests = rate.get() / u32::try_from(packets).unwrap_or(u32::MAX);
        let (more, spare) = (requests / 200, requests / 250);
        let refill = NonZeroU32::new(requests - more - spare).unwrap_or(NonZeroU32::MIN);
        let burst = NonZeroU32::MIN.saturating_add(more);
        let second = match spare {
            0 => SECOND + UNEVEN,
            _ => SECOND,
        };
        // Never zero: a second holds more nanoseconds than requests.
        let quota = Quota::with_period(second / refill.get())
            .unwrap_or(Quota::per_second(refill))
            .allow_burst(burst);
        Self {
            limiter: RateLimiter::direct_with_clock(quota, Monotonic),
            clock: Monotonic,
            packets,
        }
    }

    /// Returns the most payments that one request may carry.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Lets a request pass, or says how long to wait.
    ///
    /// # Errors
    /// The wait until it may pass.
    pub fn pass(&self) -> Result<(), Duration> {
        self.limiter
            .check()
            .map_err(|not_until| not_until.wait_time_from(self.clock.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    // What fits into a second may be held up by ten milliseconds, and what comes next not: it is another second by then.
    #[test]
    fn requests_that_are_held_up_for_a_moment_stay_within_the_rate() {
        for (rate, packets) in [(1, 1), (4, 1), (40, 10), (50, 20), (120, 1), (240, 1)] {
            let pacer = Pacer::new(Rate::per_second(rate).unwrap(), packets);
            let started = Instant::now();
            for _ in 0..=rate as usize / packets {
                while let Err(wait) = pacer.pass() {
                    std::thread::sleep(wait);
                }
            }
            let within = started.elapsed();
            assert!(
                within >= Duration::from_millis(1_009),
                "{rate}/s, {packets} a request: one more than the rate within {within:?}"
            );
        }
    }

    #[test]
    fn no_window_of_a_second_holds_more_than_the_rate() {
        for (rate, packets) in [(50, 1), (400, 1), (3000, 1), (200, 20), (50, 20), (30, 30)] {
            let pacer = Pacer::new(Rate::per_second(rate).unwrap(), packets);
            let started = Instant::now();
            let mut passed = Vec::new();
            while started.elapsed() < Duration::from_millis(1600) {
                match pacer.pass() {
                    Ok(()) => passed.extend(std::iter::repeat_n(started.elapsed(), packets)),
                    Err(wait) => std::thread::sleep(wait),
                }
            }
            // The stamp is taken just after the pass, so the window is a little shorter than a second.
            let window = Duration::from_millis(995);
            for (index, first) in passed.iter().enumerate() {
                let within = passed[index..]
                    .iter()
                    .take_while(|at| **at < *first + window)
                    .count();
                assert!(
                    within <= rate as usize,
                    "{rate}/s, {packets} a request: {within} in a second"
                );
            }
            assert!(
                passed.len() as f64 > f64::from(rate) * 1.1,
                "{rate}/s: only {} passed",
                passed.len()
            );
        }
    }
}
