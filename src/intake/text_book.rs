//! A workbook of texts, written row by row: what is typed into it stays as it is typed.

use std::io::{self, Seek, Write};
use std::path::Path;

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, XlsxError};

/// What a cell holds at most, in characters, as the format has it.
const CELL_MAX: usize = 32_767;
/// Columns that are set up as texts.
const COLUMNS: u16 = 100;

/// What is put into a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookCell<'a> {
    /// A text, whatever it looks like.
    Text(&'a str),
    /// A number as it was read, for one that is to be told as what it is when it is read again.
    Number(&'a str),
}

/// A workbook with one sheet. Rows go to a file without a name as they come, so that memory does not grow with them.
pub struct TextBook {
    book: Workbook,
    text: Format,
    header: Format,
    rows: u32,
}

impl TextBook {
    /// Begins one; `folder` takes what is not yet put together.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let text = Format::new().set_num_format("@");
        let header = Format::new().set_num_format("@").set_bold();
        let mut book = Workbook::new();
        let begin = |book: &mut Workbook| -> Result<(), XlsxError> {
            // The same rows are the same file.
            let made = ExcelDateTime::from_ymd(2026, 1, 1)?;
            book.set_properties(&DocProperties::new().set_creation_datetime(&made));
            book.set_tempdir(folder)?;
            let sheet = book.add_worksheet_with_constant_memory()?;
            sheet.set_freeze_panes(1, 0)?;
            sheet.set_column_range_width(0, COLUMNS - 1, 18)?;
            sheet.set_column_range_format(0, COLUMNS - 1, &text)?;
            Ok(())
        };
        begin(&mut book).map_err(io::Error::other)?;
        Ok(Self {
            book,
            text,
            header,
            rows: 0,
        })
    }

    /// Writes the next row; the first is the header.
    ///
    /// # Errors
    /// It cannot be kept, or the sheet is full.
    pub fn write_row<'a>(
        &mut self,
        cells: impl IntoIterator<Item = BookCell<'a>>,
    ) -> io::Result<()> {
        let format = match self.rows {
            0 => &self.header,
            _ => &self.text,
        };
        let plain = Format::new();
        let sheet = self
            .book
            .worksheet_from_index(0)
            .map_err(io::Error::other)?;
        for (column, cell) in (0..).zip(cells) {
            let written = match cell {
                BookCell::Text("") => continue,
                BookCell::Text(text) => {
                    sheet.write_string_with_format(self.rows, column, cut(text), format)
                }
                BookCell::Number(text) => match text.trim().parse::<f64>() {
                    Ok(number) => sheet.write_number_with_format(self.rows, column, number, &plain),
                    Err(_) => sheet.write_string_with_format(self.rows, column, cut(text), format),
                },
            };
            written.map_err(io::Error::other)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Puts it together.
    ///
    /// # Errors
    /// What the output reports.
    pub fn finish(mut self, mut output: impl Write + Seek + Send) -> io::Result<()> {
        self.book
            .save_to_writer(&mut output)
            .map_err(io::Error::other)?;
        output.flush()
    }
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(CELL_MAX) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
