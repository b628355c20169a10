//! One pass over the entries that feeds the fold and the files, on a thread of its own: whoever reads the journal
//! has the next entries ready meanwhile.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use tempfile::NamedTempFile;

use super::files::error::Error;
use super::files::owner::Owner;
use super::files::{output, pages};
use super::fold::reconciliation::Reconciliation;
use super::folder;
use super::html::Page;
use super::json::Document;
use super::rows::entry::{BatchHeader, Entry, Prepaid};
use super::rows::packed::Packed;
use super::rows::row::Row;
use super::sheet::csv::Sheet;
use super::sheet::xlsx::Book;
use super::words::figures::{Instants, write_money};
use crate::domain::Electricity;

/// How many batches of entries wait for the thread.
const WAITING_MAX: usize = 2;

/// Where the files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Every entry, for spreadsheets.
    pub csv: PathBuf,
    /// The same, for a spreadsheet.
    pub xlsx: PathBuf,
    /// Everything, for programs.
    pub json: PathBuf,
    /// The page, for people.
    pub html: PathBuf,
    /// The folder of the page's rows, where they are too many for the page itself. It belongs to the page.
    pub html_rows: Option<PathBuf>,
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
    gathered: Packed,
    full: Option<SyncSender<Packed>>,
    emptied: Receiver<Packed>,
    thread: Option<JoinHandle<Result<Files, Error>>>,
}

impl Writer {
    /// Opens the files beside their future places in `dir`, which is made when it is missing.
    ///
    /// # Errors
    /// The folder cannot be made or written.
    pub fn create(dir: &Path, header: BatchHeader) -> Result<Self, Error> {
        output::prepare(dir)?;
        folder::check(dir, &Owner::new(&header.name, header.purpose), None)?;
        let files = Files::create(dir, header)?;
        let (full, waiting) = sync_channel(WAITING_MAX);
        let (give_back, emptied) = sync_channel(WAITING_MAX);
        let thread = thread::Builder::new()
            .name("report".to_owned())
            .spawn(move || files.take(&waiting, &give_back))
            .map_err(Error::write(Sheet::NAME, dir))?;
        Ok(Self {
            dir: dir.to_owned(),
            gathered: Packed::default(),
            full: Some(full),
            emptied,
            thread: Some(thread),
        })
    }

    /// Adds the next entry. Entries come in the order of their lines, one for each loaded row.
    ///
    /// # Errors
    /// A file cannot be written; it may be about an entry that came before.
    pub fn add(&mut self, entry: &Entry<'_>) -> Result<(), Error> {
        self.gathered.push(entry);
        if self.gathered.is_full() {
            self.hand_over()?;
        }
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), Error> {
        let emptied = self.emptied.try_recv().unwrap_or_default();
        let gathered = std::mem::replace(&mut self.gathered, emptied);
        let taken = self.full.as_ref().map(|full| full.send(gathered));
        if matches!(taken, Some(Ok(()))) {
            return Ok(());
        }
        // The thread has ended before its time: it says why.
        self.join().map(drop)
    }

    /// Waits for the files with everything that was handed over.
    fn join(&mut self) -> Result<Files, Error> {
        self.full = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(Error::write(Sheet::NAME, &self.dir)(
                std::io::ErrorKind::BrokenPipe.into(),
            )),
        }
    }

    /// Completes the files and puts them in place of the earlier ones.
    ///
    /// # Errors
    /// A file cannot be written, synced or renamed.
    pub fn finish(mut self) -> Result<Report, Error> {
        if !self.gathered.is_empty() {
            self.hand_over()?;
        }
        self.join()?.finish(&self.dir)
    }
}

