//! A sheet of a workbook, read as batches are: what is hidden, merged, calculated or has lost digits is never taken unseen.

use std::io::{Read, Seek};

use super::error::{Place, StatementError};
use super::row::{Cell, Row};
use super::summary::Summary;
use super::table::Table;
use super::terms::Terms;
use crate::intake::SheetLines;
use crate::ledger::likeness::is_invisible;
use crate::ledger::reconciliation::StatementEntry;

/// Columns that are looked at, and characters of the sheet's name that a line is called by.
const COLUMNS_MAX: usize = 512;
const NAME_MAX: usize = 64;

pub(super) fn read(
    input: impl Read + Seek + Send + 'static,
    terms: &Terms,
    take: &mut dyn FnMut(StatementEntry) -> bool,
) -> Result<Summary, StatementError> {
    let mut lines = SheetLines::open(input, &terms.sheet_options())?;
    let sheet: String = lines
        .sheet()
        .chars()
        .map(|c| match c.is_control() || is_invisible(c) {
            true => '\u{fffd}',
            false => c,
        })
        .take(NAME_MAX)
        .collect();
    let mut table = Table::of("XLSX", terms);
    while let Some(line) = lines.read()? {
        let width = line.cells.last().map_or(0, |cell| cell.column + 1);
        let mut cells = vec![Cell::default(); width.min(COLUMNS_MAX)];
        for cell in &line.cells {
            if let Some(place) = cells.get_mut(cell.column) {
                *place = Cell {
                    text: &cell.text,
                    is_date: cell.is_date(),
                    is_number: cell.is_number,
                    problem: [
                        cell.problem(false, false),
                        cell.problem(true, false),
                        cell.problem(false, true),
                    ],
                };
            }
        }
        let at = |column: usize| Place::Cell(lines.cell(line.number, column));
        let row = Row {
            cells,
            number: line.number,
            named: format!("{sheet}, row {}", line.number),
            at: &at,
            is_ragged: true,
        };
        for entry in table.take(&row)? {
            if !take(entry) {
                return Err(StatementError::stopped());
            }
        }
    }
    let mut summary = table.finish()?;
    summary.notes = lines.notes().to_vec();
    if lines.left_out > 0 {
        summary
            .notes
            .push(format!("{} hidden rows were left out", lines.left_out));
    }
    Ok(summary)
}
