//! What a ledger says when it is asked.

use std::sync::Arc;

use crate::domain::{Currency, Money, Totals};

/// Where an identifier stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Posted, and nothing came of it.
    Unknown,
    /// Last refused with this code; free to be posted again.
    Refused(u16),
    /// Accepted, not settled.
    Pending,
    /// RTGS: with the bank, not settled.
    Delivered,
    /// Settled: the money moved.
    Paid,
    /// Settled as rejected (141) or failed (180): no money moved.
    Failed(u16),
}

impl Standing {
    /// Returns the code that a status query answers.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            // Nothing is kept of a post that found no float.
            Self::Unknown | Self::Refused(230) => 143,
            Self::Refused(code) | Self::Failed(code) => code,
            Self::Pending => 139,
            Self::Paid => 140,
            Self::Delivered => 148,
        }
    }

    /// Returns the word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Refused(_) => "refused",
            Self::Pending => "pending",
            Self::Paid => "paid",
            Self::Delivered => "delivered",
            Self::Failed(_) => "failed",
        }
    }
}

/// The sum of a ledger: the first four counts name every identifier that was posted once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Identifiers whose money moved once.
    pub executed_once: u64,
    /// Identifiers whose money moved twice or more.
    pub executed_more: u64,
    /// Identifiers that were posted and whose money never moved.
    pub never_executed: u64,
    /// Identifiers accepted, not settled, and not executed before.
    pub pending: u64,
    /// Identifiers that were posted again with other bytes.
    pub altered: u64,
    /// Posts that arrived, repeats included.
    pub posts: u64,
    /// The money that moved, repeats included.
    pub amounts: Totals,
}

/// One identifier's line in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// `payerTransactionID`.
    pub id: Arc<str>,
    /// `serviceCode`, once accepted.
    pub service: Option<Arc<str>>,
    /// What was to be paid, once accepted.
    pub money: Option<Money>,
    /// How often the money moved.
    pub executions: u32,
    /// How often it was posted.
    pub posts: u32,
    /// Whether a repeated post carried other bytes than the first.
    pub altered: bool,
    /// Where it stands.
    pub standing: Standing,
}

/// The float account of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloatAccount {
    /// The service's code.
    pub service: String,
    /// The account's currency.
    pub currency: Currency,
    /// What is in the account, as decimal text.
    pub balance: String,
    /// What is left for further payments, as decimal text: what a float query answers.
    pub available: String,
    /// How much of the balance is promised to accepted payments, as decimal text.
    pub reserved: String,
    /// How many payments were accepted.
    pub accepted: u64,
    /// Whether a planned shortage is on.
    pub short: bool,
}
