//! Bulk disbursement.
pub mod domain;
