//! A file of decisions about payments, for `resolve --from`: every row is read, and whatever is wrong with it is said at once.

use std::io::Read;
use std::path::Path;

use super::input::STANDARD_INPUT;
use super::open::open;
use crate::cli::Error;
use crate::cli::terminal::output;
use crate::intake::{self, Encoding, TextLines};
use crate::journal::Decision;
use crate::ledger::names::{By, PaymentName};
use crate::ledger::shield::unshielded;

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
                let name = shown(path);
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
    let name = shown(path);
    let unread = |error| unread(&name, &error);
    let is_column = |name: &str| NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
    let input: Box<dyn Read + Send> = match path == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(open(path)?),
    };
    let mut lines = TextLines::open_by(input, Encoding::Utf8, is_column).map_err(unread)?;
    if !lines.advance().map_err(unread)? {
        return Err(refused(format!("{name}: no decision is in the file")).hint(COLUMNS));
    }
    let places = Places::of(&name, &trimmed(&lines))?;
    let (mut rows, mut faults) = (Vec::new(), Faults::default());
    while lines.advance().map_err(unread)? {
        let place = format!("{name}:{}", lines.line());
        let cells = trimmed(&lines);
        // One with a quote too few may hold the next row's decision.
        if cells.iter().any(|cell| cell.contains(['\n', '\r'])) {
            return Err(refused(format!(
                "{place}: a cell goes over several lines, so rows may hide in it; nothing was recorded"
            ))
            .hint("write each decision on one line; if it is on one, a quote is missing there or below, or stands alone"));
        }
        match places.row(&cells, place) {
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

/// Returns the file for a person.
fn shown(path: &Path) -> String {
    match path == Path::new("-") {
        true => STANDARD_INPUT.to_owned(),
        false => output::name(&path.display().to_string()),
    }
}

fn trimmed(lines: &TextLines) -> Vec<&str> {
    lines.cells().into_iter().map(str::trim).collect()
}

fn unread(name: &str, error: &intake::Error) -> Error {
    use intake::Error as E;
    let what = match error {
        E::Foreign { what, .. } => format!("is {what}, not a CSV"),
        other => other.to_string(),
    };
    let hint = match error {
        E::Foreign { what, .. } if what.contains("workbook") => {
            Some("save the sheet as \"CSV UTF-8\"".to_owned())
        }
        E::NotUtf8 { .. } => Some("save it again as \"CSV UTF-8\"".to_owned()),
        E::Empty => None,
        other => other.hint(),
    };
    let place = error
        .place()
        .map_or_else(String::new, |at| format!(":{at}"));
    refused(format!("{name}{place}: {what}; nothing was recorded"))
        .hint(hint.unwrap_or_else(|| COLUMNS.to_owned()))
}

/// Returns how many cells a row has: a spreadsheet writes empty ones behind them.
fn width(cells: &[&str]) -> usize {
    let last = cells.iter().rposition(|cell| !cell.is_empty());
    last.map_or(0, |last| last + 1).max(cells.len().min(4))
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
    fn of(name: &str, headers: &[&str]) -> Result<Self, Error> {
        let place = |wanted: &str| {
            let mut headers = headers.iter();
            headers.position(|header| header.eq_ignore_ascii_case(wanted))
        };
        let named = place("identifier")
            .map(|at| (at, By::Identifier))
            .or(place("reference").map(|at| (at, By::Reference)));
        let (Some((at, by)), Some(decision), Some(reason), Some(evidence)) =
            (named, place("decision"), place("reason"), place("evidence"))
        else {
            return Err(refused(format!(
                "{name}: a column is missing; found {headers:?}; nothing was recorded"
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
                "{name}: the file has {count} columns, expected four; found {headers:?}; nothing was recorded"
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

    fn row(&self, cells: &[&str], place: String) -> Result<Row, Error> {
        let count = width(cells);
        if count > 4 || cells.len() < 4 {
            return Err(refused(format!(
                "{place}: the row has {count} cells, expected four; nothing was recorded"
            ))
            .hint(format!(
                "{COLUMNS}; a cell that has the sign between cells in it stands in quotes"
            )));
        }
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default().to_owned();
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
        let written = cells.get(self.name).copied().unwrap_or_default();
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

const NAMES: [&str; 5] = ["identifier", "reference", "decision", "reason", "evidence"];

const COLUMNS: &str = "a CSV with the columns identifier (or reference), decision (paid or failed), reason, evidence, and commas, \
    semicolons or tabs between them";
