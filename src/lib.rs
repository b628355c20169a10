//! Bulk disbursement.
pub mod cli;
pub mod domain;
