//! The folder of a report: which files it is to hold, and whether they can be written there.

use std::path::Path;

use super::files::error::Error;
use super::files::own::{self, FileIdentity};
use super::files::owner::Owner;
use super::files::{output, pages};
use super::html::Page;
use super::json::Document;
use super::sheet::csv::Sheet;
use super::sheet::xlsx::Book;

/// The files of a report.
pub(super) const FILES: [&str; 4] = [Sheet::NAME, Book::NAME, Document::NAME, Page::NAME];

/// Finds out whether a report can be written to this folder, before anything hangs on it. Leaves no trace.
///
/// `owner`: the batch whose report it is to be. `input`: the file that the command reads, which no name of the report may be.
///
/// # Errors
/// [`Error::Folder`]; [`Error::NotOurs`] when something else has the name of one of its files.
pub fn usable(dir: &Path, owner: &Owner, input: Option<FileIdentity>) -> Result<(), Error> {
    output::usable(dir)?;
    check(dir, owner, input)
}

/// Refuses names that something else has than a file of this report. Leaves no trace.
pub(super) fn check(dir: &Path, owner: &Owner, input: Option<FileIdentity>) -> Result<(), Error> {
    own::check(dir, &FILES, owner, input)?;
    pages::check(dir)
}
