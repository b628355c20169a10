//! One row, good or bad.

use std::fmt;

use super::oddity::{Oddity, is_changed};
use super::raw::Unread;
use super::text::quoted;

use crate::domain::{Instruction, Money, Unpriced};

/// The kind of mistake that the example row of a template is.
pub(super) const EXAMPLE: &str = "example";

/// One row of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// The row is valid.
    Good(Instruction),
    /// The row is valid, and leaves its amount to the bill of a postpaid service.
    Unpriced(Unpriced),
    /// The row breaks at least one rule.
    Bad(BadRow),
    /// The row is no payment, says the layout of its file; its one error says why.
    Skipped(BadRow),
}

/// One thing that is wrong with one row.
///
/// Displays as `LINE: column: message`, or `LINE, row N: column: message` where several rows begin at one line; the file's
/// name is the caller's to put in front.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowError {
    /// The line of the file the row begins at, 1-based.
    pub line: u64,
    /// Which row of the file it is, 1-based, where the row before it begins at the same line.
    pub row: Option<u64>,
    /// The cell of the sheet, as `Sheet1!C7`, where the file is a workbook.
    pub cell: Option<String>,
    /// The column by its contract name; `None` when the row as a whole is concerned.
    pub column: Option<String>,
    /// What the file calls that column, as in `column "Net Pay"`, where a layout maps it.
    pub header: Option<String>,
    /// What was expected and what was found.
    pub message: String,
    /// Its kind, in one word for programs.
    pub code: &'static str,
    /// The cell, when the message ends with it.
    pub found: Option<String>,
}

impl RowError {
    /// Returns one about a row as a whole.
    pub(super) fn of_row((line, row): (u64, Option<u64>), message: String) -> Self {
        Self {
            line,
            row,
            cell: None,
            column: None,
            header: None,
            message,
            code: "invalid",
            found: None,
        }
    }

    /// Returns the message without what was found: equal mistakes in other cells have the same.
    #[must_use]
    pub fn gist(&self) -> &str {
        let cell = self
            .found
            .as_deref()
            .map(|cell| format!(" ({})", quoted(cell)));
        match cell.and_then(|cell| self.message.strip_suffix(&cell)) {
            Some(gist) => gist,
            None => self.split().0,
        }
    }

    /// Returns how the column is named to a person: `amount`, or `column "Net Pay" (amount)`.
    #[must_use]
    pub fn column_text(&self) -> Option<String> {
        match (&self.header, &self.column) {
            (Some(header), Some(column)) => Some(format!("{header} ({column})")),
            (Some(header), None) => Some(header.clone()),
            (None, column) => column.clone(),
        }
    }

    /// Returns what was found, where the message says so.
    #[must_use]
    pub fn found_text(&self) -> Option<&str> {
        self.found.as_deref().or_else(|| self.split().1)
    }

    fn split(&self) -> (&str, Option<&str>) {
        match self.message.split_once(", found ") {
            Some((gist, "nothing")) => (gist, Some("")),
            Some((gist, found)) => (gist, Some(found.trim_matches('"'))),
            None => (&self.message, None),
        }
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cell, self.row) {
            (Some(cell), _) => write!(f, "{cell}: ")?,
            (None, None) => write!(f, "{}: ", self.line)?,
            (None, Some(row)) => write!(f, "{}, row {row}: ", self.line)?,
        }
        if let Some(column) = self.column_text() {
            write!(f, "{column}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// A row that cannot be paid, with everything that is wrong with it.
#[derive(Clone, PartialEq, Eq)]
pub struct BadRow {
    /// The line of the file the row begins at, 1-based.
    pub line: u64,
    /// The cells as they were, in the order of [`super::Form::header`]; those over the limit are cut.
    pub raw: Vec<String>,
    /// What the row has by the names of the contract, where a layout maps its cells.
    pub mapped: Option<Vec<(String, String)>>,
    /// The row could not be read whole: its text is all that is kept of it, as the cells are only what came before the break.
    pub unread: Option<Unread>,
    /// What is odd about its cells, where it comes from a sheet, by their places.
    pub(super) odd: Vec<(usize, Oddity)>,
    /// At least one error, at most one for each column.
    pub errors: Vec<RowError>,
    /// The amount, when it and its currency can be read: the row still counts in control totals.
    pub amount: Option<Money>,
    /// The reference as it was written.
    pub reference: Option<String>,
    /// The service code as it was written.
    pub service: Option<String>,
}

impl BadRow {
    /// Returns the cells as they may be mended: none of a row that could not be read whole.
    #[must_use]
    pub fn cells(&self) -> &[String] {
        match self.unread {
            Some(_) => &[],
            None => &self.raw,
        }
    }

    /// Returns whether it is the example of a template, which nobody meant: it is not to be mended, and not to be set aside either.
    #[must_use]
    pub fn is_example(&self) -> bool {
        self.errors.iter().any(|error| error.code == EXAMPLE)
    }

    /// Returns whether what stands in a column is what somebody has written there, and not what a spreadsheet has made of it.
    #[must_use]
    pub fn is_as_written(&self, column: &str) -> bool {
        let is_of_it = |error: &&RowError| error.column.as_deref() == Some(column);
        let mut errors = self.errors.iter().filter(is_of_it);
        !errors.any(|error| is_changed(&error.message))
    }

    /// Returns all errors in one text, with the columns of the contract, as a journal keeps them.
    #[must_use]
    pub fn error_text(&self) -> String {
        self.joined(|error| error.column.clone())
    }

    /// Returns all errors in one text, for the `error` column.
    #[must_use]
    pub fn told_text(&self) -> String {
        self.joined(RowError::column_text)
    }

    fn joined(&self, column: impl Fn(&RowError) -> Option<String>) -> String {
        let texts = self.errors.iter().map(|error| match column(error) {
            Some(column) => format!("{column}: {}", error.message),
            None => error.message.clone(),
        });
        texts.collect::<Vec<_>>().join("; ")
    }
}

// The cells hold phone numbers and accounts, which stay out of logs.
impl fmt::Debug for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BadRow")
            .field("line", &self.line)
            .field("errors", &self.errors.len())
            .finish_non_exhaustive()
    }
}
