//! The file of bad rows: as they were, with what is wrong beside them. Mended, it can be loaded as it is.

use std::borrow::Cow;
use std::io::{self, Write};

use super::bad::BadRow;
use super::reader::Form;
use crate::ledger::shield::shielded;

/// The column that holds the errors. A reader ignores it.
const ERROR: &str = "error";
/// The column that names the row which was set aside, so that its mended one takes its place.
const REJECTED_ROW: &str = "rejected_row";

/// Writes bad rows as CSV, in UTF-8 and with the delimiter of the file they come from.
///
/// Cells that a spreadsheet would take for a formula are shielded; a reader takes the shields off.
pub struct Corrections<W: Write> {
    writer: ::csv::Writer<W>,
    // Where errors and names go: in place of those of an earlier load, else after the last column.
    error_at: usize,
    name_at: usize,
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
        let position = |column: &str| form.header.iter().position(|name| name == column);
        let named_at = position(REJECTED_ROW);
        let name_at = named_at.unwrap_or(columns);
        let error_at = position(ERROR).unwrap_or(columns + usize::from(named_at.is_none()));
        let mut corrections = Self {
            writer,
            error_at,
            name_at,
            columns,
        };
        // The header is that of the file: names of columns are no values.
        corrections.put(&form.header, REJECTED_ROW, ERROR, |name| {
            Cow::Borrowed(name)
        })?;
        Ok(corrections)
    }

    /// Writes one bad row, under the name of the rejected row that it is, or is to become; none where nothing is set aside.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write(&mut self, row: &BadRow, name: &str) -> io::Result<()> {
        self.write_cells(&row.raw, name, &row.error_text())
    }

    /// Writes the cells of a row, its name, and what is wrong with them. Cells beyond the header follow the errors.
    ///
    /// # Errors
    /// What the output reports.
    pub fn write_cells(&mut self, cells: &[String], name: &str, error: &str) -> io::Result<()> {
        self.put(cells, name, error, shielded)
    }

    fn put(
        &mut self,
        cells: &[String],
        name: &str,
        error: &str,
        shield: fn(&str) -> Cow<'_, str>,
    ) -> io::Result<()> {
        let columns = self.columns.max(self.error_at + 1).max(self.name_at + 1);
        for index in 0..columns {
            let cell = match index {
                at if at == self.error_at => error,
                at if at == self.name_at => name,
                _ => cells.get(index).map_or("", String::as_str),
            };
            self.writer.write_field(shield(cell).as_ref())?;
        }
        for cell in cells.iter().skip(self.columns) {
            self.writer.write_field(shield(cell).as_ref())?;
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
