//! Why a report was not written, and what can be done about it.

use std::io;
use std::path::{Path, PathBuf};

use super::owner::Whose;

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

impl Error {
    /// Returns what makes an error of what the system said about a file.
    pub(in crate::report) fn write(
        file: &'static str,
        dir: &Path,
    ) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write {
            file,
            dir: dir.to_owned(),
            source,
        }
    }

    /// Something else has the name of a file.
    pub(in crate::report) fn not_ours(file: &'static str, dir: &Path, whose: Whose) -> Self {
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
