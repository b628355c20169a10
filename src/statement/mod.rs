//! Statements of a gateway or a bank: CSV, XLSX, MT940, camt.053 and camt.054, read line by line in flat memory.
//!
//! ```text
//! bytes -> csv | sheet -> table (headers, balances, sums) -> StatementEntry
//!       -> mt940 | camt (entry by entry)                  -> StatementEntry
//! ```
//!
//! Every reader yields [`StatementEntry`]s, and says at the end what the statement was of. One that is cut off, or whose balances
//! do not add up, is refused: nobody can tell what it leaves out.

mod balances;
mod camt;
mod camt_entry;
mod csv;
mod error;
mod fields;
mod headers;
mod mt940;
mod number;
mod row;
mod sheet;
mod status;
mod summary;
mod table;
mod terms;
mod total;

#[cfg(test)]
mod tests;

use std::io::{BufRead, BufReader, Read, Seek};

pub use error::StatementError;
pub use summary::Summary;
pub use terms::{COLUMNS, Format, Said, Takes, Terms};

use crate::intake::{PlainText, is_workbook};
use crate::ledger::reconciliation::StatementEntry;

/// Reads a statement. `take` is given each line, and says whether to go on.
///
/// # Errors
/// The first thing that is wrong with the statement, with its place.
pub fn read(
    mut input: impl Read + Seek + Send + 'static,
    terms: &Terms,
    take: &mut dyn FnMut(StatementEntry) -> bool,
) -> Result<Summary, StatementError> {
    let is_sheet = match terms.format {
        Some(format) => format == Format::Xlsx,
        None => is_workbook(&mut input),
    };
    input.rewind().map_err(StatementError::io)?;
    if is_sheet {
        return sheet::read(input, terms, take);
    }
    let format = match terms.format {
        Some(format) => format,
        None => {
            let mut head = Vec::new();
            let read = (&mut input).take(HEAD_BYTES).read_to_end(&mut head);
            read.map_err(StatementError::io)?;
            input.rewind().map_err(StatementError::io)?;
            let mut text = PlainText::open(
                std::io::Cursor::new(head),
                terms.encoding.unwrap_or_default(),
            )?;
            Format::of(text.fill_buf().map_err(StatementError::io)?)
        }
    };
    let encoding = terms.encoding.unwrap_or_default();
    match format {
        Format::Camt => camt::read(input, encoding, terms, take),
        // An MT940 is of a narrower alphabet; what is beyond it is read as is usual, and never decides anything.
        Format::Mt940 if terms.encoding.is_none() => {
            mt940::read(BufReader::with_capacity(1 << 16, input), terms, take)
        }
        Format::Mt940 => mt940::read(PlainText::open(input, encoding)?, terms, take),
        Format::Csv | Format::Xlsx => csv::read(input, terms, take),
    }
}

/// Bytes by which the format is told.
const HEAD_BYTES: u64 = 4_096;
