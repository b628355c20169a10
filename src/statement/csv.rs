//! CSV of a gateway or a bank. Where things stand is said by its headers, or by the terms.

use std::io::BufRead;

use super::error::{Place, StatementError};
use super::row::{Cell, Row};
use super::summary::Summary;
use super::table::Table;
use super::terms::Terms;
use crate::intake::{Numbered, holds_rows};
use crate::ledger::reconciliation::StatementEntry;

/// Cells of a row, and bytes of one, at most.
const CELLS_MAX: usize = 512;
const CELL_MAX: usize = 65_536;

pub(super) fn read(
    mut input: impl BufRead,
    terms: &Terms,
    take: &mut dyn FnMut(StatementEntry) -> bool,
) -> Result<Summary, StatementError> {
    let beginning = input.fill_buf().map_err(StatementError::io)?;
    let delimiter = terms.delimiter.unwrap_or_else(|| delimiter_of(beginning));
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(Numbered::new(input, delimiter));
    let mut table = Table::of("CSV", terms);
    let mut record = csv::StringRecord::new();
    let mut columns = 0;
    while reader.read_record(&mut record).map_err(unread)? {
        let begins = record.position().map_or(0, csv::Position::byte);
        let line = reader.get_mut().line_of(begins);
        let at = |_: usize| Place::Line(line);
        bounded(&record, &at(0))?;
        columns = columns.max(record.len());
        if holds_rows(&record, delimiter, columns, is_number_or_day) {
            return Err(StatementError::new(
                &at(0),
                "a cell holds lines that look like rows",
                "look at the quotes from that line on: one is missing, or stands alone",
            ));
        }
        let row = Row {
            cells: record
                .iter()
                .map(|text| Cell {
                    text,
                    ..Cell::default()
                })
                .collect(),
            number: line,
            named: format!("line {line}"),
            at: &at,
            is_ragged: false,
        };
        if row.is_blank() {
            continue;
        }
        for entry in table.take(&row)? {
            if !take(entry) {
                return Err(StatementError::stopped());
            }
        }
    }
    if !reader.get_ref().is_ended() {
        table.note(
            "its last line has no line break: it may have been cut off in its last cell".to_owned(),
        );
    }
    table.finish()
}

/// Returns whether a cell is a date, a time or an amount: one stands in every row.
fn is_number_or_day(cell: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || " .,:/-+'".contains(c);
    cell.contains(|c: char| c.is_ascii_digit()) && cell.chars().all(is_part)
}

fn unread(error: csv::Error) -> StatementError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => StatementError::io(error),
        other => StatementError::whole(format!("it cannot be read: {other:?}"), "look at the file"),
    }
}

/// Refuses a row that is longer than any statement has them.
fn bounded(record: &csv::StringRecord, place: &Place) -> Result<(), StatementError> {
    match record.len() > CELLS_MAX || record.iter().any(|cell| cell.len() > CELL_MAX) {
        true => Err(StatementError::new(
            place,
            "the row is too long",
            "look at the file: a quote may be missing",
        )),
        false => Ok(()),
    }
}

/// Tells what stands between cells by the first lines.
#[must_use]
pub fn delimiter_of(beginning: &[u8]) -> u8 {
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
