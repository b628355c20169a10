//! One pass over the entries that feeds the fold and the three files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::csv::Sheet;
use super::html::Page;
use super::json::Document;
use super::{BatchHeader, Entry, Error, Prepaid, Reconciliation, output};
use crate::domain::{Electricity, Timestamp};

/// An entry with its texts as the files show them, made once for all three.
pub(super) struct Row<'a> {
    pub(super) entry: &'a Entry<'a>,
    pub(super) amount: &'a str,
    pub(super) currency: &'a str,
    pub(super) posted_at: &'a str,
    pub(super) settled_at: &'a str,
    pub(super) electricity: Option<Electricity>,
}

impl Row<'_> {
    /// Returns whether the narration is, or may be, a token: the page is passed around more freely than the other files.
    pub(super) fn is_bearer(&self) -> bool {
        self.electricity.is_some() || self.entry.prepaid == Prepaid::Yes
    }
}

/// Where the files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Every entry, for spreadsheets.
    pub csv: PathBuf,
    /// Everything, for programs.
    pub json: PathBuf,
    /// The page, for people.
    pub html: PathBuf,
}

/// A report that is on disk.
#[derive(Clone, Debug)]
pub struct Report {
    /// The files.
    pub paths: Paths,
    /// What they add up to.
    pub reconciliation: Reconciliation,
}

/// Writes a report. Dropped before [`Writer::finish`], it leaves the earlier report as it was.
pub struct Writer {
    dir: PathBuf,
    header: BatchHeader,
    reconciliation: Reconciliation,
    sheet: Sheet,
    document: Document,
    page: Page,
    texts: Texts,
}

#[derive(Default)]
struct Texts {
    amount: String,
    posted_at: String,
    settled_at: String,
}

impl Writer {
    /// Opens the three files beside their future places in `dir`, which is made when it is missing.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn create(dir: &Path, header: BatchHeader) -> Result<Self, Error> {
        output::prepare(dir)?;
        Ok(Self {
            dir: dir.to_owned(),
            reconciliation: Reconciliation::new(&header),
            sheet: Sheet::create(dir)?,
            document: Document::create(dir)?,
            page: Page::create(dir)?,
            texts: Texts::default(),
            header,
        })
    }

    /// Adds the next entry. Entries come in the order of their lines, one for each loaded row.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, entry: &Entry<'_>) -> Result<(), Error> {
        self.reconciliation.add(entry);
        let texts = &mut self.texts;
        if let Some(money) = entry.money {
            texts.amount.clear();
            write!(texts.amount, "{money}").expect("writing to a String cannot fail");
        }
        write_instant(&mut texts.posted_at, entry.posted_at);
        write_instant(&mut texts.settled_at, entry.settled_at);
        let row = Row {
            entry,
            amount: entry.money.map_or(entry.amount_text, |_| &texts.amount),
            currency: entry
                .money
                .map_or(entry.currency_text, |money| money.currency.code()),
            posted_at: &texts.posted_at,
            settled_at: &texts.settled_at,
            electricity: match entry.prepaid {
                Prepaid::No => None,
                Prepaid::Yes | Prepaid::Unknown => Electricity::read(entry.receiver_narration),
            },
        };
        self.sheet
            .add(&row)
            .map_err(Error::write(Sheet::NAME, &self.dir))?;
        self.document
            .add(&row)
            .map_err(Error::write(Document::NAME, &self.dir))?;
        self.page
            .add(&row)
            .map_err(Error::write(Page::NAME, &self.dir))
    }

    /// Completes the files and puts them in place of the earlier ones.
    ///
    /// # Errors
    /// A file cannot be written, synced or renamed.
    pub fn finish(self) -> Result<Report, Error> {
        let Self {
            dir,
            header,
            reconciliation,
            ..
        } = self;
        let sheet = self
            .sheet
            .finish()
            .map_err(Error::write(Sheet::NAME, &dir))?;
        let document = self
            .document
            .finish(&header, &reconciliation)
            .map_err(Error::write(Document::NAME, &dir))?;
        let page = self
            .page
            .finish(&header, &reconciliation)
            .map_err(Error::write(Page::NAME, &dir))?;
        let staged = vec![
            (Sheet::NAME, sheet),
            (Document::NAME, document),
            (Page::NAME, page),
        ];
        output::publish(&dir, staged)?;
        Ok(Report {
            paths: Paths {
                csv: dir.join(Sheet::NAME),
                json: dir.join(Document::NAME),
                html: dir.join(Page::NAME),
            },
            reconciliation,
        })
    }
}

fn write_instant(text: &mut String, instant: Option<Timestamp>) {
    text.clear();
    if let Some(instant) = instant {
        write!(text, "{instant}").expect("writing to a String cannot fail");
    }
}
