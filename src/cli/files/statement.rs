//! A statement on its way to be held against a batch: how it is to be read, and the file itself, opened as batch files are.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::input::{STANDARD_INPUT, spool};
use super::layouts;
use super::open::{READABLE, open};
use super::plain::Plain;
use crate::cli::Error;
use crate::cli::arguments::StatementArguments;
use crate::cli::config::{FileSettings, Settings};
use crate::cli::terminal::output;
use crate::ledger::reconciliation::StatementEntry;
use crate::statement::{self, COLUMNS, Said, Summary, Terms};

/// Bytes that are hashed at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// Characters of a name that are kept.
const NAME_MAX: usize = 128;

/// Returns how a statement is to be read: as the options say, else as the layout that they name, else as is usual.
pub(in crate::cli) fn terms(
    arguments: &StatementArguments,
    settings: &Settings,
) -> Result<Terms, Error> {
    let said = said(arguments)?;
    let terms = match &arguments.layout {
        Some(name) => said.over(layouts::of_statement(name, settings)?),
        None => said,
    };
    terms.check().map_err(|(key, expected)| {
        Error::refused(format!("--{}: expected {expected}", option(key)))
            .hint("leave it out, or add --format csv or --format xlsx")
    })?;
    Ok(terms)
}

/// Returns what the option of a key is called.
fn option(key: &str) -> String {
    match key {
        "columns" => "column".to_owned(),
        "charges" => "charge".to_owned(),
        key => key.replace('_', "-"),
    }
}

/// Reads the options.
fn said(arguments: &StatementArguments) -> Result<Terms, Error> {
    let texts = [
        ("account", &arguments.account),
        ("format", &arguments.format),
        ("currency", &arguments.currency),
        ("date_format", &arguments.date_format),
        ("decimal", &arguments.decimal),
        ("delimiter", &arguments.delimiter),
        ("encoding", &arguments.encoding),
        ("sheet", &arguments.sheet),
        ("hidden", &arguments.hidden),
        ("formulas", &arguments.formulas),
    ];
    let words = [
        ("booked", &arguments.booked),
        ("pending", &arguments.pending),
        ("not_executed", &arguments.not_executed),
        ("reversed", &arguments.reversed),
        ("charges", &arguments.charges),
    ];
    let mut all: Vec<(&str, Said, String)> = Vec::new();
    for (key, text) in texts {
        let told = |text: &String| (key, Said::Text(text.clone()), format!("{text:?}"));
        all.extend(text.as_ref().map(told));
    }
    for (key, words) in words {
        if !words.is_empty() {
            all.push((key, Said::Words(words.clone()), format!("{words:?}")));
        }
    }
    if let Some(row) = arguments.header {
        all.push(("header", Said::Number(row), row.to_string()));
    }
    if let Some(flag) = arguments.paid_out {
        all.push(("paid_out", Said::Flag(flag), flag.to_string()));
    }
    let mut terms = Terms::default();
    for (key, said, found) in all {
        terms.say(key, said).map_err(|expected| {
            Error::refused(format!(
                "--{}: expected {expected}, found {found}",
                option(key)
            ))
        })?;
    }
    for (name, headers) in columns(&arguments.columns)? {
        let found = format!("{name:?}");
        terms
            .say("columns", Said::Column(name, headers))
            .map_err(|expected| {
                Error::refused(format!("--column: expected {expected}, found {found}"))
            })?;
    }
    Ok(terms)
}

/// Reads `NAME=HEADER`, where a name may be said again: it stands in several columns then.
fn columns(options: &[String]) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for option in options {
        let Some((name, header)) = option.split_once('=') else {
            return Err(Error::refused(format!(
                "--column: expected NAME=HEADER, found {option:?}"
            ))
            .hint(format!("NAME is one of {}", COLUMNS.join(", "))));
        };
        let headers = columns.entry(name.trim().to_owned()).or_default();
        headers.push(header.to_owned());
    }
    Ok(columns)
}

/// A statement, opened: packed and encrypted ones as batch files are.
pub(in crate::cli) struct StatementFile {
    /// As the person named it.
    pub(in crate::cli) shown: String,
    /// Its name without folders, for the record.
    pub(in crate::cli) source: String,
    /// What is worth telling about how it was opened.
    pub(in crate::cli) notes: Vec<String>,
    plain: Plain,
}

impl StatementFile {
    /// Opens a statement; `-` is standard input.
    pub(in crate::cli) fn open(path: &Path, settings: &FileSettings) -> Result<Self, Error> {
        let (shown, file) = match path == Path::new("-") {
            true => (STANDARD_INPUT.to_owned(), spool()?),
            false => (output::name(&path.display().to_string()), open(path)?),
        };
        let source = path.file_name().unwrap_or_default().to_string_lossy();
        let source = source.chars().filter(|c| !c.is_control()).take(NAME_MAX);
        let plain = Plain::of(&shown, path, file, settings)?;
        Ok(Self {
            source: source.collect(),
            notes: plain.notes.clone(),
            shown,
            plain,
        })
    }

    /// Returns the SHA-256 of the statement, in hexadecimal digits; of a packed or encrypted one, that of what is inside.
    pub(in crate::cli) fn digest(&self) -> Result<String, Error> {
        let mut input = self.plain.reader()?;
        let mut hash = Sha256::new();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = input.read(&mut piece).map_err(|error| {
                Error::refused(format!("{}: cannot be read: {error}", self.shown)).hint(READABLE)
            })?;
            if read == 0 {
                return Ok(data_encoding::HEXLOWER.encode(&hash.finalize()));
            }
            hash.update(&piece[..read]);
        }
    }

    /// Reads the statement, and returns what it was of, with its digest.
    pub(in crate::cli) fn read(
        &self,
        terms: &Terms,
        take: &mut dyn FnMut(StatementEntry) -> bool,
    ) -> Result<(Summary, String), Error> {
        let name = &self.shown;
        let digest = self.digest()?;
        let summary = statement::read(self.plain.reader()?, terms, take).map_err(|error| {
            Error::refused(format!("{}; nothing was recorded", error.of_file(name)))
                .hint(error.hint())
        })?;
        // What is on record must be what was read: a program may be writing the file still.
        if self.digest()? != digest {
            return Err(Error::refused(format!(
                "{name}: the file has changed while it was read; nothing was recorded"
            ))
            .hint("wait until it is written, and run the same command again"));
        }
        if summary.entries == 0 {
            return Err(Error::refused(format!(
                "{name}: the statement has no lines; nothing was recorded"
            ))
            .hint("fetch the statement of the days on which the batch was paid"));
        }
        Ok((summary, digest))
    }
}
