//! What people did to a batch.

use crate::domain::{Actor, Timestamp};

/// What somebody did to a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActRecord {
    /// When.
    pub at: Timestamp,
    /// The command: `load`, `run`, `retry`, `resolve`, `cancel`, `resume-lane`, `account-moved`.
    pub act: String,
    /// What it was done to, where that is not the whole batch: a file, a payment, a service.
    pub about: Option<String>,
    /// Why, in the words of whoever did it to a whole batch.
    pub reason: Option<String>,
    /// Who.
    pub by: Actor,
}
