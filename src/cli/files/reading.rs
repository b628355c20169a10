//! The rows of a batch file as they are read: on their way into a journal, or kept with what is wrong with them.

use std::collections::BTreeMap;
use std::io::BufWriter;
use std::path::Path;
use std::sync::mpsc::SyncSender;

use super::rejected::{name_of, rejected};

use crate::cli::Error;
use crate::cli::words::mistakes::Mistakes;
use crate::cli::words::waiting;
use crate::domain::{BatchName, Timestamp, Totals, WireZone};
use crate::intake::{BadPlaces, BadRow, Corrections, Form, Reader, Row};
use crate::journal::LoadRow;
use crate::ledger::correction::Corrects;
use crate::ledger::schedule::Scheduled;

/// Rows that travel together.
const BLOCK: usize = 512;

/// Corrections that are written, and have no name yet.
pub(super) type Staged = Corrections<BufWriter<tempfile::NamedTempFile>>;

/// What reading a file came to, beside the rows.
pub(in crate::cli) struct Reading {
    /// Rows whose time is later than now, and what they come to.
    pub(super) scheduled: Scheduled,
    pub(super) not_due: Totals,
    pub(super) mistakes: Mistakes,
    /// Rows that are no payments, says the layout.
    pub(super) skipped: Mistakes,
    pub(super) bad_rows: u64,
    pub(super) bad_places: BadPlaces,
    pub(super) staged: Option<Staged>,
    pub(super) form: Form,
    /// What good rows correct, by their number among them.
    pub(super) corrects: BTreeMap<u64, Corrects>,
    pub(super) notes: Vec<String>,
    /// What was taken although it is odd.
    pub(in crate::cli) warnings: Vec<String>,
}

pub(super) fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::refused(format!(
        "{}: the corrections cannot be written: {error}",
        path.display()
    ))
    .hint("name another place with --corrections")
}

pub(super) fn stage(folder: &Path, form: &Form) -> Result<Staged, Error> {
    let make = || {
        let file = BufWriter::new(tempfile::NamedTempFile::new_in(folder)?);
        match form.sheet {
            Some(_) => Corrections::create_book(file, form),
            None => Corrections::create(file, form),
        }
    };
    make().map_err(|error| unwritable(folder, &error))
}

/// Reads the rows, hands over those that are payments, and keeps what is said of the others.
pub(super) fn feed(
    (mut reader, form): (Reader, Form),
    sender: &SyncSender<Vec<LoadRow>>,
    name: &str,
    (folder, batch): (&Path, Option<BatchName>),
    mistakes: Mistakes,
) -> Result<Reading, Error> {
    let now = Timestamp::now();
    let mut reading = Reading {
        scheduled: Scheduled::default(),
        not_due: Totals::default(),
        mistakes,
        skipped: Mistakes::of(name, false)?,
        bad_rows: 0,
        bad_places: BadPlaces::default(),
        staged: None,
        form,
        corrects: BTreeMap::new(),
        notes: Vec::new(),
        warnings: Vec::new(),
    };
    let mut block = Vec::with_capacity(BLOCK);
    let mut good_rows = 0;
    while let Some(row) = reader.next() {
        let row = row.map_err(|error| Error::of_file(name, &error))?;
        let is_bad = matches!(row, Row::Bad(_) | Row::Skipped(_));
        reading.bad_places.push(is_bad);
        good_rows += u64::from(!is_bad);
        let corrects = reader.corrects().cloned();
        if let Some(corrects) = &corrects {
            block.push(LoadRow::Corrects(corrects.clone()));
            if !is_bad {
                reading.corrects.insert(good_rows, corrects.clone());
            }
        }
        reading.count_not_due(&row, now);
        match row {
            Row::Good(instruction) => block.push(LoadRow::Valid(instruction)),
            Row::Unpriced(row) => block.push(LoadRow::Unpriced(row)),
            // Set aside, it would be a row to be mended and paid.
            Row::Bad(row) if row.is_example() && batch.is_some() => {
                let told = row.errors.first().map(ToString::to_string);
                return Err(Error::refused(format!(
                    "{name}:{}; nothing was loaded",
                    told.unwrap_or_default()
                ))
                .hint("remove the row, and load the file again; --on-error skip sets aside only rows that can be \
                    mended, and this one cannot"));
            }
            Row::Bad(row) => {
                let rejected = rejected(&row, &reading.form);
                let name = name_of(corrects.as_ref(), batch.as_ref(), &rejected.digest);
                reading.note(&row, &name, folder)?;
                block.push(LoadRow::Invalid(rejected));
            }
            Row::Skipped(row) => {
                for reason in &row.errors {
                    reading.skipped.add(reason)?;
                }
                block.push(LoadRow::Skipped(rejected(&row, &reading.form)));
            }
        }
        if block.len() >= BLOCK {
            let full = std::mem::replace(&mut block, Vec::with_capacity(BLOCK));
            if sender.send(full).is_err() {
                // The journal has refused or failed, and says so itself.
                return Ok(reading);
            }
        }
    }
    block.push(LoadRow::EndOfFile);
    let _ = sender.send(block);
    reading.notes = reader.notes();
    reading.warnings = reader.warnings();
    Ok(reading)
}

impl Reading {
    /// Counts a payment whose time is later.
    fn count_not_due(&mut self, row: &Row, now: Timestamp) {
        match row {
            Row::Good(row) if self.scheduled.add(row.not_before(), now) => {
                self.not_due.add(row.money);
            }
            Row::Unpriced(row) => {
                self.scheduled.add(row.not_before(), now);
            }
            _ => {}
        }
    }

    fn note(&mut self, row: &BadRow, name: &str, folder: &Path) -> Result<(), Error> {
        self.bad_rows += 1;
        for error in &row.errors {
            self.mistakes.add(error)?;
        }
        if self.staged.is_none() {
            self.staged = Some(stage(folder, &self.form)?);
        }
        match &mut self.staged {
            Some(staged) => staged
                .write(row, name)
                .map_err(|error| unwritable(folder, &error)),
            None => Ok(()),
        }
    }

    /// Says which rows are no payments, and why.
    pub(in crate::cli) fn tell_skipped(&self) {
        self.skipped.tell();
    }

    /// Says how much of the file is not paid today, as its rows name a later time.
    pub(in crate::cli) fn not_due_text(&self, zone: &WireZone) -> Option<String> {
        waiting::not_due_text(self.scheduled, &self.not_due, zone)
    }

    /// Returns what is worth telling about how the file was read.
    pub(in crate::cli) fn notes(&self) -> &[String] {
        &self.notes
    }
}
