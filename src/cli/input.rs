//! A batch file on its way into a journal: opened, read on a thread of its own, its errors shown and kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::arguments::FileArguments;
use super::config::Settings;
use super::{Error, output, rules};
use crate::domain::{Amount, Currency};
use crate::intake::{
    self, BadRow, Corrections, Encoding, Form, Format, Options, Reader, Row, RowError, Rules,
};
use crate::journal::{Incoming, LateError, RejectedRow};

/// Rows that travel together.
const BLOCK: usize = 512;
/// Blocks that wait for the journal.
const BLOCKS: usize = 4;
/// Errors that are shown; the corrections file has them all.
const SHOWN: usize = 50;

/// A batch file, opened so that it can be read twice.
#[derive(Debug)]
pub(super) struct Input {
    /// The name as the person gave it.
    pub(super) name: String,
    file: File,
    options: Options,
    rules: Arc<Rules>,
    corrections: PathBuf,
    /// No configuration gave defaults for columns that the file lacks.
    without_defaults: bool,
}

/// The rows of a file, as they are read.
type Blocks = Receiver<Vec<Incoming>>;
/// The reading itself.
pub(super) type Pending = tokio::task::JoinHandle<Result<Reading, Error>>;

/// What reading a file came to, beside the rows.
pub(super) struct Reading {
    shown: Vec<RowError>,
    errors: u64,
    bad_rows: u64,
    staged: Option<Corrections<BufWriter<tempfile::NamedTempFile>>>,
    form: Form,
    notes: Vec<String>,
}

impl Input {
    /// Opens the file of a command.
    pub(super) fn open(arguments: &FileArguments, settings: &Settings) -> Result<Self, Error> {
        let encoding = Encoding::from_name(&arguments.encoding).ok_or_else(|| {
            Error::refused(format!(
                "--encoding {}: expected utf-8 or windows-1252",
                arguments.encoding
            ))
        })?;
        let format = match &arguments.format {
            Some(name) => Some(Format::from_name(name).ok_or_else(|| {
                Error::refused(format!("--format {name}: expected csv, json or jsonl"))
            })?),
            None => Format::from_path(&arguments.file),
        };
        let (name, file) = if arguments.file == Path::new("-") {
            ("standard input".to_owned(), spool()?)
        } else {
            (
                output::name(&arguments.file.display().to_string()),
                open(&arguments.file)?,
            )
        };
        // A pipe lies in no folder of its own.
        let folder = if arguments.file.is_file() {
            folder_of(&arguments.file)
        } else {
            PathBuf::from(".")
        };
        let input = Self {
            without_defaults: settings.file.is_err() && settings.profile_name != "sandbox",
            corrections: arguments
                .corrections
                .clone()
                .unwrap_or_else(|| corrections_path(&arguments.file)),
            name,
            file,
            options: Options { format, encoding },
            rules: Arc::new(rules::of(settings, &folder)?),
        };
        input.probe()?;
        Ok(input)
    }

    /// Reads as far as the first row, so that a file of another kind is refused before a journal is made for it.
    fn probe(&self) -> Result<(), Error> {
        let first = Reader::open(self.reopened()?, &self.options, Arc::clone(&self.rules))
            .and_then(|mut reader| reader.next().transpose());
        match first {
            Ok(_) => Ok(()),
            Err(error @ intake::Error::MissingColumns(_)) if self.without_defaults => {
                Err(Error::of_file(&self.name, &error)
                    .hint("there is no disburse.toml yet, which could give the default; --sandbox has its own"))
            }
            Err(error) => Err(Error::of_file(&self.name, &error)),
        }
    }

    /// Returns where the bad rows go.
    pub(super) fn corrections(&self) -> &Path {
        &self.corrections
    }

