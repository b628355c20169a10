//! The files, read back.

pub(in crate::report) mod batch;
mod files;
mod fold;
mod hostile;
mod pages;
mod workbook;
