//! pain.002: the answer to a pain.001 message, as whoever sent it reads it.
//!
//! ```text
//! status (one table: what our states are there, and why) -> document (the elements in the order of the schema, streamed)
//! ```

mod document;
mod status;

pub use document::{Answer, Answered, StatusReport};
pub use status::{Counts, TransferStatus, reason_of, status_of};
