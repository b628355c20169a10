//! Removes the personal data of finished batches. The rule is in [`crate::ledger::forgetting`]; this module rewrites the rows.

pub(super) mod compact;
pub(super) mod facts;
pub(super) mod parties;
pub(super) mod rows;
pub(super) mod told;
pub(super) mod verbs;
