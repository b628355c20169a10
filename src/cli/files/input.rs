//! A batch file on its way into a journal: opened, read on a thread of its own, its errors shown and kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, OnceLock};

use super::fresh_name;
use super::layouts;
use super::links;
use super::open::READABLE;
use super::open::open;
use super::plain::{Plain, PlainReader, plain_name};
use super::reading::{Reading, Staged, feed, stage, unwritable};
use super::rejected::name_of;
use super::rules;
use super::sheets::{said_of_sheets, sheet_options};
use sha2::{Digest, Sha256};

use crate::cli::Error;
use crate::cli::arguments::FileArguments;
use crate::cli::config::Settings;
use crate::cli::terminal::output;
use crate::cli::words::mistakes::Mistakes;
use crate::domain::{BatchName, WireZone};
use crate::intake::layout::{Layout, Period};
use crate::intake::{self, Encoding, Format, Options, Reader, Rules};
use crate::journal::{CrossRowError, LoadLayout, LoadRow};
use crate::report::FileIdentity;

/// Blocks that wait for the journal: so many that no thread stands still while another one sorts.
const BLOCKS: usize = 16;
/// What is looked at before standard input is kept.
const HEAD_BYTES: usize = 4 * 1024;
/// Bytes of standard input that are kept of what is no text, at most.
const PACKED_BYTES_MAX: u64 = 4 << 30;
/// Bytes of the file that are hashed at a time.
const PIECE_BYTES: usize = 64 * 1024;
pub(super) const STANDARD_INPUT: &str = "standard input";

/// A batch file, opened so that it can be read twice.
#[derive(Debug)]
pub(in crate::cli) struct Input {
    /// The name as the person gave it.
    pub(in crate::cli) name: String,
    /// The file itself; what is in it is read of `plain`.
    file: File,
    plain: Plain,
    options: Options,
    /// It is read by its sheets.
    is_workbook: bool,
    rules: Arc<Rules>,
    corrections: PathBuf,
    /// Where the bad rows went: not there, when something else has that name.
    kept: OnceLock<PathBuf>,
    /// No configuration gave defaults for columns that the file lacks.
    without_defaults: bool,
    /// The batch that sets bad rows aside.
    sets_aside_in: Option<BatchName>,
    /// Mistakes are printed for a program too.
    tells_objects: bool,
    /// They are printed.
    objects_told: AtomicBool,
}

/// The rows of a file, as they are read.
type Blocks = Receiver<Vec<LoadRow>>;
/// The reading itself.
pub(in crate::cli) type Pending = tokio::task::JoinHandle<Result<Reading, Error>>;

impl Input {
    /// Returns the zone that its days are read in.
    pub(in crate::cli) fn zone(&self) -> WireZone {
        self.rules.zone.clone().unwrap_or_else(WireZone::utc)
    }

    /// Returns the period that each of its references names, where a layout puts one behind them.
    pub(in crate::cli) fn period(&self) -> Option<&str> {
        match &self.options.layout.as_ref()?.period {
            Period::Given(period) => Some(period),
            Period::None | Period::Open => None,
        }
    }

    /// Opens the file of a command.
    pub(in crate::cli) fn open(
        arguments: &FileArguments,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let period = arguments.period.as_deref();
        let layout = match (&arguments.layout, period) {
            (Some(name), period) => {
                Some(layouts::of_period(layouts::find(name, settings)?, period)?)
            }
            (None, None) => None,
            (None, Some(period)) => return Err(layouts::without_layout(period)),
        };
        Self::opened(arguments, settings, layout, None)
    }

    /// Opens a file, which is unpacked already, by a layout that has no name yet.
    pub(in crate::cli) fn by_layout(
        arguments: &FileArguments,
        settings: &Settings,
        layout: Layout,
        plain: Plain,
    ) -> Result<Self, Error> {
        Self::opened(arguments, settings, Some(layout), Some(plain))
    }

