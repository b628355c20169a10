//! Reconciliation with statements: lines and payments are matched in tables that exist only during the command, and the findings
//! are recorded on the chain.

pub(super) mod desk;
mod earlier;
mod laid_out;
mod lines;
mod matching;
mod record;
mod said;
