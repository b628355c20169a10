//! Who runs a batch, where several may do so at once.

use crate::domain::Timestamp;

/// The process that runs a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runner {
    /// The machine that it runs on.
    pub host: String,
    /// What a person calls it.
    pub name: String,
    /// Payments that it may post in a second.
    pub rate: u32,
    /// Payments that it may ask about in a second; 0: it asks within the limit of its posts.
    pub query_rate: u32,
}

/// A run that is under way on a journal that several runs share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerRecord {
    /// Who runs it.
    pub runner: Runner,
    /// The release of the program.
    pub release: String,
    /// Since when.
    pub began_at: Timestamp,
    /// Until when it may post, unless it asks again before.
    pub lease_until: Timestamp,
    /// Whether that was in time, by the clock of the store.
    pub is_expired: bool,
    /// Payments that it has claimed and of which no outcome is recorded.
    pub under_way: u64,
}
