//! The report for spreadsheets: payments.csv, and the same cells as payments.xlsx.
//! A workbook is a ZIP archive, which is written here too.

pub(super) mod csv;
pub(super) mod xlsx;
pub(super) mod zip;
