//! A file of decisions about payments, for `resolve --from`: every row is read, and whatever is wrong with it is said at once.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::open::open;
use crate::cli::Error;
use crate::intake::{self, Numbered};
use crate::journal::Decision;
use crate::ledger::names::{By, PaymentName};
use crate::ledger::shield::unshielded;
use crate::statement::delimiter_of;

/// Decisions of one file, at most: each is looked at, and shown, before any is recorded.
const ROWS_MAX: usize = 100_000;

/// A decision, and where it stands.
pub(in crate::cli) struct Row {
    pub(in crate::cli) place: String,
    pub(in crate::cli) name: PaymentName,
    /// The name as it stands in its cell, where a shield was taken off.
    pub(in crate::cli) as_written: Option<PaymentName>,
    pub(in crate::cli) decision: Decision,
}

/// What is wrong with rows of a file, in their order; of many, the first are told.
#[derive(Default)]
pub(in crate::cli) struct Faults {
    told: Vec<Error>,
    more: usize,
    is_cut: bool,
}

impl Faults {
    /// So many are told.
    pub(in crate::cli) const TOLD_MAX: usize = 20;

    pub(in crate::cli) fn add(&mut self, fault: Error) {
        match self.told.len() < Self::TOLD_MAX {
            true => self.told.push(fault),
            false => self.more += 1,
        }
    }

    /// Adds one that took a question to the gateway; returns whether to look at the next row.
    pub(in crate::cli) fn add_asked(&mut self, fault: Error) -> bool {
        self.add(fault);
        self.is_cut = self.told.len() >= Self::TOLD_MAX;
        !self.is_cut
    }

    /// # Errors
    /// What is wrong, if anything is.
    pub(in crate::cli) fn none(self, path: &Path) -> Result<(), Error> {
        let rows = self.told.len() + self.more;
        match rows {
            0 => Ok(()),
            1 => Err(self.told.into_iter().next().unwrap_or_else(|| refused(""))),
            _ => {
                let more = match (self.more, self.is_cut) {
                    (0, false) => String::new(),
                    (0, true) => ", and those below were not looked at".to_owned(),
                    _ => format!(", of which the first {} are told", self.told.len()),
                };
                let name = path.display();
                let what = format!(
                    "{name}: {rows} rows are refused{more}; no decision of the file was recorded"
                );
                Err(refused(what).after(self.told))
            }
        }
    }
}

/// Reads all decisions of a file, and what is wrong with others.
pub(in crate::cli) fn read(path: &Path) -> Result<(Vec<Row>, Faults), Error> {
    let name = path.display();
    let mut file = BufReader::new(open(path)?);
    let beginning = file.fill_buf().map_err(|error| {
        refused(format!(
            "{name}: cannot be read: {error}; nothing was recorded"
        ))
    })?;
    let first = beginning.split(|byte| matches!(byte, b'\n' | b'\r'));
    let first = first.into_iter().find(|line| !line.is_empty());
    let delimiter = delimiter_of(first.unwrap_or_default());
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .delimiter(delimiter)
        .flexible(true)
        .from_reader(Numbered::new(file, delimiter));
    let headers = match reader.headers() {
        Ok(headers) => headers.clone(),
        Err(error) => return Err(unread(path, &mut reader, &error)),
    };
    let places = Places::of(path, &headers)?;
    let (mut rows, mut faults) = (Vec::new(), Faults::default());
    let mut record = csv::StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => (),
            Ok(false) => break,
            Err(error) => {
                let place = at_line(path, &mut reader, error.position());
                match error.kind() {
                    csv::ErrorKind::Utf8 { .. } => faults.add(
                        refused(format!(
                            "{place}: the row is not UTF-8; nothing was recorded"
                        ))
                        .hint("save the file as \"CSV UTF-8\""),
                    ),
                    // Nobody knows what stands behind it.
                    _ => return Err(unread(path, &mut reader, &error)),
                }
                continue;
            }
        }
        let place = at_line(path, &mut reader, record.position());
        if record.iter().all(str::is_empty) {
            continue;
        }
        // One with a quote too few may hold the next row's decision.
        if record.iter().any(|cell| cell.contains(['\n', '\r'])) {
            return Err(refused(format!(
                "{place}: a cell goes over several lines, so rows may hide in it; nothing was recorded"
            ))
            .hint("write each decision on one line; if it is on one, a quote is missing there or below, or stands alone"));
        }
        match places.row(&record, place) {
            Ok(row) => rows.push(row),
            Err(fault) => faults.add(fault),
        }
        if rows.len() > ROWS_MAX {
            return Err(refused(format!(
                "{name}: more than {ROWS_MAX} decisions; nothing was recorded"
            ))
            .hint("split the file"));
        }
    }
    match rows.is_empty() && faults.told.is_empty() {
        true => Err(refused(format!("{name}: no decision is in the file")).hint(COLUMNS)),
        false => Ok((rows, faults)),
    }
}

