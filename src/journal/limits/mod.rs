//! Limits, applied at the claim: how much was paid before, which payments may leave, and which ones wait.

pub(super) mod count;
pub(super) mod failures;
pub(super) mod in_force;
pub(super) mod recorded;
pub(super) mod sift;
pub(super) mod sums;
pub(super) mod waiting;
