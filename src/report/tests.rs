//! The files, read back.

mod batch;
mod files;
mod fold;
mod hostile;
mod pages;
mod workbook;
