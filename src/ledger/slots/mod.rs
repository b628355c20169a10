//! The rate of an account over many runners on many hosts: slots to leave in, in the time of the store that they share.
//!
//! A row of the store says when the next request may leave. Whoever runs a batch is granted slots from there on ([`grant()`]), some
//! way ahead and each so long after the one before that the rate holds however late, within a [`Spread`], each request leaves.
//! It maps the time of the store to its own clock ([`StoreClock`]) and lets a request pass in each slot ([`Turns`]); one that was
//! missed is void.
//!
//! Why no window of a second holds more than the rate: take the first and the last slot whose requests arrive within one. The first
//! is no earlier than the window less the spread, the last one lies before the end of the window, so that less than a second and a
//! spread lies between them; and where more than the rate leaves from one slot to another, [`grant()`] leaves no less than a second
//! and a spread. Where runners have different spreads, that of the first slot counts: whoever has a lesser one keeps to the greatest
//! of those ([`Lateness`]) of which a slot may lie in one window with its own.

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
