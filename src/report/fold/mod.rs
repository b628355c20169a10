//! What the entries of a batch add up to: counts and amounts, compared with the control totals, lane by lane and over time.
//! It is pure, and holds no entry.

pub(super) mod difference;
pub(super) mod exceptions;
pub(super) mod lane;
pub(super) mod reconciliation;
pub(super) mod timeline;
