//! A row that takes the place of another one.

use crate::domain::{BatchId, Currency, LaneId, PayerTransactionId, PaymentId};

/// A payment that failed, and the one that is paid instead.
pub(in crate::journal::sqlite) struct Link {
    pub(in crate::journal::sqlite) batch_number: BatchId,
    pub(in crate::journal::sqlite) lane: LaneId,
    pub(in crate::journal::sqlite) seq: PaymentId,
    pub(in crate::journal::sqlite) new: PaymentId,
    pub(in crate::journal::sqlite) id: PayerTransactionId,
    /// Their amounts.
    pub(in crate::journal::sqlite) minors: (i64, i64),
    pub(in crate::journal::sqlite) currency: Currency,
}
