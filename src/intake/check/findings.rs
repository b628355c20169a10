//! What was found wrong with one row so far.

use std::fmt;

use super::super::bad::RowError;
use super::super::columns::{Column, ColumnMap, Field};
use super::super::odd_cells::told_of;
use super::super::record::{Fault, Record};
use super::super::text::{forbidden, one_line, quoted};
use super::super::{FIELD_BYTES_MAX, ROW_BYTES_MAX, damage};
use crate::domain::Text;

/// The errors of one row, at most one for each column: the first cause is the one to mend.
pub(super) struct Findings {
    line: u64,
    row: Option<u64>,
    errors: Vec<RowError>,
    shapeless: bool,
    /// A phone number was taken with the zero that it had lost.
    pub(super) has_restored_zero: bool,
}

impl Findings {
    /// Starts with nothing.
    pub(super) fn empty(record: &Record) -> Self {
        Self {
            line: record.line,
            row: record.row,
            errors: Vec::new(),
            shapeless: false,
            has_restored_zero: false,
        }
    }

    /// Starts with what is wrong with the row as it stands in the file.
    pub(super) fn of(layout: &ColumnMap, record: &Record) -> Self {
        let mut found = Self::empty(record);
        for fault in &record.faults {
            found.fault(layout, fault);
        }
        if !found.shapeless
            && let Some((expected, cells)) = layout.misfit(record)
        {
            found.shape(format!(
                "expected {expected} cells as in the header, found {cells}"
            ));
        }
        for error in &record.findings {
            found.take(error);
        }
        // What else is wrong with a row that cannot be paid at all would only mislead.
        found.shapeless |= record.refused;
        if !found.shapeless {
            found.cells(layout, record);
        }
        found
    }

    fn fault(&mut self, layout: &ColumnMap, fault: &Fault) {
        match fault {
            Fault::LongField { index, bytes } => self.push(
                layout.name(*index),
                format!("expected at most {FIELD_BYTES_MAX} bytes in a cell, found {bytes}"),
            ),
            Fault::LongRow { bytes } => self.shape(format!(
                "expected at most {ROW_BYTES_MAX} bytes in a row, found {bytes}"
            )),
            Fault::TextAfterQuote { index } => {
                let cell = layout
                    .name(*index)
                    .map_or(String::new(), |name| format!(" in {name}"));
                self.shape(format!(
                    "text follows the closing quote{cell}; a quote inside a quoted cell is written twice"
                ));
            }
            Fault::Odd { index, oddity } => {
                let column = layout.columns.get(*index);
                if let Some(message) = column.and_then(|column| told_of(column, *oddity)) {
                    self.push(layout.name(*index), message.to_owned());
                }
            }
            Fault::Malformed(message) => self.shape(message.clone()),
            Fault::Found(error) => self.push(error.column.clone(), error.message.clone()),
        }
    }

    fn shape(&mut self, message: String) {
        self.shapeless = true;
        self.record(None, "shape", message, None);
    }

    /// Returns whether it is unknown which cell belongs to which column: further errors would only mislead.
    pub(super) fn is_shapeless(&self) -> bool {
        self.shapeless
    }

    /// Looks at what every cell is checked for.
    fn cells(&mut self, layout: &ColumnMap, record: &Record) {
        for (index, column) in layout.columns.iter().enumerate() {
            let cell = record.cell(index).trim();
            if cell.starts_with('#')
                && *column != Column::Note
                && let Some(cause) = damage::of_cell(cell)
            {
                self.push(layout.name(index), format!("{cause} ({})", quoted(cell)));
            }
            if *column == Column::Unnamed && !cell.is_empty() {
                let message = format!(
                    "column {} has no name in the header, found {}",
                    index + 1,
                    quoted(cell)
                );
                self.push(None, message);
            }
        }
    }

    /// Adds an error, unless the column has one.
    pub(super) fn add(&mut self, field: Field, message: String) {
        self.push(Some(field.name().to_owned()), message);
    }

