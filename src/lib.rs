//! Bulk disbursement.
pub mod callback;
pub mod cli;
pub mod domain;
pub mod engine;
pub mod gateway;
pub mod journal;
pub mod lifecycle;
