//! A row of a table with its cells, whether a CSV or a sheet has it.

use super::error::Place;

/// A cell as its row has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell<'r> {
    pub(super) text: &'r str,
    /// The sheet has made a date of it.
    pub(super) is_date: bool,
    /// It is a number of a sheet, which has a point whatever its texts have.
    pub(super) is_number: bool,
    /// Why it may not be what a person saw in it: as an amount or a name, as a date, as a sum, which is a formula in most sheets.
    pub(super) problem: [Option<&'static str>; 3],
}

/// A row with its cells by their columns.
pub(super) struct Row<'r> {
    pub(super) cells: Vec<Cell<'r>>,
    /// Its number in the file, from 1.
    pub(super) number: u64,
    /// Where the row stands, as a line of the statement is called.
    pub(super) named: String,
    /// Where one of its cells stands.
    pub(super) at: &'r dyn Fn(usize) -> Place,
    /// Cells at its end may be left out where they are empty.
    pub(super) is_ragged: bool,
}

impl Row<'_> {
    pub(super) fn place(&self) -> Place {
        (self.at)(0)
    }
}
