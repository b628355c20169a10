//! A copy of the journal for a safe place: consistent while a run writes, proven, and marked as a copy inside.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::journal::schema::open;
use crate::journal::{Error, FileOnly, Location, Reader};

/// What a copy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backup {
    /// Batches.
    pub batches: u64,
    /// Payments, earlier generations and rows without an amount included.
    pub payments: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// Copies a journal into a file that is not there yet, as it is at one moment. A run may write meanwhile.
///
/// # Errors
/// [`Error::Exists`], [`Error::NoFolder`], [`Error::ReservedName`], [`Error::NotInAFile`]; [`Error::NotSound`] when the journal, and so its copy, is not what was recorded. Nothing is left then.
pub fn backup(journal: &Location, to: &Path) -> Result<Backup, Error> {
    let journal = journal.file_for(FileOnly::Backup)?;
    open::refuse_reserved(to)?;
    let source = open::for_reading(journal)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(Error::NoFolder {
            path: folder.into(),
        });
    }
    let new = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to);
    match new {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Error::Exists { path: to.into() });
        }
        new => new.map(drop).map_err(failed(to))?,
    }
    let copied = copy(&source, to).and_then(|()| prove(to));
    if copied.is_err() {
        // It was made a moment ago, and is worth nothing.
        let _ = std::fs::remove_file(to);
    }
    copied
}

fn copy(source: &Connection, to: &Path) -> Result<(), Error> {
    let path = open::absolute(to)?;
    let name = path.to_str().ok_or_else(|| Error::Open {
        path: to.into(),
        cause: "its name is not UTF-8".into(),
    })?;
    // One snapshot, written once: a copy page by page would begin anew whenever a run writes. The journal is only read.
    source.execute_batch("pragma query_only = off")?;
    source.execute("vacuum main into ?1", [name])?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let copy = Connection::open_with_flags(&path, flags)?;
    copy.execute_batch(
        "pragma journal_mode = delete; pragma synchronous = full;
         insert into meta (key, value) values ('backup', 1) on conflict do nothing;",
    )?;
    drop(copy);
    let folder = path.parent().unwrap_or_else(|| Path::new("/"));
    File::open(&path)
        .and_then(|file| file.sync_all())
        .and_then(|()| File::open(folder)?.sync_all())
        .map_err(failed(to))
}

/// Proves every batch of the copy, as `verify` does.
fn prove(copy: &Path) -> Result<Backup, Error> {
    let reader = Reader::open(&copy.into())?;
    let mut found = Backup {
        batches: 0,
        payments: 0,
        bytes: copy.metadata().map_err(failed(copy))?.len(),
    };
    for batch in reader.batches()? {
        let proof = reader.snapshot(&batch)?.prove(None)?;
        if !proof.is_sound() {
            return Err(Error::NotSound { batch });
        }
        found.batches += 1;
        found.payments += proof.payments + proof.unpriced;
    }
    Ok(found)
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Error + '_ {
    move |cause| Error::Open {
        path: path.into(),
        cause: cause.to_string(),
    }
}
