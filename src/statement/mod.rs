//! Statements of a gateway or a bank: CSV, MT940, camt.053 and camt.054, read line by line in flat memory.
//!
//! Every reader yields [`StatementEntry`]s, and says at the end what the statement was of. One that is cut off, or whose balances
//! do not add up, is refused: nobody can tell what it leaves out.

mod camt;
mod camt_entry;
mod csv;
mod error;
mod layout;
mod mt940;
mod number;
mod summary;
mod terms;

#[cfg(test)]
mod tests;

use std::io::BufRead;

pub use error::StatementError;
pub use layout::{COLUMNS, Layout};
pub use summary::Summary;
pub use terms::{Format, Terms};

use crate::ledger::reconciliation::StatementEntry;

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
