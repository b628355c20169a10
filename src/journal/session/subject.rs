//! A payment in the middle of a transaction.

use crate::domain::BatchId;
use crate::journal::Transition;

/// A payment in the middle of a transaction.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(in crate::journal) struct Subject {
    pub(in crate::journal) batch_id: BatchId,
    /// Its row has other generations: it is a retry, or has one.
    pub(in crate::journal) has_generations: bool,
    /// How many callbacks about it are stored, where that is known.
    pub(in crate::journal) callbacks: Option<i64>,
    pub(in crate::journal) moved: Transition,
}
