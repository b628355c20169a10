//! The reconciliation report: a pure fold of a batch's entries, and the four files made from it.
//!
//! ```text
//! Entry, Entry, …  ──▶ Writer ──┬─▶ Reconciliation   counts and amounts, compared with the control totals
//!                               ├─▶ payments.csv     one row for each entry, streamed
//!                               ├─▶ payments.xlsx    the same cells as texts, for a spreadsheet; bounded in size
//!                               ├─▶ report.json      totals first, then every entry, streamed
//!                               └─▶ report.html      the page that is read, printed and signed; bounded in size
//! ```
//!
//! Entries are pushed one at a time, in line order, so that neither the caller nor the report ever holds a batch in memory.
//! The files carry no generation time, no random order and no folder names: a finished batch gives the same bytes each time.

mod advice;
mod csv;
mod difference;
mod entry;
mod exceptions;
mod figures;
mod html;
mod json;
mod lane;
mod output;
mod own;
mod packed;
mod people;
mod reconciliation;
mod text;
mod timeline;
mod writer;
mod xlsx;
mod zip;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

pub use advice::{Way, remedy_of_failure};
pub use difference::Difference;
pub use entry::{BatchHeader, Entry, Load, Prepaid, StateName};
pub use exceptions::ExceptionGroup;
pub use lane::{Lane, Sum};
pub use own::{FileIdentity, Leftover, Owner, Whose, is_free, place, remove_leftover};
pub use people::Deed;
pub use reconciliation::Reconciliation;
pub use timeline::{Bucket, Timeline};
pub use writer::{Paths, Report, Writer};

/// Why a report was not written. The earlier report, if there is one, is untouched.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder cannot be made or is not one.
    #[error("cannot use {} as the report folder: {source}", .dir.display())]
    Folder {
        /// The folder asked for.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {file} in {}: {source}", .dir.display())]
    Write {
        /// The file's name.
        file: &'static str,
        /// Its folder.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else has the name of a file, and is not overwritten.
    #[error("{} in {} {}; it is not overwritten", .file, .dir.display(), .whose.text())]
    NotOurs {
        /// The file's name.
        file: &'static str,
        /// Its folder.
        dir: PathBuf,
        /// What it is.
        whose: Whose,
    },
}

/// The files of a report.
const FILES: [&str; 4] = [
    csv::Sheet::NAME,
    xlsx::Book::NAME,
    json::Document::NAME,
    html::Page::NAME,
];

/// Finds out whether a report can be written to this folder, before anything hangs on it. Leaves no trace.
///
/// `owner`: the batch whose report it is to be. `input`: the file that the command reads, which no name of the report may be.
///
/// # Errors
/// [`Error::Folder`]; [`Error::NotOurs`] when something else has the name of one of its files.
pub fn usable(dir: &Path, owner: &Owner, input: Option<FileIdentity>) -> Result<(), Error> {
    output::usable(dir)?;
    own::check(dir, &FILES, owner, input)
}

impl Error {
    fn write(file: &'static str, dir: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write {
            file,
            dir: dir.to_owned(),
            source,
        }
    }

    fn not_ours(file: &'static str, dir: &Path, whose: Whose) -> Self {
        Self::NotOurs {
            file,
            dir: dir.to_owned(),
            whose,
        }
    }

    /// Returns what the operator can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        let source = match self {
            Self::Folder { source, .. } | Self::Write { source, .. } => source,
            Self::NotOurs {
                whose: Whose::OfAnother(_),
                ..
            } => return "name a folder of its own with --out, such as reports/BATCH",
            Self::NotOurs { .. } => {
                return "move it to another place, or name another folder with --out";
            }
        };
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space there and run the report again; the earlier report is untouched"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "make the folder writable or name another one with --out; the earlier report is untouched"
            }
            io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::AlreadyExists => {
                "something else has that name; name another folder with --out"
            }
            _ => "run the report again, or name another folder with --out",
        }
    }
}
