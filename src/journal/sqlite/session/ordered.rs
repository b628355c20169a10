//! What a transaction orders that people may have to sign for, until it is judged.

use std::sync::Arc;

use crate::domain::Timestamp;
use crate::ledger::approval::orders::OrderKind;
use crate::ledger::approval::rule::Rule;

/// An order that the transaction has carried out.
#[derive(Clone, Debug)]
pub(in crate::journal::sqlite) struct GivenOrder {
    /// About which batch.
    pub(in crate::journal::sqlite) batch_id: i64,
    /// When.
    pub(in crate::journal::sqlite) at: Timestamp,
    /// Which.
    pub(in crate::journal::sqlite) kind: OrderKind,
    /// As the evidence names it.
    pub(in crate::journal::sqlite) act: &'static str,
    /// What it is done to, or how.
    pub(in crate::journal::sqlite) about: String,
    /// Digest of the identifiers of its payments.
    pub(in crate::journal::sqlite) content: String,
    /// How many they are.
    pub(in crate::journal::sqlite) payments: u64,
}

/// The orders of a transaction, and under which rule they were given.
#[derive(Debug, Default)]
pub(in crate::journal::sqlite) struct Ordered {
    /// The rule of now, as whoever orders has it.
    pub(in crate::journal::sqlite) configured: Option<Arc<Rule>>,
    /// Nothing is carried out: who asks wants to know what would be signed.
    pub(in crate::journal::sqlite) is_proposed: bool,
    /// One after another.
    pub(in crate::journal::sqlite) given: Vec<GivenOrder>,
}
