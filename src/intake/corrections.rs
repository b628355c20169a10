//! The file of bad rows: as they were, with what is wrong beside them. Mended, it can be loaded as it is.

use std::io::{self, Write};

use super::bad::BadRow;
use super::reader::Form;

/// The column that holds the errors. A reader ignores it.
const ERROR: &str = "error";

/// Writes bad rows as CSV, in UTF-8 and with the delimiter of the file they come from.
///
/// Cells are written exactly as they were, also those a spreadsheet would take for a formula: a changed cell would be a
/// changed payment.
pub struct Corrections<W: Write> {
    writer: ::csv::Writer<W>,
    // Where the errors go: in place of those of an earlier load, else after the last column.
    error_at: usize,
    columns: usize,
}

impl<W: Write> Corrections<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// What the output reports.
    pub fn create(mut output: W, form: &Form) -> io::Result<Self> {
        if form.marked {
            output.write_all(b"\xef\xbb\xbf")?;
        }
        let writer = ::csv::WriterBuilder::new()
            .delimiter(form.delimiter)
            .flexible(true)
            .from_writer(output);
        let columns = form.header.len();
        let error_at = form
            .header
            .iter()
            .position(|name| name == ERROR)
            .unwrap_or(columns);
        let mut corrections = Self {
            writer,
            error_at,
            columns,
        };
        corrections.write_cells(&form.header, ERROR)?;
        Ok(corrections)
    }

    /// Writes one bad row.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write(&mut self, row: &BadRow) -> io::Result<()> {
        self.write_cells(&row.raw, &row.error_text())
    }

    /// Writes the cells of a row and what is wrong with them. Cells beyond the header follow the errors.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write_cells(&mut self, cells: &[String], error: &str) -> io::Result<()> {
        let columns = self.columns.max(self.error_at + 1);
        for index in 0..columns {
            let cell = match index {
                at if at == self.error_at => error,
                _ => cells.get(index).map_or("", String::as_str),
            };
            self.writer.write_field(cell)?;
        }
        for cell in cells.iter().skip(self.columns) {
            self.writer.write_field(cell)?;
        }
        self.writer.write_record(None::<&[u8]>)?;
        Ok(())
    }

    /// Flushes and returns the output.
    ///
    /// # Errors
    /// What the output reports.
    pub fn finish(self) -> io::Result<W> {
        self.writer
            .into_inner()
            .map_err(::csv::IntoInnerError::into_error)
    }
}
