//! CSV of a gateway or a bank. Where things stand is said by its headers, or by the terms.

use std::io::Read;

use super::error::{Place, StatementError};
use super::row::{Cell, Row};
use super::summary::Summary;
use super::table::Table;
use super::terms::Terms;
use crate::intake::TextLines;
use crate::ledger::reconciliation::StatementEntry;

pub(super) fn read(
    input: impl Read + Send + 'static,
    terms: &Terms,
    take: &mut dyn FnMut(StatementEntry) -> bool,
) -> Result<Summary, StatementError> {
    let encoding = terms.encoding.unwrap_or_default();
    let mut lines = TextLines::open(input, encoding, terms.delimiter, delimiter_of)?;
    let mut table = Table::of("CSV", terms);
    while lines.advance()? {
        let line = lines.line();
        let at = |_: usize| Place::Line(line);
        let cell = |text| Cell {
            text,
            ..Cell::default()
        };
        let row = Row {
            cells: lines.cells().into_iter().map(cell).collect(),
            number: line,
            named: format!("line {line}"),
            at: &at,
            is_ragged: false,
        };
        for entry in table.take(&row)? {
            if !take(entry) {
                return Err(StatementError::stopped());
            }
        }
    }
    if lines.is_unended() {
        table.note(
            "its last line has no line break: it may have been cut off in its last cell".to_owned(),
        );
    }
    table.finish()
}

/// Tells what stands between cells by the first lines.
fn delimiter_of(beginning: &[u8]) -> u8 {
    let line = beginning.split(|b| *b == b'\n').max_by_key(|line| {
        line.iter()
            .filter(|b| matches!(b, b',' | b';' | b'\t'))
            .count()
    });
    let count =
        |delimiter: u8| line.map_or(0, |line| line.iter().filter(|b| **b == delimiter).count());
    [b';', b'\t'].into_iter().fold(b',', |best, delimiter| {
        if count(delimiter) > count(best) {
            delimiter
        } else {
            best
        }
    })
}
