//! Workbooks: the rows of one sheet, as texts.
//!
//! A workbook holds more than it shows. What is hidden, merged, calculated or rounded is told with each cell, so that it is judged
//! where it matters; calamine reads the values, and [`admission`] looks first at what it would not bound.

mod admission;
mod cell;
mod choice;
mod formats;
mod hidden;
mod rows;
mod table;

pub use admission::is_workbook;
pub(super) use cell::letters;
pub(super) use choice::has_sheet;
pub use choice::{Hiding, SheetOptions};
pub(super) use rows::SheetRows;
pub(super) use table::{Table, fill, header, row_numbered};

#[cfg(test)]
mod tests;
