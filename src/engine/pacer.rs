//! How fast payments leave.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock as _, MonotonicClock};
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};

/// Payments per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(NonZeroU32);

impl Rate {
    /// Wraps a rate; `None` for zero.
    #[must_use]
    pub fn per_second(payments: u32) -> Option<Self> {
        NonZeroU32::new(payments).map(Self)
    }

    /// Returns payments per second.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0.get()
    }
}

/// A rate limit that holds over every window of one second.
///
/// A leaky bucket of burst `b` and refill `r` lets at most `b + r − 1` payments pass in a second. A burst of one would
/// lose time to the timer's granularity at high rates, so the burst is `1 + rate / 125` (or what one request carries,
/// when that is more), and the refill is lowered to `rate − (b − 1)`.
#[derive(Debug)]
pub struct Pacer {
    limiter: RateLimiter<NotKeyed, InMemoryState, MonotonicClock>,
    clock: MonotonicClock,
    burst: u32,
}

impl Pacer {
    /// Makes a pacer for requests of up to `packets` payments.
    #[must_use]
    pub fn new(rate: Rate, packets: usize) -> Self {
        let packets = u32::try_from(packets).unwrap_or(u32::MAX);
        let burst = (1 + rate.get() / 125).max(packets).clamp(1, rate.get());
        let refill = NonZeroU32::new(rate.get() - (burst - 1)).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_second(refill)
            .allow_burst(NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN));
        let clock = MonotonicClock;
        Self {
            limiter: RateLimiter::direct_with_clock(quota, MonotonicClock),
            clock,
            burst,
        }
    }

    /// Returns the most payments that can pass at once.
    #[must_use]
    pub fn burst(&self) -> usize {
        self.burst as usize
    }

    /// Lets `payments` pass, or says how long to wait. More than the burst is taken as the burst.
    ///
    /// # Errors
    /// The wait until they may pass.
    pub fn pass(&self, payments: usize) -> Result<(), Duration> {
        let wanted = u32::try_from(payments)
            .unwrap_or(u32::MAX)
            .clamp(1, self.burst);
        let wanted = NonZeroU32::new(wanted).unwrap_or(NonZeroU32::MIN);
        match self.limiter.check_n(wanted) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(not_until)) => Err(not_until.wait_time_from(self.clock.now())),
            // Not reached: the burst bounds what is asked for.
            Err(_) => Err(Duration::from_secs(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn no_window_of_a_second_holds_more_than_the_rate() {
        for (rate, packets) in [(50, 1), (400, 1), (3000, 1), (200, 20)] {
            let pacer = Pacer::new(Rate::per_second(rate).unwrap(), packets);
            let started = Instant::now();
            let mut passed = Vec::new();
            while started.elapsed() < Duration::from_millis(1600) {
                match pacer.pass(packets) {
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
                passed.len() as f64 > f64::from(rate) * 1.2,
                "{rate}/s: only {} passed",
                passed.len()
            );
        }
    }
}
