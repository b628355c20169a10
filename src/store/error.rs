//! What a store says when it did not do what it was asked.

use std::sync::Arc;

/// Why a store did not read or write.
///
/// Every store says it in these words, so that what stands above them decides by the word alone.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A rule of the table forbids the write: a key that is there already, a row that never changes.
    #[error("{what}")]
    Refused {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// Another process has taken over: nothing more may be written.
    #[error("another process has taken over")]
    Fenced,
    /// Another writer was faster: what was read no longer holds, and the decision is to be made again.
    #[error("{what}")]
    DecideAgain {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// Others use it, and went on for longer than was waited.
    #[error("{what}")]
    Busy {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// There is no room left where it lies.
    #[error("{what}")]
    Full {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// What it holds cannot be read as what was written.
    #[error("{what}")]
    Damaged {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// A value is none that any release wrote.
    #[error("the journal holds what no release wrote: {what}")]
    Corrupt {
        /// The value, and what was to stand there.
        what: Arc<str>,
    },
    /// A later release has changed its form, so that this one cannot use it any more.
    #[error("{what}")]
    Outdated {
        /// Which releases can.
        what: Arc<str>,
    },
    /// The connection to the store ended, or answers no more: nothing of the transaction that was under way is there.
    #[error("{what}")]
    ConnectionLost {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// Whether the transaction was committed is not known.
    #[error("{what}")]
    OutcomeUnknown {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// Anything else that a store meets.
    #[error("{what}")]
    Fault {
        /// In the words of the store.
        what: Arc<str>,
    },
}

impl Error {
    /// A value that no release wrote.
    pub fn corrupt(what: impl Into<Arc<str>>) -> Self {
        Self::Corrupt { what: what.into() }
    }
}
