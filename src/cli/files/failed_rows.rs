//! `failed.csv` beside a report: the rows that failed or were rejected, as they were loaded, to be mended and added again.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use super::fresh_name;
use super::plain::plain_name;
use crate::cli::Error;
use crate::cli::named;
use crate::cli::session::sandbox_flag;
use crate::cli::terminal::output;
use crate::cli::words::behind::recover_first;
use crate::domain::{BankAccount, BatchName, Instruction, PaymentKind};
use crate::intake::{BookCell, COLUMNS, NEW_SHEET, TextBook, unread_advice};
use crate::journal::{Linked, PaymentRecord, RejectedRow};
use crate::ledger::Purpose;
use crate::ledger::correction::RejectedName;
use crate::ledger::shield::shielded_in;
use crate::ledger::unread::{UNREAD, is_unread};
use crate::ledger::was_repeat::was_repeat;
use crate::lifecycle::State;
use crate::report::{
    Leftover, OF_FORGOTTEN, RECOVER_FIRST, Way, remedy_of_failure, remove_leftover,
};

const NAME: &str = "failed.csv";
/// The same rows as texts of a workbook, where the batch came in as one.
const BOOK: &str = "failed.xlsx";

/// Behind the columns of a row stands what links it to the journal, and what is said of it.
const SAID: [&str; 5] = ["rejected_row", "replaces", "reason", "what_to_do", UNREAD];

/// Returns the columns of a row: those of the contract, and all further members of `extraData` in one.
fn columns() -> impl Iterator<Item = &'static str> {
    let is_own = |column: &&str| !SAID.contains(column);
    COLUMNS.into_iter().filter(is_own).chain(["extra"])
}

/// Said of a row that names a document.
const BESIDE_DOCUMENTS: &str = "Its document is looked for in the folder of the file that is loaded: first copy this file into the folder of the batch file, and load it from there.";

/// Said of every row while a recovery is to be done first.
const REPORT_AGAIN: &str =
    "When that is done, write the report again: it then says what to do with this row.";

/// The file in the making; without a row there is none.
pub(in crate::cli) struct FailedRows {
    dir: PathBuf,
    /// The name that the file is to get, as a person types it.
    name: String,
    batch: BatchName,
    purpose: Purpose,
    writer: Option<::csv::Writer<NamedTempFile>>,
    /// The batch was loaded from a workbook, too.
    from_workbook: bool,
    book: Option<TextBook<NamedTempFile>>,
    rows: u64,
    /// Some row names a document.
    has_documents: bool,
    /// The journal may have missed that a row was paid since.
    is_behind: bool,
}

/// The file that was written.
#[derive(Debug)]
pub(in crate::cli) struct FailedFile {
    pub(in crate::cli) path: PathBuf,
    /// The same rows as a workbook.
    book: Option<PathBuf>,
    rows: u64,
    has_documents: bool,
    is_behind: bool,
}

/// Returns the name that the file of a report into this folder gets, as a person types it.
pub(in crate::cli) fn name_in(dir: &Path) -> String {
    let name = output::name(&fresh_name::next(&dir.join(NAME)).display().to_string());
    // It stands in commands that a person types.
    output::quoted(&name).into_owned()
}

