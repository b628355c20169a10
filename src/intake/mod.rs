//! Batch files: every row becomes an [`Instruction`](crate::domain::Instruction) or says what is wrong with it.
//!
//! ```text
//! bytes -> source (signature, encoding) -> csv | json | pain.001 (one bounded record) -> check (rules) -> Good | Bad
//! ```
//!
//! One pass, and memory does not grow with the number of rows: a record holds at most [`ROW_BYTES_MAX`]. What takes the
//! whole file to see, such as a reference used twice, is found elsewhere; [`raw_rows`] then fetches the cells of those rows.
//!
//! Errors are of two kinds. A [`RowError`] concerns one row, and the rows below it are still read. An [`Error`] concerns the
//! whole file: either nothing was read yet, or it cannot be told where the next row begins.

mod bad;
mod banks;
mod check;
mod columns;
mod corrections;
mod csv;
mod damage;
mod document;
mod encoding;
mod error;
mod json;
pub mod layout;
mod lines;
mod mapping;
mod message_cells;
mod names;
mod odd_cells;
mod oddity;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod offline;
mod options;
mod own_book;
pub mod packed;
mod pain;
pub mod pdf;
mod raw;
mod raw_rows;
mod reader;
mod record;
mod rules;
mod sample;
mod sheet;
mod signature;
mod source;
mod suggest;
pub mod template;
#[cfg(test)]
mod tests;
mod text;
mod text_book;
mod text_lines;
pub mod xml;

pub use bad::{BadRow, Row, RowError};
pub use banks::{BankDirectory, BankDirectoryError};
pub use check::not_before::{expected as expected_time, kept as time_with_offset};
pub use columns::COLUMNS;
pub use corrections::{Corrections, unread_advice};
pub use document::{DocumentError, read_document};
pub use encoding::Encoding;
pub use error::Error;
pub use lines::{PlainText, SheetCell, SheetLine, SheetLines};
pub use names::{plain as plain_name, same as same_name};
pub use options::{Format, Options};
pub use own_book::is_own_book_without;
pub use raw::Unread;
pub use raw_rows::{BadPlaces, raw_rows, raw_rows_of};
pub use reader::{Form, Reader};
pub use rules::{Documents, Rules, ServiceRule, WireRules};
pub use sample::{Sample, sample, sample_workbook, workbook_rows};
pub use sheet::{Hiding, SheetOptions, is_workbook};
pub use signature::check_text as refuse_foreign;
pub use text_book::{BookCell, NEW_SHEET, TextBook};
pub use text_lines::TextLines;

/// The most bytes one cell may have.
pub const FIELD_BYTES_MAX: usize = 4 * 1024;
/// The most bytes one row may have.
pub const ROW_BYTES_MAX: usize = 64 * 1024;
