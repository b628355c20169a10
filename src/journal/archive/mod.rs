//! One batch as a journal of its own, for an archive: which rows go along, the copy, and what it is opened as.
//!
//! Numbers stay as they are, or the chain of evidence would not verify.

pub(super) mod copy;
pub(super) mod facts;
pub(super) mod opened;
pub(super) mod signed;
mod tables;
