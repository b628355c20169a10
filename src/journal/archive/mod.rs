//! One batch as a journal of its own, for an archive: which rows it gets, how it is copied, and how it is opened.
//!
//! Rows keep their numbers; with others the chain of evidence would not verify.

pub(super) mod copy;
pub(super) mod facts;
pub(super) mod opened;
pub(super) mod signed;
mod tables;
