//! Bulk disbursement.
pub mod domain;
pub mod gateway;
pub mod lifecycle;
