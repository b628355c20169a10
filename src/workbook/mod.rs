//! Workbooks (XLSX) that are written row by row, in memory that does not grow with them.
//!
//! Every text is a text there: no number is rounded, no cell runs. What cannot be written is an error, and never a panic: a full
//! disk must leave what was there as it was.

mod cell;
mod parts;
mod sheet;
mod zip;

pub use cell::{Cell, render_row};
pub use sheet::{Book, Look, ROWS_MAX};