    /// Returns the name without its folders, for the record.
    pub(super) fn source(&self) -> String {
        Path::new(&self.name).file_name().map_or_else(
            || self.name.clone(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Starts reading; the rows come in blocks, the rest when it is done.
    pub(super) fn read(&self) -> Result<(Blocks, Pending), Error> {
        let (sender, receiver) = sync_channel(BLOCKS);
        let (file, options, rules) = (self.reopened()?, self.options, Arc::clone(&self.rules));
        let (name, folder) = (self.name.clone(), folder_of(&self.corrections));
        let task = tokio::task::spawn_blocking(move || {
            let reader = Reader::open(file, &options, rules)
                .map_err(|error| Error::of_file(&name, &error))?;
            feed(reader, &sender, &name, &folder)
        });
        Ok((receiver, task))
    }

    fn reopened(&self) -> Result<File, Error> {
        let again = |error| Error::refused(format!("{}: cannot be read: {error}", self.name));
        let mut file = self.file.try_clone().map_err(again)?;
        file.rewind().map_err(again)?;
        Ok(file)
    }

    /// Shows the first errors and writes the file of corrections; returns how many rows are bad.
    pub(super) fn explain(&self, mut reading: Reading, late: &[LateError]) -> Result<u64, Error> {
        let late_rows: BTreeMap<u64, &LateError> =
            late.iter().map(|error| (error.line, error)).collect();
        if reading.bad_rows == 0 && late_rows.is_empty() {
            return Ok(0);
        }
        let mut shown: Vec<(u64, String)> = reading
            .shown
            .iter()
            .map(|error| (error.line, error.to_string()))
            .collect();
        shown.extend(
            late.iter()
                .take(SHOWN)
                .map(|error| (error.line, late_text(error))),
        );
        shown.sort_by_key(|(line, _)| *line);
        for (_, text) in shown.iter().take(SHOWN) {
            output::note(&format!("{}:{text}", self.name));
        }
        let errors = reading.errors + late.len() as u64;
        if errors > SHOWN as u64 {
            output::note(&format!("… and {} more", errors - SHOWN as u64));
        }
        self.add_late_rows(&mut reading, &late_rows)?;
        self.keep_corrections(reading.staged.take())?;
        Ok(reading.bad_rows + late_rows.len() as u64)
    }

    fn add_late_rows(
        &self,
        reading: &mut Reading,
        late: &BTreeMap<u64, &LateError>,
    ) -> Result<(), Error> {
        if late.is_empty() {
            return Ok(());
        }
        let mut staged = match reading.staged.take() {
            Some(staged) => staged,
            None => stage(&folder_of(&self.corrections), &reading.form)?,
        };
        let lines: BTreeSet<u64> = late.keys().copied().collect();
        let mut failed = None;
        let rows = intake::raw_rows(
            self.reopened()?,
            &self.options,
            Arc::clone(&self.rules),
            &lines,
            |line, cells| {
                let text = late
                    .get(&line)
                    .map(|error| joined(error))
                    .unwrap_or_default();
                if let Err(error) = staged.write_cells(&cells, &text) {
                    failed = Some(error);
                }
            },
        );
        rows.map_err(|error| Error::of_file(&self.name, &error))?;
        if let Some(error) = failed {
            return Err(unwritable(&self.corrections, &error));
        }
        reading.staged = Some(staged);
        Ok(())
    }

    fn keep_corrections(
        &self,
        staged: Option<Corrections<BufWriter<tempfile::NamedTempFile>>>,
    ) -> Result<(), Error> {
        let Some(staged) = staged else { return Ok(()) };
        let keep = || -> std::io::Result<()> {
            let mut buffer = staged.finish()?;
            buffer.flush()?;
            let file = buffer
                .into_inner()
                .map_err(std::io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&self.corrections)?;
            Ok(())
        };
        keep().map_err(|error| unwritable(&self.corrections, &error))?;
        output::note(&format!(
            "the rows with errors are in {}, each with its errors in the last column",
            output::name(&self.corrections.display().to_string())
        ));
        Ok(())
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::refused(format!(
        "{}: the corrections cannot be written: {error}",
        path.display()
    ))
    .hint("name another place with --corrections")
}

fn joined(error: &LateError) -> String {
    if error.column.is_empty() {
        error.message.clone()
    } else {
        format!("{}: {}", error.column, error.message)
    }
}

fn late_text(error: &LateError) -> String {
    format!("{}: {}", error.line, joined(error))
}

pub(super) fn open(path: &Path) -> Result<File, Error> {
    let file = File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::refused(format!("{}: no such file", path.display())),
        _ => Error::refused(format!("{}: cannot be read: {error}", path.display())),
    })?;
    let metadata = file
        .metadata()
        .map_err(|error| Error::refused(format!("{}: {error}", path.display())))?;
    if metadata.is_dir() {
        return Err(Error::refused(format!(
            "{}: is a folder; name a file in it",
            path.display()
        )));
    }
    if metadata.is_file() {
        Ok(file)
    } else {
        copied(file)
    }
}

/// Standard input is kept in an unnamed file, so that rows found late can be read again.
fn spool() -> Result<File, Error> {
    copied(std::io::stdin().lock())
}

fn copied(mut source: impl Read) -> Result<File, Error> {
    let mut copy = || -> std::io::Result<File> {
        let mut file = tempfile::tempfile()?;
        std::io::copy(&mut source, &mut file)?;
        Ok(file)
    };
    copy().map_err(|error| Error::refused(format!("standard input cannot be kept aside: {error}")))
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
        .to_owned()
}

fn corrections_path(input: &Path) -> PathBuf {
    let stem = input
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem
        .filter(|stem| stem != "-")
        .unwrap_or_else(|| "stdin".to_owned());
    let stem = stem.strip_suffix(".corrections").unwrap_or(&stem);
    let path = PathBuf::from(format!("{stem}.corrections.csv"));
    // A second round must not overwrite the file that it reads.
    let same = path
        .canonicalize()
        .is_ok_and(|path| input.canonicalize().is_ok_and(|input| input == path));
    if same {
        PathBuf::from(format!("{stem}.corrections-2.csv"))
    } else {
        path
    }
}

fn stage(
    folder: &Path,
    form: &Form,
) -> Result<Corrections<BufWriter<tempfile::NamedTempFile>>, Error> {
    let make = || {
        Corrections::create(
            BufWriter::new(tempfile::NamedTempFile::new_in(folder)?),
            form,
        )
    };
    make().map_err(|error| unwritable(folder, &error))
}

fn feed(
    mut reader: Reader,
    sender: &SyncSender<Vec<Incoming>>,
    name: &str,
    folder: &Path,
) -> Result<Reading, Error> {
    let mut reading = Reading {
        shown: Vec::new(),
        errors: 0,
        bad_rows: 0,
        staged: None,
        form: reader.form(),
        notes: Vec::new(),
    };
    let mut block = Vec::with_capacity(BLOCK);
    for row in reader.by_ref() {
        match row.map_err(|error| Error::of_file(name, &error))? {
            Row::Good(instruction) => block.push(Incoming::Good(instruction)),
            Row::Unpriced(row) => block.push(Incoming::Unpriced(row)),
            Row::Bad(row) => {
                reading.note(&row, folder)?;
                block.push(Incoming::Bad(rejected(&row, &reading.form)));
            }
        }
        if block.len() == BLOCK {
            let full = std::mem::replace(&mut block, Vec::with_capacity(BLOCK));
            if sender.send(full).is_err() {
                // The journal has refused or failed, and says so itself.
                return Ok(reading);
            }
        }
    }
    block.push(Incoming::End);
    let _ = sender.send(block);
    reading.notes = reader.notes();
    Ok(reading)
}

impl Reading {
    fn note(&mut self, row: &BadRow, folder: &Path) -> Result<(), Error> {
        self.bad_rows += 1;
        self.errors += row.errors.len() as u64;
        for error in &row.errors {
            if self.shown.len() < SHOWN {
                self.shown.push(error.clone());
            }
        }
        if self.staged.is_none() {
            self.staged = Some(stage(folder, &self.form)?);
        }
        match &mut self.staged {
            Some(staged) => staged
                .write(row)
                .map_err(|error| unwritable(folder, &error)),
            None => Ok(()),
        }
    }

    /// Returns what is worth telling about how the file was read.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }
}

fn rejected(row: &BadRow, form: &Form) -> RejectedRow {
    let cell = |name: &str| {
        let at = form.header.iter().position(|header| header.trim() == name);
        at.and_then(|at| row.raw.get(at))
            .map(|text| text.chars().take(128).collect())
            .unwrap_or_default()
    };
    RejectedRow {
        line: row.line,
        reference: row.reference.clone().unwrap_or_default(),
        service_code: row.service.clone().unwrap_or_default(),
        msisdn: cell("msisdn"),
        account_number: cell("account_number"),
        amount_text: cell("amount"),
        currency_code: row.amount.map_or_else(
            || cell("currency_code"),
            |money| money.currency.code().to_owned(),
        ),
        money: row.amount,
        errors: row.error_text(),
    }
}

/// Reads a declared total: `1500.00` in the profile's currency, or `KES 1500.00`.
pub(super) fn declared_total(text: &str, settings: &Settings) -> Result<(Currency, Amount), Error> {
    let refused = |why: String| Error::refused(format!("--expect-total {text}: {why}"));
    let (currency, digits) = match text.split_once(' ') {
        Some((code, digits)) => {
            let currency = Currency::from_code(code)
                .ok_or_else(|| refused(format!("{code} is no currency of ISO 4217")))?;
            (currency, digits.trim())
        }
        None => {
            let only = settings.profile.currency_code.or_else(|| {
                let mut all = settings.services.values().map(|service| service.currency);
                let first = all.next()?;
                all.all(|other| other == first).then_some(first)
            });
            let why = "name the currency too, as in \"KES 1500.00\"";
            (only.ok_or_else(|| refused(why.into()))?, text)
        }
    };
    let amount = Amount::parse(&digits.replace(',', ""), currency)
        .map_err(|error| refused(error.to_string()))?;
    Ok((currency, amount))
}
