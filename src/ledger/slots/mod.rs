//! Keeps the rate of one account over many runners on many hosts: each request leaves in a slot, in the time of the shared store.
//!
//! A row of the store says when the next request may leave. A runner is granted slots from there on ([`grant()`]), some way ahead.
//! Slots are so far apart that the rate holds even if each request leaves late, by up to a [`Spread`]. The runner maps the time of
//! the store to its own clock ([`StoreClock`]) and lets one request pass in each slot ([`Turns`]); a missed slot is void.
//!
//! Why no window of a second holds more than the rate: take the first and the last slot whose requests arrive within one window. The
//! first lies at most a spread before the window, the last before its end, so that less than a second and a spread lies between them.
//! But between two slots from which more than the rate leaves, [`grant()`] leaves at least a second and a spread. If runners have
//! different spreads, that of the first slot counts: a runner with a smaller one keeps to the greatest spread ([`Lateness`]) whose
//! slots may lie in the same window as its own.

mod clock;
mod grant;
mod lateness;
mod spread;
#[cfg(test)]
mod tests;
mod turns;

pub use clock::{ClockSample, RunnerTime, StoreClock, StoreTime};
pub use grant::{Granted, Paced, Runners, SlotRequest, SlotRow, Slots, Turn, grant};
pub use lateness::Lateness;
pub use spread::Spread;
pub use turns::{SlotWait, Turns};
