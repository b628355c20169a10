//! Persons of finished batches that are forgotten. The rule is in [`crate::ledger::forgetting`]; here are the rows that give way.

pub(super) mod compact;
pub(super) mod facts;
pub(super) mod parties;
pub(super) mod rows;
pub(super) mod told;
pub(super) mod verbs;