impl FailedRows {
    /// `told`: the folder that it speaks of itself by. `loads`: the files that the batch was loaded from. `is_behind`: the journal
    /// may have missed that a row was paid since, so that no way to pay it again is told.
    pub(in crate::cli) fn of<'l>(
        (dir, told): (&Path, &Path),
        (batch, purpose): (&BatchName, Purpose),
        mut loads: impl Iterator<Item = &'l str>,
        is_behind: bool,
    ) -> Self {
        Self {
            dir: dir.to_owned(),
            name: name_in(told),
            batch: batch.clone(),
            purpose,
            writer: None,
            from_workbook: loads.any(is_workbook_name),
            book: None,
            rows: 0,
            has_documents: false,
            is_behind,
        }
    }

    /// Takes in a payment that has failed; others are none of its rows. `kind`: what the configuration says of its service.
    pub(in crate::cli) fn add(
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
        let name = named::argument_of(&record.payment);
        let way = Way {
            batch: &self.batch,
            file: &self.name,
            purpose: self.purpose,
            kind: kind.or_else(|| kind_of(row)),
            example: Some(record.payment.id.as_str()),
            row: Some(&name),
        };
        let what_to_do = match row.msisdn.is_forgotten() {
            true => format!("{OF_FORGOTTEN}."),
            false => remedy_of_failure(record.life.code.map(i64::from), way),
        };
        self.write(
            cells,
            ["", record.payment.id.as_str(), &reason, &what_to_do, ""],
        )
    }

    /// Takes in a row that was rejected.
    pub(in crate::cli) fn add_rejected(&mut self, row: &RejectedRow) -> Result<(), Error> {
        // Earlier releases kept neither its cells nor what it is known by.
        let Ok(Value::Object(mut cells)) = serde_json::from_str(&row.cells) else {
            return Ok(());
        };
        // Where its file named none, it is the one that the load was given.
        let service = row.service_code.as_str();
        if !service.is_empty() && cells.get("service_code").is_none_or(|cell| cell == "") {
            cells.insert("service_code".to_owned(), service.into());
        }
        let name = RejectedName::of(&self.batch, &row.digest).to_string();
        let unread = unread_text(&mut cells, row);
        let what_to_do = match was_repeat(&row.errors) {
            Some(other) => self.leave_out(row.line, &other.batch),
            None => self.mend(row.line, unread.is_some()),
        };
        let unread = unread.unwrap_or_default();
        self.write(cells, [&name, "", &row.errors, &what_to_do, &unread])
    }

    fn mend(&self, line: u64, is_unread: bool) -> String {
        let (batch, file, sandbox) = (&self.batch, &self.name, sandbox_flag(self.purpose));
        let mend = match is_unread {
            true => format!("{}. Then", unread_advice(true)),
            false => "Mend what the reason says,".to_owned(),
        };
        format!(
            "{mend} remove the other rows, then “disburse load {file} --batch {batch} --amend{sandbox}”: its payment \
             takes its place. If another row pays the same already, or this row must not be paid, leave it out and \
             withdraw it: “disburse cancel {batch} --rejected {line} --reason TEXT”."
        )
    }

    /// Said of a row that was rejected as a repeat: whatever is mended of it, it is paid already, or may be.
    fn leave_out(&self, line: u64, paid_in: &str) -> String {
        let (batch, file, sandbox) = (&self.batch, &self.name, sandbox_flag(self.purpose));
        format!(
            "Leave it out: it is paid, or may be, in batch {paid_in}. To withdraw it from this batch: “disburse cancel \
             {batch} --rejected {line} --reason TEXT”. Only if it is another debt, the person responsible adds it: \
             “disburse load {file} --batch {batch} --amend{sandbox}” shows the list of repeats; the same command with \
             the --allow-repeats that it names adds the row, to be paid."
        )
    }

    fn write(&mut self, mut cells: Map<String, Value>, said: [&str; 5]) -> Result<(), Error> {
        // Which documents a file may name is decided by its folder, and that is another one than the batch file's.
        let [rejected_row, replaces, reason, what_to_do, unread] = said;
        let recover_first = format!("{RECOVER_FIRST} {REPORT_AGAIN}");
        let what_to_do = match self.is_behind {
            true => recover_first.as_str(),
            false => what_to_do,
        };
        let names_document = cells
            .get("document")
            .and_then(Value::as_str)
            .is_some_and(|document| !document.trim().is_empty());
        let with_document = match names_document && !self.is_behind {
            true => format!("{what_to_do} {BESIDE_DOCUMENTS}"),
            false => what_to_do.to_owned(),
        };
        let with_document = output::carried(&with_document);
        let said = [rejected_row, replaces, reason, &with_document, unread];
        self.has_documents |= names_document;
        let extra = extra_of(&mut cells);
        let dir = &self.dir;
        let failed = |error: io::Error| unwritable(dir, &error);
        if self.writer.is_none() {
            let file = NamedTempFile::new_in(dir).map_err(failed)?;
            let mut writer = ::csv::Writer::from_writer(file);
            let header = columns().chain(SAID);
            writer
                .write_record(header)
                .map_err(|error| failed(error.into()))?;
            self.writer = Some(writer);
            if self.from_workbook {
                let file = NamedTempFile::new_in(dir).map_err(failed)?;
                let mut book = TextBook::create(file, NEW_SHEET).map_err(failed)?;
                book.write_row(columns().chain(SAID).map(BookCell::Text))
                    .map_err(failed)?;
                self.book = Some(book);
            }
        }
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let own = columns().map(|column| match column {
            "extra" => (column, extra.as_str()),
            column => {
                let cell = cells.get(column).and_then(Value::as_str);
                (column, cell.unwrap_or_default())
            }
        });
        let cells: Vec<(&str, &str)> = own.chain(SAID.into_iter().zip(said)).collect();
        if let Some(book) = &mut self.book {
            book.write_row(cells.iter().map(|(_, cell)| BookCell::Text(cell)))
                .map_err(failed)?;
        }
        writer
            .write_record(
                cells
                    .iter()
                    .map(|(column, cell)| shielded_in(column, cell).into_owned()),
            )
            .map_err(|error| failed(error.into()))?;
        self.rows += 1;
        Ok(())
    }

    /// Puts the file in its place; a name that somebody else's file has, or one that was mended, stays as it is.
    pub(in crate::cli) fn finish(self) -> Result<Option<FailedFile>, Error> {
        let (dir, rows, has_documents) = (self.dir, self.rows, self.has_documents);
        let Some(writer) = self.writer else {
            remove_leftovers(&dir, NAME, None)?;
            remove_leftovers(&dir, BOOK, None)?;
            return Ok(None);
        };
        let put = || -> io::Result<PathBuf> {
            let file = writer.into_inner().map_err(|error| error.into_error())?;
            file.as_file().sync_all()?;
            // It names all that may be mended as of now, whatever an earlier one named.
            fresh_name::put(file, &dir.join(NAME), None, |_, _| Ok(true))
        };
        let path = put().map_err(|error| unwritable(&dir, &error))?;
        remove_leftovers(&dir, NAME, Some(&path))?;
        let put_book = |book: TextBook<NamedTempFile>| -> io::Result<PathBuf> {
            let file = book.finish()?;
            file.as_file().sync_all()?;
            fresh_name::put(file, &dir.join(BOOK), None, |_, _| Ok(true))
        };
        let book = self.book.map(put_book).transpose();
        let book = book.map_err(|error| unwritable(&dir, &error))?;
        remove_leftovers(&dir, BOOK, book.as_deref())?;
        Ok(Some(FailedFile {
            path,
            book,
            rows,
            has_documents,
            is_behind: self.is_behind,
        }))
    }
}

