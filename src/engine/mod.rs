//! Runs a batch: posts what is ready, asks about what is unknown, waits for the rest.
//!
//! [`Core`] decides as a pure state machine: it takes what happened and the time, and returns what to do. [`run`] does it.

mod acquire;
mod breaker;
mod clock;
mod core;
mod exchange;
mod findings;
mod granted;
mod lease;
mod message;
mod pace;
mod pacer;
mod plan;
mod progress;
mod repeats;
mod rest;
mod run;
mod senders;
mod standstill;
#[cfg(test)]
mod tests;

pub use self::core::{Core, Effect, Ending, EngineInput, Limits};
pub use breaker::{Breaker, Gate};
pub use clock::Clock;
pub use pace::Pacing;
pub use pacer::Pacer;
pub use plan::{Plan, Run, Summary};
pub use progress::{Awaited, Progress};
pub use run::run;