    fn opened(
        arguments: &FileArguments,
        settings: &Settings,
        layout: Option<Layout>,
        plain: Option<Plain>,
    ) -> Result<Self, Error> {
        let layout = layout.map(Arc::new);
        let encoding = encoding(arguments, layout.as_deref())?;
        let sheet = sheet_options(&said_of_sheets(arguments), layout.as_deref())?;
        let format = match &arguments.format {
            Some(name) => Some(Format::from_name(name).ok_or_else(|| {
                Error::refused(format!(
                    "--format {name}: expected csv, json, jsonl or pain.001"
                ))
            })?),
            None => None,
        };
        let (name, file) = if arguments.file == Path::new("-") {
            (STANDARD_INPUT.to_owned(), spool()?)
        } else {
            (
                output::name(&arguments.file.display().to_string()),
                open(&arguments.file)?,
            )
        };
        let plain = match plain {
            Some(plain) => plain,
            None => {
                let again = |error| {
                    Error::refused(format!("{name}: cannot be read: {error}")).hint(READABLE)
                };
                let contents = file.try_clone().map_err(again)?;
                Plain::of(&name, &arguments.file, contents, &settings.files)?
            }
        };
        // A pipe lies in no folder of its own.
        let folder = if arguments.file.is_file() {
            folder_of(&arguments.file)
        } else {
            PathBuf::from(".")
        };
        let mut input = Self {
            without_defaults: settings.file.is_err() && settings.profile_name != "sandbox",
            corrections: arguments
                .corrections
                .clone()
                .unwrap_or_else(|| corrections_path(&arguments.file, "csv")),
            kept: OnceLock::new(),
            name,
            sets_aside_in: None,
            tells_objects: false,
            objects_told: AtomicBool::new(false),
            file,
            options: Options {
                format: format.or_else(|| Format::from_path(&plain.name)),
                encoding,
                layout,
                sheet,
            },
            plain,
            is_workbook: false,
            rules: Arc::new(rules::of(settings, &folder)?),
        };
        // A format that was named is the one that is read.
        input.is_workbook = format.is_none() && intake::is_workbook(input.reopened()?);
        if input.is_workbook
            && arguments.sheet.is_none()
            && let Some(sheet) = &input.options.sheet.sheet
            && intake::is_own_book_without(input.reopened()?, sheet)
        {
            // The sheet that the layout names is that of the file in which the rows came.
            input.options.sheet.sheet = None;
        }
        if input.is_workbook && arguments.corrections.is_none() {
            input.corrections = corrections_path(&arguments.file, "xlsx");
        }
        input.probe()?;
        Ok(input)
    }

    /// Prints every mistake as an object, too.
    pub(in crate::cli) fn telling_objects(mut self, tells: bool) -> Self {
        self.tells_objects = tells;
        self
    }

    /// Names the bad rows in the corrections as the batch does that sets them aside.
    pub(in crate::cli) fn setting_aside(mut self, batch: Option<&BatchName>) -> Self {
        self.sets_aside_in = batch.cloned();
        self
    }

    /// Returns whether the mistakes of the rows were printed as objects.
    pub(in crate::cli) fn has_told_objects(&self) -> bool {
        self.objects_told.load(Ordering::Relaxed)
    }

    /// Takes references and accounts as they stand, odd ones too: an earlier journal has made identifiers from them.
    pub(in crate::cli) fn presuming_posted(mut self, presume_posted: bool) -> Self {
        Arc::make_mut(&mut self.rules).presumes_posted = presume_posted;
        self
    }

    /// Reads as far as the first row, so that a file of another kind is refused before a journal is made for it.
    fn probe(&self) -> Result<(), Error> {
        // The row is not judged: the patterns of phone numbers are fastest on the thread that used them first, which is to be the
        // one that reads all rows.
        match open_rows(self.reopened()?, self.is_workbook, &self.options, &self.rules) {
            Ok(_) => Ok(()),
            Err(error @ intake::Error::MissingColumns(_)) if self.without_defaults => {
                Err(Error::of_file(&self.name, &error)
                    .hint("there is no disburse.toml yet, which could give the default; --sandbox has its own"))
            }
            Err(error) => Err(Error::of_file(&self.name, &error)),
        }
    }

    /// Returns where the bad rows went, or are to go.
    pub(in crate::cli) fn corrections(&self) -> &Path {
        self.kept.get().unwrap_or(&self.corrections)
    }

    /// Returns which file it is, whatever its names.
    pub(in crate::cli) fn identity(&self) -> Result<FileIdentity, Error> {
        FileIdentity::of(&self.file).map_err(|error| {
            Error::refused(format!("{}: cannot be read: {error}", self.name)).hint(READABLE)
        })
    }

