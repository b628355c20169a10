//! A row that takes the place of another one.

use crate::domain::{BatchId, Currency, LaneId, PayerTransactionId, PaymentId};

/// A payment that failed, and the one that is paid instead.
pub(in crate::journal) struct Link {
    pub(in crate::journal) batch_number: BatchId,
    pub(in crate::journal) lane: LaneId,
    pub(in crate::journal) seq: PaymentId,
    pub(in crate::journal) new: PaymentId,
    pub(in crate::journal) id: PayerTransactionId,
    /// Their amounts.
    pub(in crate::journal) minors: (i64, i64),
    pub(in crate::journal) currency: Currency,
}
