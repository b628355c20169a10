//! A workbook of texts, for rows that are to be mended: what is typed into it stays as it is typed.

use std::io::{self, Seek, Write};

use crate::workbook::{Book, Cell, Look};

/// Columns that are set up as texts, and how wide they are.
const COLUMNS: usize = 100;
const WIDTH: u16 = 18;
/// The same rows are the same file.
const CREATED: &str = "2026-01-01T00:00:00Z";

/// What is put into a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookCell<'a> {
    /// A text, whatever it looks like.
    Text(&'a str),
    /// A number as it was read, for one that is to be told as what it is when it is read again.
    Number(&'a str),
}

/// What new workbooks call their sheet.
pub const NEW_SHEET: &str = "Sheet1";

/// A workbook with one sheet, in memory that does not grow with its rows.
pub struct TextBook<W: Write + Seek> {
    book: Book<W>,
    has_header: bool,
}

/// Returns the name of a sheet, or that which new workbooks give to theirs where spreadsheet programs would refuse it.
fn fitting(name: &str) -> &str {
    let is_refused = |c: char| c.is_control() || r"[]:*?/\".contains(c);
    let fits = (1..=31).contains(&name.encode_utf16().count())
        && !name.contains(is_refused)
        && !name.starts_with('\'')
        && !name.ends_with('\'');
    if fits { name } else { NEW_SHEET }
}

impl<W: Write + Seek> TextBook<W> {
    /// Begins one, whose sheet is called so where spreadsheet programs take that for a name.
    ///
    /// # Errors
    /// What the output reports.
    pub fn create(output: W, sheet: &str) -> io::Result<Self> {
        let mut book = Book::new(output);
        let look = Look {
            widths: vec![WIDTH; COLUMNS],
            is_list: false,
            amount: None,
        };
        book.begin_sheet(fitting(sheet), &look)?;
        Ok(Self {
            book,
            has_header: false,
        })
    }

    /// Writes the next row; the first is the header.
    ///
    /// # Errors
    /// What the output reports, and that the sheet is full.
    pub fn write_row<'a>(
        &mut self,
        cells: impl IntoIterator<Item = BookCell<'a>>,
    ) -> io::Result<()> {
        let is_header = !std::mem::replace(&mut self.has_header, true);
        self.book
            .write_row(cells.into_iter().map(|cell| match cell {
                BookCell::Text(text) if is_header => Cell::Heading(text),
                BookCell::Text(text) => Cell::Text(text),
                BookCell::Number(text) => Cell::Number(text),
            }))
    }

    /// Puts it together.
    ///
    /// # Errors
    /// What the output reports.
    pub fn finish(self) -> io::Result<W> {
        self.book.finish(0, "rows to be mended", CREATED)
    }
}
