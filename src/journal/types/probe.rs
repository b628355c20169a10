//! What a probe of a gateway's check for duplicates leaves in the journal.

use std::sync::Arc;

use crate::domain::{Payment, Timestamp};
use crate::ledger::duplicate_check::{DuplicateCheck, NotProbed};

/// What a gateway made of one identifier that was posted twice on purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateProbe {
    /// The batch of the payment.
    pub batch: String,
    /// When the answer came.
    pub at: Timestamp,
    /// What it showed.
    pub check: DuplicateCheck,
    /// The status code of the answer.
    pub code: Option<i32>,
}

/// Whether the one payment of a batch is to be posted a second time.
#[derive(Clone, Debug)]
pub enum SecondPost {
    /// It is, and the intent is on record.
    Leaves {
        /// The payment.
        payment: Arc<Payment>,
        /// The document that its first post named.
        support_document: Option<String>,
    },
    /// It is not.
    Stays(NotProbed),
}
