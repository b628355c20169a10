//! Files written aside and put in place together.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use tempfile::NamedTempFile;

use super::error::Error;
use super::own;
use super::owner::{Owner, Whose};
use super::pages;

/// Makes the folder, for its owner only, unless it is there.
pub(in crate::report) fn prepare(dir: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|source| Error::Folder {
        dir: dir.to_owned(),
        source,
    })
}

/// Finds out whether the folder can be made and written to, and leaves no trace.
pub(in crate::report) fn usable(dir: &Path) -> Result<(), Error> {
    let refused = |source| Error::Folder {
        dir: dir.to_owned(),
        source,
    };
    let here = Path::new(".");
    let nearest = dir
        .ancestors()
        .map(|folder| match folder.as_os_str().is_empty() {
            true => here,
            false => folder,
        })
        .find(|folder| fs::symlink_metadata(folder).is_ok())
        .unwrap_or(here);
    if !nearest.is_dir() {
        return Err(refused(io::ErrorKind::NotADirectory.into()));
    }
    tempfile::tempfile_in(nearest).map_err(refused).map(drop)
}

/// Opens a file beside its future place, readable by its owner only. Dropped, it disappears.
pub(in crate::report) fn stage(dir: &Path, name: &'static str) -> Result<NamedTempFile, Error> {
    tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".tmp")
        .tempfile_in(dir)
        .map_err(Error::write(name, dir))
}

/// Opens a file that has no name and disappears with its last handle.
pub(in crate::report) fn scratch(dir: &Path, name: &'static str) -> Result<File, Error> {
    tempfile::tempfile_in(dir).map_err(Error::write(name, dir))
}

/// Syncs every file, then renames them all, then syncs the folder. The rows beside the page come before the page that names
/// them, and those of the earlier page go when it is gone.
///
/// # Errors
/// Until the first rename the earlier files are untouched; every cause known in advance is looked for before it, a file that
/// is not ours among them.
pub(in crate::report) fn publish(
    dir: &Path,
    staged: Vec<(&'static str, NamedTempFile)>,
    rows: Option<pages::Staged>,
    owner: &Owner,
) -> Result<(), Error> {
    for (name, file) in &staged {
        let write_error = |source| Error::write(name, dir)(source);
        file.as_file().sync_all().map_err(write_error)?;
        if fs::symlink_metadata(dir.join(name)).is_ok_and(|there| there.is_dir()) {
            return Err(write_error(io::ErrorKind::IsADirectory.into()));
        }
    }
    let names: Vec<&'static str> = staged.iter().map(|(name, _)| *name).collect();
    let mut own = own::begin(dir, &names, owner)?;
    pages::check(dir)?;
    let rows = rows.map(|rows| rows.place(dir)).transpose()?;
    let files = staged.iter().map(|(name, file)| (*name, file.as_file()));
    own.note(files, Some(owner))
        .map_err(Error::write(own::LIST, dir))?;
    for (name, file) in staged {
        #[cfg(debug_assertions)]
        crate::failpoints::pass("in-publish");
        own::put(file, &dir.join(name)).map_err(|failed| match failed.error.kind() {
            io::ErrorKind::AlreadyExists => Error::not_ours(name, dir, Whose::Somebodys),
            _ => Error::write(name, dir)(failed.error),
        })?;
    }
    // The renames are on disk only once the folder is.
    File::open(dir)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| Error::Folder {
            dir: dir.to_owned(),
            source,
        })?;
    #[cfg(debug_assertions)]
    crate::failpoints::pass("in-sweep");
    pages::sweep(dir, rows.as_deref());
    Ok(())
}
