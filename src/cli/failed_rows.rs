//! `failed.csv` beside a report: the rows that failed or were rejected, as they were loaded, to be mended and added again.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use super::session::sandbox_flag;
use super::{Error, fresh_name, output};
use crate::domain::{BankAccount, BatchName, Instruction, PaymentKind};
use crate::journal::{Linked, PaymentRecord, RejectedRow};
use crate::ledger::Purpose;
use crate::ledger::correction::RejectedName;
use crate::ledger::shield::shielded;
use crate::lifecycle::State;
use crate::report::{Leftover, Way, remedy_of_failure, remove_leftover};

const NAME: &str = "failed.csv";

/// The columns of a row, and behind them what is said of it.
const COLUMNS: [&str; 18] = [
    "reference",
    "service_code",
    "msisdn",
    "account_number",
    "amount",
    "currency_code",
    "country_code",
    "narration",
    "customer_names",
    "invoice_number",
    "payment_mode",
    "hub_id",
    "bank_code",
    "bank_name",
    "bank_account_name",
    "bank_account_number",
    "document",
    "extra",
];
const SAID: [&str; 4] = ["rejected_row", "replaces", "reason", "what_to_do"];

/// The file in the making; without a row there is none.
pub(super) struct FailedRows {
    dir: PathBuf,
    batch: BatchName,
    purpose: Purpose,
    writer: Option<::csv::Writer<NamedTempFile>>,
    rows: u64,
}

/// The file that was written.
#[derive(Debug)]
pub(super) struct FailedFile {
    pub(super) path: PathBuf,
    rows: u64,
}

impl FailedRows {
    pub(super) fn of(dir: &Path, batch: &BatchName, purpose: Purpose) -> Self {
        Self {
            dir: dir.to_owned(),
            batch: batch.clone(),
            purpose,
            writer: None,
            rows: 0,
        }
    }

    /// Takes in a payment that has failed; others are none of its rows. `kind`: what the configuration says of its service.
    pub(super) fn add(
        &mut self,
        record: &PaymentRecord,
        kind: Option<PaymentKind>,
    ) -> Result<(), Error> {
        // Where an earlier one may be paid, or the word is not certain, a person decides first.
        if record.life.state != State::Failed || record.replaced_by.is_some() {
            return Ok(());
        }
        // Its debt is another row's by now.
        let is_over = |other: &Linked| matches!(other.state, "failed" | "cancelled");
        if !record.loaded_anew.iter().all(is_over) {
            return Ok(());
        }
        let row = &record.payment.instruction;
        let cells: Map<String, Value> = row
            .cells()
            .into_iter()
            .map(|(name, cell)| (name, cell.into()))
            .collect();
        let words = record.status_description.as_deref().unwrap_or_default();
        let reason = match record.life.code {
            Some(code) if words.is_empty() => format!("the gateway said {code}"),
            Some(code) => format!("{words} ({code})"),
            None => "an operator recorded it as failed".to_owned(),
        };
        let file = output::name(&self.dir.join(NAME).display().to_string());
        let way = Way {
            batch: &self.batch,
            file: &file,
            purpose: self.purpose,
            kind: kind.or_else(|| kind_of(row)),
        };
        let what_to_do = remedy_of_failure(record.life.code.map(i64::from), way);
        self.write(
            cells,
            ["", record.payment.id.as_str(), &reason, &what_to_do],
        )
    }

    /// Takes in a row that was rejected.
    pub(super) fn add_rejected(&mut self, row: &RejectedRow) -> Result<(), Error> {
        // Earlier releases kept neither its cells nor what it is known by.
        let Ok(Value::Object(cells)) = serde_json::from_str(&row.cells) else {
            return Ok(());
        };
        let name = RejectedName::of(&self.batch, &row.digest).to_string();
        let file = output::name(&self.dir.join(NAME).display().to_string());
        let what_to_do = format!(
            "Mend what the reason says, remove the other rows, then “disburse load {file} --batch {} --amend{}”: its payment takes its \
             place. If another row pays the same already, or it shall not be paid, leave this one out: nobody is missing.",
            self.batch,
            sandbox_flag(self.purpose)
        );
        self.write(cells, [&name, "", &row.errors, &what_to_do])
    }

