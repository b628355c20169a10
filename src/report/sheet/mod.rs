//! The report for spreadsheets: payments.csv, and report.xlsx with the same cells and what they add up to.

pub(super) mod csv;
mod sheets;
pub(super) mod xlsx;
