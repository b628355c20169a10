//! The errors of a store.

use std::sync::Arc;

/// Why a store did not read or write.
///
/// Every store uses these variants, so that the journal decides by the variant alone.
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
    /// Another writer was faster: what was read is outdated, and the decision must be made again.
    #[error("{what}")]
    DecideAgain {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// Others use the store, and did not finish within the wait.
    #[error("{what}")]
    Busy {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// The disk or the database has no room left.
    #[error("{what}")]
    Full {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// The stored data is damaged: it cannot be read back as it was written.
    #[error("{what}")]
    Damaged {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// A value was read that no release writes.
    #[error("the journal holds what no release wrote: {what}")]
    Corrupt {
        /// The value, and what was expected in its place.
        what: Arc<str>,
    },
    /// A later release has changed the schema, so that this release can no longer use it.
    #[error("{what}")]
    Outdated {
        /// Which releases can.
        what: Arc<str>,
    },
    /// The connection to the store ended or no longer answers: the transaction under way was not committed.
    #[error("{what}")]
    ConnectionLost {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// It is unknown whether the transaction was committed.
    #[error("{what}")]
    OutcomeUnknown {
        /// In the words of the store.
        what: Arc<str>,
    },
    /// Any other failure.
    #[error("{what}")]
    Fault {
        /// In the words of the store.
        what: Arc<str>,
    },
}

/// What is said of a server that was promoted, restored or replaced under the hands of whoever uses it.
pub(super) fn replaced(how: &str) -> String {
    format!(
        "the server of the journal was promoted, restored or replaced while this command was at work, and may lack what was written \
         last ({how}). Repeat the command: it asks the gateway before it posts"
    )
}

impl Error {
    /// A value that no release wrote.
    pub fn corrupt(what: impl Into<Arc<str>>) -> Self {
        Self::Corrupt { what: what.into() }
    }

    /// Its server was promoted, restored or replaced under the hands of whoever uses it; `how` it shows.
    #[must_use]
    pub fn replaced(how: &str) -> Self {
        Self::Fault {
            what: replaced(how).into(),
        }
    }
}
