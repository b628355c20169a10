//! Workbooks: the rows of one sheet, as texts.
//!
//! A workbook holds more than it shows. What is hidden, merged, calculated or rounded is told with each cell, so that it is judged
//! where it matters; calamine reads the values, and [`admission`] looks first at what it would not bound.

mod admission;
mod cell;
mod choice;
mod hidden;
mod rows;

pub(super) use cell::{Oddity, letters};
pub use choice::SheetOptions;
pub(super) use rows::SheetRows;

#[cfg(test)]
mod tests;
