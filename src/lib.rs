//! Bulk disbursement.
pub mod domain;
pub mod sandbox;
