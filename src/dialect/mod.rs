//! How a deployment's wire differs from the interface document, as data. The client and the sandbox both read it; it contains the
//! code of neither.
//!
//! [`keys()`] lists every key of a dialect with the document's value. [`build()`] makes a [`Dialect`] from the values that a file
//! sets, or returns which of them contradict each other.

mod build;
mod contradictions;
mod digest;
mod extra;
mod keys;
mod members;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub(crate) mod samples;
#[cfg(test)]
mod tests;
mod types;

pub use build::{ALIKE, Values, build};
pub use contradictions::Problem;
pub use keys::{Key, Kind, find, is_table, keys};
pub use members::{LEAVABLE, MEMBERS, Names, OWN_EXTRA, Place};
pub use types::{
    Acknowledgement, AcknowledgementForm, Affects, Algorithm, Authentication, Beside, Call,
    Callbacks, Dialect, EmptyExtra, Encoding, ExtraType, Header, Method, Operation, Replies,
    Signing,
};
