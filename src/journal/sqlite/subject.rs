//! A payment in the middle of a transaction.

use crate::journal::Moved;

/// A payment in the middle of a transaction.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(Debug, PartialEq))]
pub(super) struct Subject {
    pub(super) batch_id: i64,
    /// Its row has other generations: it is a retry, or has one.
    pub(super) has_generations: bool,
    /// How many callbacks about it are stored, where that is known.
    pub(super) callbacks: Option<i64>,
    pub(super) moved: Moved,
}
