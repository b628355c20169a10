//! Files that are no batches, opened as batches are: text in any encoding, and the rows of a sheet.

use std::io::{self, BufRead, Read, Seek};

use super::odd_cells::CALCULATED;
use super::oddity::{
    DATE, LOST_DIGITS, MERGED, NOT_CALCULATED, Oddity, SHOWN_AS_ANOTHER, STRUCK_OUT,
};
use super::sheet::{SheetOptions, SheetRows, letters};
use super::source::Source;
use super::{Encoding, Error, ROW_BYTES_MAX};

/// The text of a file, as UTF-8, whatever it is written in.
pub struct PlainText(Source);

impl PlainText {
    /// Opens a text.
    ///
    /// # Errors
    /// It is empty, of another kind, or not of this encoding.
    pub fn open(input: impl Read + Send + 'static, encoding: Encoding) -> Result<Self, Error> {
        Ok(Self(Source::open(Box::new(input), encoding)?))
    }
}

impl std::fmt::Debug for PlainText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainText").finish_non_exhaustive()
    }
}

impl Read for PlainText {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let text = self.fill_buf()?;
        let length = text.len().min(buffer.len());
        buffer[..length].copy_from_slice(&text[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for PlainText {
    /// What is wrong with the text is an [`Error`] within the error of the input.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill().map_err(io::Error::other)
    }

    fn consume(&mut self, bytes: usize) {
        self.0.consume(bytes);
    }
}

/// A cell of a sheet that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetCell {
    /// Its column, from 0.
    pub column: usize,
    /// Its text; a number has its digits, a date stands as `2026-11-28`, with its time where it has one.
    pub text: String,
    /// It is a number, with a point before its decimals.
    pub is_number: bool,
    odd: Option<Oddity>,
}

impl SheetCell {
    /// Returns whether the sheet has made a date of it.
    #[must_use]
    pub fn is_date(&self) -> bool {
        self.odd == Some(Oddity::Date)
    }

    /// Says why it may not be what a person saw in it, where it decides something; a date only where none is meant, a stored result
    /// only where none is to be taken.
    #[must_use]
    pub fn problem(&self, takes_dates: bool, takes_results: bool) -> Option<&'static str> {
        match self.odd? {
            Oddity::Date => (!takes_dates).then_some(DATE),
            Oddity::LostDigits => Some(LOST_DIGITS),
            // What a format adds decides nothing: lines are told by texts, and amounts by their digits.
            Oddity::Dressed => None,
            Oddity::ShownAsAnother => Some(SHOWN_AS_ANOTHER),
            Oddity::StruckOut => Some(STRUCK_OUT),
            Oddity::Merged => Some(MERGED),
            Oddity::NotCalculated => Some(NOT_CALCULATED),
            Oddity::Calculated => (!takes_results).then_some(CALCULATED),
        }
    }
}

/// A row of a sheet that holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetLine {
    /// Its number in the sheet, from 1.
    pub number: u64,
    /// Its cells, in the order of their columns.
    pub cells: Vec<SheetCell>,
}

/// The rows of a sheet, as they stand in it.
pub struct SheetLines {
    rows: SheetRows,
    /// Hidden rows that were left out.
    pub left_out: u64,
}

impl std::fmt::Debug for SheetLines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SheetLines").finish_non_exhaustive()
    }
}

impl SheetLines {
    /// Opens a workbook and one of its sheets.
    ///
    /// # Errors
    /// No workbook, one beyond its bounds, or no sheet that is surely meant.
    pub fn open(
        input: impl Read + Seek + Send + 'static,
        options: &SheetOptions,
    ) -> Result<Self, Error> {
        Ok(Self {
            rows: SheetRows::open(input, options)?,
            left_out: 0,
        })
    }

    /// Returns the name of the sheet.
    #[must_use]
    pub fn sheet(&self) -> &str {
        &self.rows.sheet
    }

    /// Returns what is worth telling about how it was opened.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.rows.notes
    }

    /// Names a cell, as `June!C7`.
    #[must_use]
    pub fn cell(&self, row: u64, column: usize) -> String {
        format!("{}!{}{row}", self.rows.sheet, letters(column))
    }

    /// Returns the next row that holds something and is not to be left out.
    ///
    /// # Errors
    /// What refuses the sheet as a whole, and a row that is too long.
    pub fn read(&mut self) -> Result<Option<SheetLine>, Error> {
        loop {
            let Some(row) = self.rows.next()? else {
                return Ok(None);
            };
            if row.is_skipped {
                self.left_out += 1;
                continue;
            }
            if row.bytes > ROW_BYTES_MAX {
                return Err(Error::Workbook {
                    what: format!("has a row of more than {ROW_BYTES_MAX} bytes"),
                    remedy: "is it the right file?",
                    at: Some(self.cell(row.number, 0)),
                });
            }
            let cells = row.cells.into_iter().map(|cell| SheetCell {
                column: cell.column,
                text: cell.text,
                is_number: cell.is_number,
                odd: cell.oddity,
            });
            return Ok(Some(SheetLine {
                number: row.number,
                cells: cells.collect(),
            }));
        }
    }
}
