//! Compares the tables with the chain of evidence: whole batches when a person asks, a block of payments before it is claimed.

pub(super) mod checks;
pub(super) mod intact;
pub(super) mod one_payment;
mod places;
pub(super) mod prove;
