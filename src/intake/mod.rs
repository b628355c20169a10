//! Batch files: every row becomes an [`Instruction`](crate::domain::Instruction) or says what is wrong with it.
//!
//! ```text
//! bytes -> source (signature, encoding) -> csv | json (one bounded record) -> check (rules) -> Good | Bad
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
mod mapping;
mod names;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod offline;
pub mod pdf;
mod raw;
mod reader;
mod record;
mod rules;
mod sample;
mod sheet;
mod signature;
mod source;
mod suggest;
#[cfg(test)]
mod tests;
mod text;

pub use bad::{BadRow, Row, RowError};
pub use banks::{BankDirectory, BankDirectoryError};
pub use columns::COLUMNS;
pub use corrections::{Corrections, unread_advice};
pub use document::{DocumentError, read_document};
pub use encoding::Encoding;
pub use error::Error;
pub use names::{plain as plain_name, same as same_name};
pub use raw::Unread;
pub use reader::{BadPlaces, Form, Reader, raw_rows};
pub use rules::{Documents, Rules, ServiceRule, WireRules};
pub use sample::{Sample, sample};
pub use sheet::SheetOptions;
pub use signature::check as refuse_foreign;


use std::path::Path;
use std::sync::Arc;

/// The most bytes one cell may have.
pub const FIELD_BYTES_MAX: usize = 4 * 1024;
/// The most bytes one row may have.
pub const ROW_BYTES_MAX: usize = 64 * 1024;

/// How the rows of a file are written down.
///
/// An array and JSON lines are told apart by the first byte, so that either name reads both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values; semicolon, tab and vertical bar are detected.
    Csv,
    /// A JSON array of objects.
    Json,
    /// One JSON object per line.
    JsonLines,
}

impl Format {
    /// Tells the format by the extension of a file's name; `None` when the extension says nothing.
    #[must_use]
    pub fn from_path(path: &Path) -> Option<Self> {
        Self::from_name(path.extension()?.to_str()?)
    }

    /// Tells the format by its name: `csv`, `tsv`, `txt`, `json`, `jsonl` or `ndjson`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "csv" | "tsv" | "txt" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            _ => None,
        }
    }
}

/// What the operator says about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; by the first byte when absent.
    pub format: Option<Format>,
    /// The encoding.
    pub encoding: Encoding,
    /// What its columns are, where they are not ours.
    pub layout: Option<Arc<layout::Layout>>,
}
