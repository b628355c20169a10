//! Durable truth: the verbs of the journal, in domain types.
//!
//! [`Journal`] owns the one connection that writes, on a thread of its own. Its verbs are async; those that arrive together
//! share one transaction, and each returns only after that has been committed. [`Reader`] reads beside it.

mod beforehand;
mod bills;
mod error;
mod listed;
mod lock;
mod proof;
mod sqlite;
mod types;

pub use beforehand::*;
pub use bills::{
    BillCursor, BillFinding, BillOutcome, BillRecord, BillRow, BillsRecorded, TotalDifference,
    UnpricedRecord,
};
pub use error::{Error, Kind};
pub use listed::{ListedPayment, ListedRow};
pub use lock::RunLock;
pub use proof::{ChainHead, FINDINGS_SHOWN, Proof};
#[cfg(test)]
pub(crate) use sqlite::inline;
pub use sqlite::{Journal, Reader, Snapshot};
pub use types::*;
