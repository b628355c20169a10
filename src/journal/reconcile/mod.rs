//! Reconciliation with statements: lines and payments meet in tables that live as long as the command, and what is found goes on
//! the chain.

pub(super) mod desk;
mod matching;
mod record;
mod said;