    fn write(&mut self, mut cells: Map<String, Value>, said: [&str; 4]) -> Result<(), Error> {
        let extra = extra_of(&mut cells);
        let dir = &self.dir;
        let failed = |error: io::Error| unwritable(dir, &error);
        if self.writer.is_none() {
            let file = NamedTempFile::new_in(dir).map_err(failed)?;
            let mut writer = ::csv::Writer::from_writer(file);
            let header = COLUMNS.into_iter().chain(SAID);
            writer
                .write_record(header)
                .map_err(|error| failed(error.into()))?;
            self.writer = Some(writer);
        }
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let own = COLUMNS.into_iter().map(|column| match column {
            "extra" => extra.as_str(),
            column => cells
                .get(column)
                .and_then(Value::as_str)
                .unwrap_or_default(),
        });
        writer
            .write_record(own.chain(said).map(|cell| shielded(cell).into_owned()))
            .map_err(|error| failed(error.into()))?;
        self.rows += 1;
        Ok(())
    }

    /// Puts the file in its place; a name that somebody else's file has, or one that was mended, stays as it is.
    pub(super) fn finish(self) -> Result<Option<FailedFile>, Error> {
        let (dir, rows) = (self.dir, self.rows);
        let Some(writer) = self.writer else {
            remove_leftovers(&dir, None)?;
            return Ok(None);
        };
        let put = || -> io::Result<PathBuf> {
            let file = writer.into_inner().map_err(|error| error.into_error())?;
            file.as_file().sync_all()?;
            fresh_name::put(file, &dir.join(NAME), None)
        };
        let path = put().map_err(|error| unwritable(&dir, &error))?;
        remove_leftovers(&dir, Some(&path))?;
        Ok(Some(FailedFile { path, rows }))
    }
}

impl FailedFile {
    /// Says what to do with it.
    pub(super) fn text(&self, batch: &BatchName, sandbox: bool) -> String {
        let name = output::name(&self.path.display().to_string());
        format!(
            "{} that failed or {} rejected, each with its reason: {name}. Mend them, remove the others, and add it: disburse load {name} \
             --batch {batch} --amend{}",
            output::counted(self.rows, "row"),
            if self.rows == 1 { "was" } else { "were" },
            if sandbox { " --sandbox" } else { "" },
        )
    }
}

/// Takes the further members of `extraData` out of the cells, as one JSON object.
fn extra_of(cells: &mut Map<String, Value>) -> String {
    let written = cells.remove("extra");
    let names: Vec<String> = cells
        .keys()
        .filter(|name| name.starts_with("extra."))
        .cloned()
        .collect();
    let written = written.as_ref().and_then(Value::as_str).unwrap_or_default();
    if names.is_empty() {
        return written.to_owned();
    }
    let mut extra: Map<String, Value> = serde_json::from_str(written).unwrap_or_default();
    for name in names {
        if let Some(cell) = cells.remove(&name) {
            extra.insert(name.trim_start_matches("extra.").to_owned(), cell);
        }
    }
    Value::Object(extra).to_string()
}

/// Removes what earlier reports have left under this name: whoever mends it would mend what is no more so. What a person has
/// touched stays, and is told.
fn remove_leftovers(dir: &Path, placed: Option<&Path>) -> Result<(), Error> {
    for number in 1.. {
        let path = fresh_name::numbered(&dir.join(NAME), number);
        if placed == Some(path.as_path()) {
            continue;
        }
        let outcome = remove_leftover(&path);
        match outcome.map_err(|error| unwritable(dir, &error))? {
            Leftover::Nothing => break,
            Leftover::Removed => {}
            Leftover::Kept => output::note(&format!(
                "{} is of an earlier report, or somebody's own: it was changed since, stays as it is, and may name rows that have not failed any more",
                output::name(&path.display().to_string())
            )),
        }
    }
    Ok(())
}

/// Tells what kind of payment a row makes by whom it pays; none where a number of another kind stands there.
fn kind_of(row: &Instruction) -> Option<PaymentKind> {
    match () {
        () if !BankAccount::among(&row.extra).account_number.is_empty() => Some(PaymentKind::Bank),
        () if row.account_number == row.msisdn.as_str() => Some(PaymentKind::MobileMoney),
        () => None,
    }
}

fn unwritable(dir: &Path, error: &io::Error) -> Error {
    Error::refused(format!(
        "{}: {NAME} cannot be written: {error}",
        dir.display()
    ))
    .hint("name another folder with --out")
}