// The files are gone when the writer is: nothing of a report that was given up stays in the folder.
impl Drop for Writer {
    fn drop(&mut self) {
        self.full = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The fold and the files that are written aside.
struct Files {
    dir: PathBuf,
    header: BatchHeader,
    reconciliation: Reconciliation,
    sheet: Sheet,
    book: Book,
    document: Document,
    page: Page,
    instants: Instants,
    amount: String,
    posted_at: String,
    settled_at: String,
}

impl Files {
    fn create(dir: &Path, header: BatchHeader) -> Result<Self, Error> {
        Ok(Self {
            dir: dir.to_owned(),
            reconciliation: Reconciliation::new(&header),
            sheet: Sheet::create(dir)?,
            book: Book::create(dir, &header)?,
            document: Document::create(dir)?,
            page: Page::create(dir, header.zone.clone())?,
            header,
            instants: Instants::default(),
            amount: String::new(),
            posted_at: String::new(),
            settled_at: String::new(),
        })
    }

    /// Writes what comes until no more can come.
    fn take(
        mut self,
        waiting: &Receiver<Packed>,
        give_back: &SyncSender<Packed>,
    ) -> Result<Self, Error> {
        for mut packed in waiting {
            for entry in packed.iter() {
                self.add(&entry)?;
            }
            packed.clear();
            // Used again when there is room for it.
            let _ = give_back.try_send(packed);
        }
        Ok(self)
    }

    fn add(&mut self, entry: &Entry<'_>) -> Result<(), Error> {
        self.reconciliation.add(entry);
        if let Some(money) = entry.money {
            write_money(&mut self.amount, money);
        }
        self.instants.write(&mut self.posted_at, entry.posted_at);
        self.instants.write(&mut self.settled_at, entry.settled_at);
        let row = Row {
            entry,
            amount: entry.money.map_or(entry.amount_text, |_| &self.amount),
            currency: entry
                .money
                .map_or(entry.currency_text, |money| money.currency.code()),
            posted_at: &self.posted_at,
            settled_at: &self.settled_at,
            electricity: match entry.prepaid {
                Prepaid::No => None,
                Prepaid::Yes | Prepaid::Unknown => Electricity::read(entry.receiver_narration),
            },
        };
        self.sheet
            .add(&row)
            .map_err(Error::write(Sheet::NAME, &self.dir))?;
        self.book
            .add(&row)
            .map_err(Error::write(Book::NAME, &self.dir))?;
        self.document
            .add(&row)
            .map_err(Error::write(Document::NAME, &self.dir))?;
        self.page
            .add(&row)
            .map_err(Error::write(Page::NAME, &self.dir))
    }

    fn finish(self, dir: &Path) -> Result<Report, Error> {
        let Self {
            header,
            reconciliation,
            ..
        } = self;
        let synced = |name, finished: io::Result<NamedTempFile>| {
            let sync = |file: NamedTempFile| file.as_file().sync_all().map(|()| file);
            let file = finished.and_then(sync).map_err(Error::write(name, dir))?;
            Ok((name, file))
        };
        let mut rows = None;
        // Each goes to the disk while the others are still put together.
        let header = &header;
        let totals = &reconciliation;
        let (sheet, book, document, page) = (self.sheet, self.book, self.document, self.page);
        let staged = thread::scope(|scope| {
            [
                scope.spawn(move || synced(Document::NAME, document.finish(header, totals))),
                scope.spawn(move || synced(Sheet::NAME, sheet.finish())),
                scope.spawn(move || synced(Book::NAME, book.finish(header, totals))),
                scope.spawn(|| {
                    let finished = page.finish(header, totals);
                    let page = finished.map(|(page, beside)| {
                        rows = beside;
                        page
                    });
                    synced(Page::NAME, page)
                }),
            ]
            .into_iter()
            .map(|file| {
                file.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect::<Result<Vec<_>, Error>>()
        })?;
        let has_rows_beside = rows.is_some();
        output::publish(dir, staged, rows, &Owner::new(&header.name, header.purpose))?;
        Ok(Report {
            paths: Paths {
                csv: dir.join(Sheet::NAME),
                xlsx: dir.join(Book::NAME),
                json: dir.join(Document::NAME),
                html: dir.join(Page::NAME),
                html_rows: has_rows_beside.then(|| dir.join(pages::FOLDER)),
            },
            reconciliation,
        })
    }
}