impl FailedFile {
    /// Says what to do with it.
    pub(in crate::cli) fn text(&self, batch: &BatchName, sandbox: bool) -> String {
        let typed = |name: &str| output::quoted(&output::name(name)).into_owned();
        let name = typed(&self.path.display().to_string());
        let were = if self.rows == 1 { "was" } else { "were" };
        let rows = output::counted(self.rows, "row");
        if self.is_behind {
            return format!(
                "{rows} that failed or {were} rejected, each with its reason: {name}. {} When that is done, write the report again: it then says \
                 what to do with them",
                recover_first()
            );
        }
        let copied = self
            .path
            .file_name()
            .map_or_else(|| name.clone(), |file| typed(&file.to_string_lossy()));
        let (add, file) = match self.has_documents {
            false => ("and add it".to_owned(), &name),
            true => (
                "copy it into the folder of the batch file, in which its documents are looked for, and add it from there".to_owned(),
                &copied,
            ),
        };
        format!(
            "{rows} that failed or {were} rejected, each with its reason and what to do: {name}. Mend those that are wrong, remove the others, {add}: disburse load {file} \
             --batch {batch} --amend{}{}",
            if sandbox { " --sandbox" } else { "" },
            self.book.as_ref().map_or_else(String::new, |book| format!(
                "; or the same rows as a workbook, in which no digit is lost: {}",
                typed(&book.display().to_string())
            )),
        )
    }
}

/// Takes the text of a row that could not be read whole out of its cells, which are left empty: a piece of a row may pass as one.
fn unread_text(cells: &mut Map<String, Value>, row: &RejectedRow) -> Option<String> {
    if let Some(text) = cells.remove(UNREAD) {
        cells.clear();
        return Some(text.as_str().unwrap_or_default().to_owned());
    }
    if !is_unread(&row.errors) {
        return None;
    }
    // Earlier releases have kept no more than that.
    let read = std::mem::take(cells);
    let read = read.iter().map(|(name, cell)| {
        let cell = cell.as_str().unwrap_or_default();
        format!("{name}={cell}")
    });
    let read = read.collect::<Vec<_>>().join(", ");
    Some(format!(
        "[not kept: it is line {} of the file. Read before the break: {}]",
        row.line,
        read.chars().take(KEPT_MAX).collect::<String>()
    ))
}

/// The most characters that are shown of what was read of such a row: all of it stays within the limit of a cell.
const KEPT_MAX: usize = 900;

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

/// Returns whether a file's name says that it is a workbook, packed or not.
fn is_workbook_name(name: &str) -> bool {
    let plain = plain_name(Path::new(name));
    let ending = plain.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("xlsx"))
}

/// Removes what earlier reports have left under this name: whoever mends it would mend what is no more so. What a person has
/// touched stays, and is told.
fn remove_leftovers(dir: &Path, file: &str, placed: Option<&Path>) -> Result<(), Error> {
    for number in 1.. {
        let path = fresh_name::numbered(&dir.join(file), number);
        if placed == Some(path.as_path()) {
            continue;
        }
        let outcome = remove_leftover(&path);
        match outcome.map_err(|error| unwritable(dir, &error))? {
            Leftover::Nothing => break,
            Leftover::Removed => {}
            Leftover::Kept => output::note(&format!(
                "{} is of an earlier report, or somebody else's file: it was changed since, stays as it is, and may \
                name rows that are no longer failed",
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
