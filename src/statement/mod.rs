//! Statements of a gateway or a bank: CSV, MT940, camt.053 and camt.054, read line by line in flat memory.
//!
//! Every reader yields [`StatementEntry`]s, and says at the end what the statement was of. One that is cut off, or whose balances
//! do not add up, is refused: nobody can tell what it leaves out.

mod camt;
mod csv;
mod error;
mod mt940;
mod number;
mod summary;

#[cfg(test)]
mod tests;

use std::io::BufRead;

pub use self::csv::{COLUMNS, Layout};
pub use error::StatementError;
pub use summary::Summary;

use crate::ledger::reconciliation::StatementEntry;

/// The format of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Rows under headers.
    Csv,
    /// SWIFT MT940.
    Mt940,
    /// ISO 20022 camt.053 and camt.054.
    Camt,
}

impl Format {
    /// Finds it by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "csv" => Some(Self::Csv),
            "mt940" => Some(Self::Mt940),
            "camt" => Some(Self::Camt),
            _ => None,
        }
    }

    /// Tells it by how a file begins.
    #[must_use]
    pub fn of(beginning: &[u8]) -> Self {
        let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning);
        let text = text.trim_ascii_start();
        if text.starts_with(b"<") {
            Self::Camt
        } else if [&b"{1:"[..], b":20:", b":25:"]
            .iter()
            .any(|tag| text.starts_with(tag))
        {
            Self::Mt940
        } else {
            Self::Csv
        }
    }
}

/// How a statement is to be read.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Its format; `None`: as the file begins.
    pub format: Option<Format>,
    /// The account that it must be of.
    pub account: Option<String>,
    /// Where things stand in a CSV.
    pub layout: Layout,
}

/// Reads a statement. `take` is given each line, and says whether to go on.
///
/// # Errors
/// The first thing that is wrong with the statement, with its place.
pub fn read(
    mut input: impl BufRead,
    terms: &Terms,
    take: &mut dyn FnMut(StatementEntry) -> bool,
) -> Result<Summary, StatementError> {
    let beginning = input
        .fill_buf()
        .map_err(|error| StatementError::io(&error))?;
    if beginning.is_empty() {
        return Err(StatementError::new(
            "",
            "the file is empty",
            "name the statement itself",
        ));
    }
    let format = terms.format.unwrap_or_else(|| Format::of(beginning));
    match format {
        Format::Csv => csv::read(input, terms, take),
        Format::Mt940 => mt940::read(input, terms, take),
        Format::Camt => camt::read(input, terms, take),
    }
}
