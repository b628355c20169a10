//! The page for a browser: what it says, read from the journal beside whoever writes. `serve` and `run --page` begin it.

mod batch;
mod batches;
mod reading;
mod rows;
mod saved;
mod source;
mod start;

pub(in crate::cli) use start::{Watched, start};
