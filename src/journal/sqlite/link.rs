//! A row that takes the place of another one.

use crate::domain::{Currency, PayerTransactionId};

/// A payment that failed, and the one that is paid instead.
pub(super) struct Link {
    pub(super) batch_number: i64,
    pub(super) lane: i64,
    pub(super) seq: i64,
    pub(super) new: i64,
    pub(super) id: PayerTransactionId,
    /// Their amounts.
    pub(super) minors: (i64, i64),
    pub(super) currency: Currency,
}
