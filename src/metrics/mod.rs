//! Figures for a monitoring system: counted where things happen, read from the journal when somebody asks.
//!
//! Counting is an atomic addition, and what a scrape reads it reads beside the run, at most once a second: no payment waits
//! for it. Nobody is named in a label, and there are only so many of them.

mod journal;
mod metered;
mod names;
mod registry;
mod scraped;
mod serve;

pub use metered::{GatewayMeter, Metered};
pub use registry::{Metrics, RunFigures};
pub use serve::serve;