    /// Returns the name without its folders, for the record.
    pub(in crate::cli) fn source(&self) -> String {
        Path::new(&self.name).file_name().map_or_else(
            || self.name.clone(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Returns a reader of the rows, from the first one on.
    pub(in crate::cli) fn reader(&self) -> Result<Reader, Error> {
        open_rows(
            self.reopened()?,
            self.is_workbook,
            &self.options,
            &self.rules,
        )
        .map_err(|error| Error::of_file(&self.name, &error))
    }

    /// Returns whether this program has written the file for rows to be mended.
    pub(in crate::cli) fn is_ours(&self) -> Result<bool, Error> {
        Ok(self.reader()?.is_ours())
    }

    /// Returns the layout that the file is read by, for the record.
    pub(in crate::cli) fn layout(&self) -> Result<Option<LoadLayout>, Error> {
        let Some(layout) = &self.options.layout else {
            return Ok(None);
        };
        let mut file = self.reopened()?;
        let mut hash = Sha256::new();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = file.read(&mut piece).map_err(|error| {
                Error::refused(format!("{}: cannot be read: {error}", self.name)).hint(READABLE)
            })?;
            if read == 0 {
                break;
            }
            hash.update(&piece[..read]);
        }
        Ok(Some(LoadLayout {
            name: layout.name.clone(),
            digest: layout.digest(),
            file: data_encoding::HEXLOWER.encode(&hash.finalize()),
        }))
    }

    /// Starts reading; the rows come in blocks, the rest when it is done.
    pub(in crate::cli) fn read(&self) -> Result<(Blocks, Pending), Error> {
        let (sender, receiver) = sync_channel(BLOCKS);
        let (file, options, rules) = (
            self.reopened()?,
            self.options.clone(),
            Arc::clone(&self.rules),
        );
        let (name, folder) = (self.name.clone(), folder_of(&self.corrections));
        let notes = self.plain.notes.clone();
        let (objects, is_workbook) = (self.tells_objects, self.is_workbook);
        let as_csv = is_csv(&self.corrections);
        let batch = self.sets_aside_in.clone();
        let task = tokio::task::spawn_blocking(move || {
            let reader = open_rows(file, is_workbook, &options, &rules)
                .map_err(|error| Error::of_file(&name, &error))?;
            let mistakes = Mistakes::of(&name, objects)?.labelled(reader.form().labels);
            let mut form = reader.form();
            form.sheet = form.sheet.filter(|_| !as_csv);
            let mut reading = feed((reader, form), &sender, &name, (&folder, batch), mistakes)?;
            reading.notes.splice(0..0, notes);
            Ok(reading)
        });
        Ok((receiver, task))
    }

    fn reopened(&self) -> Result<PlainReader, Error> {
        self.plain.reader()
    }

    /// Shows the first errors and writes the file of corrections; returns how many rows are bad.
    pub(in crate::cli) fn explain(
        &self,
        mut reading: Reading,
        late: &[CrossRowError],
    ) -> Result<u64, Error> {
        let late_rows: BTreeMap<u64, &CrossRowError> =
            late.iter().map(|error| (error.good_row, error)).collect();
        if reading.bad_rows == 0 && late_rows.is_empty() {
            return Ok(0);
        }
        for error in late {
            reading.mistakes.add_late(error)?;
        }
        reading.mistakes.tell();
        self.add_late_rows(&mut reading, &late_rows)?;
        self.keep_corrections(reading.staged.take())?;
        let bad = reading.bad_rows + late_rows.len() as u64;
        reading.mistakes.print_objects(bad)?;
        self.objects_told
            .store(self.tells_objects, Ordering::Relaxed);
        Ok(bad)
    }

    fn add_late_rows(
        &self,
        reading: &mut Reading,
        late: &BTreeMap<u64, &CrossRowError>,
    ) -> Result<(), Error> {
        if late.is_empty() {
            return Ok(());
        }
        let mut staged = match reading.staged.take() {
            Some(staged) => staged,
            None => stage(&folder_of(&self.corrections), &reading.form)?,
        };
        let rows: BTreeSet<u64> = late.keys().copied().collect();
        let mut failed = None;
        let rows = intake::raw_rows_of(self.reader()?, &reading.bad_places, &rows, |row, cells| {
            let Some(error) = late.get(&row) else { return };
            let corrects = reading.corrects.get(&row);
            let name = name_of(corrects, self.sets_aside_in.as_ref(), &error.digest);
            if let Err(error) = staged.write_cells(&cells, &name, &joined(error)) {
                failed = Some(error);
            }
        });
        rows.map_err(|error| Error::of_file(&self.name, &error))?;
        if let Some(error) = failed {
            return Err(unwritable(&self.corrections, &error));
        }
        reading.staged = Some(staged);
        Ok(())
    }

    fn keep_corrections(&self, staged: Option<Staged>) -> Result<(), Error> {
        let Some(staged) = staged else { return Ok(()) };
        let keep = || -> std::io::Result<PathBuf> {
            let mut buffer = staged.finish()?;
            buffer.flush()?;
            let file = buffer
                .into_inner()
                .map_err(std::io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            let input = FileIdentity::of(&self.file).ok();
            fresh_name::put(file, &self.corrections, input, links::all_kept)
        };
        let kept = keep().map_err(|error| unwritable(&self.corrections, &error))?;
        let name = output::name(&kept.display().to_string());
        let instead = match kept == self.corrections {
            true => String::new(),
            false => {
                let other = output::name(&self.corrections.display().to_string());
                match links::has_some(&self.corrections).unwrap_or(false) {
                    true => format!(
                        "; {other} names rows that an earlier load has rejected or that have failed, and stays as it is: mend those there"
                    ),
                    false => format!("; {other} is another file, and stays as it is"),
                }
            }
        };
        output::note(&format!(
            "the rows with errors are in {name}, each with its errors in the last column{}{instead}",
            match self.plain.was_encrypted {
                true => ", and not encrypted",
                false => "",
            }
        ));
        let _ = self.kept.set(kept);
        Ok(())
    }
}

fn joined(error: &CrossRowError) -> String {
    if error.column.is_empty() {
        error.message.clone()
    } else {
        format!("{}: {}", error.column, error.message)
    }
}

/// Standard input is kept in an unnamed file, so that rows found late can be read again.
pub(super) fn spool() -> Result<File, Error> {
    let failed = |error: std::io::Error| {
        Error::refused(format!("standard input cannot be kept aside: {error}"))
    };
    let mut source = std::io::stdin().lock();
    let mut head = Vec::with_capacity(HEAD_BYTES);
    source
        .by_ref()
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(|error| match error.kind() {
            ErrorKind::IsADirectory => {
                Error::refused("standard input: is a folder; name a file in it")
            }
            _ => Error::refused(format!("standard input: cannot be read: {error}")),
        })?;
    // Told before all of it is kept: what is no text may have no end either.
    let is_packed = head.starts_with(b"PK\x03\x04") || head.starts_with(b"\x1f\x8b");
    if !is_packed {
        intake::refuse_foreign(&head).map_err(|error| Error::of_file(STANDARD_INPUT, &error))?;
    }
    let mut file = tempfile::tempfile().map_err(failed)?;
    file.write_all(&head).map_err(failed)?;
    let most = match is_packed {
        true => PACKED_BYTES_MAX,
        false => u64::MAX,
    };
    if std::io::copy(&mut source.take(most), &mut file).map_err(failed)? == most {
        return Err(Error::refused(format!(
            "standard input: has more than {most} bytes of a packed file or a workbook"
        ))
        .hint("split the batch into several files"));
    }
    Ok(file)
}

/// Opens the rows of a file, or of a sheet.
fn open_rows(
    file: PlainReader,
    is_workbook: bool,
    options: &Options,
    rules: &Arc<Rules>,
) -> Result<Reader, intake::Error> {
    match is_workbook {
        true => Reader::open_workbook(file, options, Arc::clone(rules)),
        false => Reader::open(file, options, Arc::clone(rules)),
    }
}

/// Returns the encoding that a flag names, else the layout's.
fn encoding(arguments: &FileArguments, layout: Option<&Layout>) -> Result<Encoding, Error> {
    match &arguments.encoding {
        Some(name) => Encoding::from_name(name).ok_or_else(|| {
            Error::refused(format!(
                "--encoding {name}: expected utf-8, utf-16, windows-1252 or iso-8859-1"
            ))
        }),
        None => Ok(layout
            .and_then(|layout| layout.encoding)
            .unwrap_or_default()),
    }
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
        .to_owned()
}

fn is_csv(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
}

fn corrections_path(input: &Path, ending: &str) -> PathBuf {
    let stem = plain_name(input)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem
        .filter(|stem| stem != "-")
        .unwrap_or_else(|| "stdin".to_owned());
    let stem = stem.strip_suffix(".corrections").unwrap_or(&stem);
    // A second round has another number: it does not overwrite the file that it reads.
    let stem = match stem.rsplit_once(".corrections-") {
        Some((first, number)) if number.parse::<u32>().is_ok() => first,
        _ => stem,
    };
    PathBuf::from(format!("{stem}.corrections.{ending}"))
}