    /// Adds an error of a kind of its own, unless the column has one.
    pub(super) fn add_as(&mut self, field: Field, code: &'static str, message: String) {
        self.record(Some(field.name().to_owned()), code, message, None);
    }

    /// Adds an error about a column by its name, unless the column has one.
    pub(super) fn push(&mut self, column: Option<String>, message: String) {
        self.record(column, "invalid", message, None);
    }

    /// Takes over what a layout has found.
    fn take(&mut self, error: &RowError) {
        let RowError {
            column,
            code,
            message,
            found,
            ..
        } = error.clone();
        self.record(column, code, message, found);
        if let Some(last) = self.errors.last_mut() {
            last.header.clone_from(&error.header);
        }
    }

    fn record(
        &mut self,
        column: Option<String>,
        code: &'static str,
        message: String,
        found: Option<String>,
    ) {
        if column.is_some() && self.errors.iter().any(|error| error.column == column) {
            return;
        }
        self.errors.push(RowError {
            line: self.line,
            row: self.row,
            column,
            cell: None,
            header: None,
            message,
            code,
            found,
        });
    }

    /// Adds what is wrong with a cell, and the cell.
    pub(super) fn cell(&mut self, field: Field, cause: impl fmt::Display, cell: &str) {
        let message = format!("{cause} ({})", quoted(cell));
        self.record(
            Some(field.name().to_owned()),
            "invalid",
            message,
            Some(cell.to_owned()),
        );
    }

    /// Adds that a cell is empty that must not be.
    pub(super) fn missing(&mut self, field: Field, expected: &str) {
        self.missing_unless(field, expected, "");
    }

    /// Adds that a cell is empty which must not be, and what would give it.
    pub(super) fn missing_unless(&mut self, field: Field, expected: &str, way_out: &str) {
        let message = format!("expected {expected}, found nothing{way_out}");
        self.record(Some(field.name().to_owned()), "missing", message, None);
    }

    /// Unwraps what was parsed, or adds the reason.
    pub(super) fn parsed<T, E: fmt::Display>(
        &mut self,
        field: Field,
        cell: &str,
        parsed: Result<T, E>,
    ) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(error) => {
                self.cell(field, error, cell);
                None
            }
        }
    }

    /// Returns a text for people: line breaks become blanks, other control characters are errors.
    pub(super) fn text(&mut self, layout: &ColumnMap, record: &Record, field: Field) -> Text {
        let cell = layout.cell(record, field);
        if cell.is_empty() {
            return Text::default();
        }
        let text = one_line(cell);
        self.printable(field.name(), &text);
        text.into()
    }

    /// Returns a text for machines, such as an account: no line breaks, and no damaged digits.
    pub(super) fn digits(&mut self, layout: &ColumnMap, record: &Record, field: Field) -> Text {
        let cell = layout.cell(record, field);
        if cell.is_empty() {
            return Text::default();
        }
        if let Some(cause) = damage::of_digits(cell) {
            self.cell(field, cause, cell);
        }
        self.printable(field.name(), cell);
        cell.into()
    }

    /// Adds an error when a text holds a character that none may hold.
    pub(super) fn printable(&mut self, column: &str, text: &str) {
        if let Some(c) = forbidden(text) {
            let message = format!(
                "must not contain the character U+{:04X} ({})",
                u32::from(c),
                quoted(text)
            );
            let found = Some(text.to_owned());
            self.record(
                Some(column.to_owned()),
                "forbidden_character",
                message,
                found,
            );
        }
    }

    /// Returns the line of the row.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Returns whether a column has an error.
    pub(super) fn has(&self, field: Field) -> bool {
        self.errors
            .iter()
            .any(|error| error.column.as_deref() == Some(field.name()))
    }

    /// Returns whether nothing was found.
    pub(super) fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// Returns the errors in the order of their columns, those of the whole row first.
    pub(super) fn into_errors(mut self) -> Vec<RowError> {
        self.errors.sort_by_key(|error| {
            error.column.as_ref().map(|name| {
                let place = super::super::COLUMNS
                    .iter()
                    .position(|column| column == name);
                place.unwrap_or(usize::MAX)
            })
        });
        self.errors
    }
}