fn refused(what: impl std::fmt::Display) -> Error {
    Error::refused(what)
}

/// Returns the file, with the line of a record.
fn at_line<R: Read>(
    path: &Path,
    reader: &mut csv::Reader<Numbered<R>>,
    at: Option<&csv::Position>,
) -> String {
    let line = at.map(|at| reader.get_mut().line_of(at.byte()));
    line.map_or_else(
        || path.display().to_string(),
        |line| format!("{}:{line}", path.display()),
    )
}

fn unread<R: Read>(
    path: &Path,
    reader: &mut csv::Reader<Numbered<R>>,
    error: &csv::Error,
) -> Error {
    if let csv::ErrorKind::Io(cause) = error.kind()
        && let Some(cause) = cause.get_ref()
        && let Some(cause) = cause.downcast_ref::<intake::Error>()
    {
        let line = cause
            .line()
            .map_or_else(String::new, |line| format!(":{line}"));
        let what = format!("{}{line}: {cause}; nothing was recorded", path.display());
        return refused(what).hint(cause.hint().unwrap_or_else(|| COLUMNS.to_owned()));
    }
    let place = at_line(path, reader, error.position());
    refused(format!("{place}: {error}; nothing was recorded")).hint(COLUMNS)
}

/// Returns how many cells a row has: a spreadsheet writes empty ones behind them.
fn width(record: &csv::StringRecord) -> usize {
    let filled = record
        .iter()
        .enumerate()
        .filter(|(_, cell)| !cell.is_empty());
    let last = filled.last().map_or(0, |(last, _)| last + 1);
    last.max(record.len().min(4))
}

/// Where the columns stand.
struct Places {
    name: usize,
    by: By,
    decision: usize,
    reason: usize,
    evidence: usize,
}

impl Places {
    fn of(path: &Path, headers: &csv::StringRecord) -> Result<Self, Error> {
        let name = path.display();
        let place = |wanted: &str| {
            headers.iter().position(|header| {
                header
                    .trim_start_matches('\u{feff}')
                    .eq_ignore_ascii_case(wanted)
            })
        };
        let named = place("identifier")
            .map(|at| (at, By::Identifier))
            .or(place("reference").map(|at| (at, By::Reference)));
        let (Some((at, by)), Some(decision), Some(reason), Some(evidence)) =
            (named, place("decision"), place("reason"), place("evidence"))
        else {
            return Err(refused(format!(
                "{name}: a column is missing; found {:?}; nothing was recorded",
                headers.iter().collect::<Vec<_>>()
            ))
            .hint(format!("{COLUMNS}, in its first line")));
        };
        if place("identifier").is_some() && place("reference").is_some() {
            return Err(refused(format!(
                "{name}: the file has both columns, identifier and reference; nothing was recorded"
            ))
            .hint("keep one of the two: payments that are named otherwise go into a file of their own"));
        }
        let count = width(headers);
        if count != 4 {
            return Err(refused(format!(
                "{name}: the file has {count} columns, expected four; nothing was recorded"
            ))
            .hint(COLUMNS));
        }
        Ok(Self {
            name: at,
            by,
            decision,
            reason,
            evidence,
        })
    }

    fn row(&self, record: &csv::StringRecord, place: String) -> Result<Row, Error> {
        let count = width(record);
        if count > 4 || record.len() < 4 {
            return Err(refused(format!(
                "{place}: the row has {count} cells, expected four; nothing was recorded"
            ))
            .hint(format!(
                "{COLUMNS}; a cell that has the sign between cells in it stands in quotes"
            )));
        }
        let cell = |at: usize| record.get(at).unwrap_or_default().to_owned();
        let paid = match cell(self.decision).to_ascii_lowercase().as_str() {
            "paid" => true,
            "failed" => false,
            other => {
                return Err(refused(format!(
                    "{place}: decision: expected paid or failed, found {other:?}; nothing was recorded"
                ))
                .hint(COLUMNS));
            }
        };
        let needed = [
            ("identifier or reference", self.name),
            ("reason", self.reason),
            ("evidence", self.evidence),
        ];
        for (what, at) in needed {
            if cell(at).is_empty() {
                return Err(refused(format!(
                    "{place}: {what} is empty; nothing was recorded"
                ))
                .hint(
                    "each decision is kept for ever: say which payment, why, and what it rests on",
                ));
            }
        }
        let name = |text: &str| PaymentName {
            text: text.to_owned(),
            by: self.by,
        };
        let written = record.get(self.name).unwrap_or_default();
        let plain = unshielded(written);
        Ok(Row {
            place,
            name: name(plain),
            as_written: (plain != written).then(|| name(written)),
            decision: Decision {
                paid,
                reason: cell(self.reason),
                evidence: cell(self.evidence),
            },
        })
    }
}

const COLUMNS: &str = "a CSV with the columns identifier (or reference), decision (paid or failed), reason, evidence, and commas, \
    semicolons or tabs between them";
