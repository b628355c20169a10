//! Notices, on their way to somebody elsewhere.

use crate::domain::{BatchName, Timestamp};
use crate::ledger::notices::{Condition, Told};

/// Something that is so, and what a notice of it would say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNotice {
    /// What is so.
    pub condition: Condition,
    /// What is said of it, as a JSON object.
    pub data: String,
}

/// What is on record of the notices of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoticeBatch {
    /// What was told, the newest last.
    pub told: Vec<Told>,
    /// It was seen unfinished, and its end was not told since.
    pub was_open: bool,
}

/// What is to be delivered next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextNotice {
    /// Nothing waits.
    Nothing,
    /// The next one is tried then at the earliest; those behind it wait for it.
    NotBefore(Timestamp),
    /// This one. Until its lease is over nobody else is given it.
    Deliver {
        /// What the receiver knows it by.
        id: String,
        /// As it is sent.
        body: String,
        /// Attempts so far, this one included.
        attempts: u32,
    },
}

/// A notice that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeWaiting {
    /// What the receiver knows it by.
    pub id: String,
    /// Its batch.
    pub batch: BatchName,
    /// What it tells.
    pub kind: String,
    /// The service that it is about; empty: the whole batch.
    pub subject: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// Attempts so far.
    pub attempts: u32,
    /// What the last attempt met.
    pub trouble: Option<String>,
}

/// The notices that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoticesWaiting {
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub first: Vec<NoticeWaiting>,
}
