//! Limits at the claim: what was paid before, what may leave, and what waits.

pub(super) mod count;
pub(super) mod failures;
pub(super) mod in_force;
pub(super) mod recorded;
pub(super) mod sift;
pub(super) mod sums;
pub(super) mod waiting;
