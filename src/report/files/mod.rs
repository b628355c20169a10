//! The files of a report on disk: written aside, put in place together, and never over what is not ours.
//! Here is also why a report may not be written.

pub(super) mod error;
pub(super) mod output;
pub(super) mod own;
pub(super) mod owner;
pub(super) mod pages;
pub(super) mod writeback;
