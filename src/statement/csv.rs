//! CSV of a gateway or a bank. Where things stand is said by its headers, or by the terms.

use std::io::BufRead;

use super::error::{Place, StatementError};
use super::row::{Cell, Row};
use super::summary::Summary;
use super::table::Table;
use super::terms::Terms;
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
        .from_reader(Bounded {
            input,
            run: 0,
            line: 1,
            last: b'\n',
        });
    let mut table = Table::of("CSV", terms);
    let mut record = csv::StringRecord::new();
    let mut rows = 0_u64;
    while reader.read_record(&mut record).map_err(unread)? {
        rows += 1;
        let line = record.position().map_or(rows, csv::Position::line);
        let at = |_: usize| Place::Line(line);
        bounded(&record, &at(0))?;
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
    if !matches!(reader.get_ref().last, b'\n' | b'\r') {
        table.note(
            "its last line has no line break: it may have been cut off in its last cell".to_owned(),
        );
    }
    table.finish()
}

/// Bytes of a row, at most, before it is looked at: a quote that is never closed would take the whole file for one cell.
const ROW_MAX: usize = 4 << 20;

/// Hands out text, and refuses what has no line break for longer than a row can be.
struct Bounded<R> {
    input: R,
    run: usize,
    line: u64,
    /// The last byte.
    last: u8,
}

impl<R: BufRead> std::io::Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        let text = &buffer[..read];
        self.last = text.last().copied().unwrap_or(self.last);
        match memchr::memrchr(b'\n', text) {
            Some(last) => {
                self.line += memchr::memchr_iter(b'\n', text).count() as u64;
                self.run = read - last - 1;
            }
            None => self.run += read,
        }
        match self.run > ROW_MAX {
            true => Err(std::io::Error::other(format!(
                "line {} has more than {ROW_MAX} bytes",
                self.line
            ))),
            false => Ok(read),
        }
    }
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
