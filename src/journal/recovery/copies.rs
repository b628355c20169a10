//! A copy of the journal in a folder of copies, and those that give way to it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension};
use rustix::fs::OFlags;

use super::backup::{Backup, backup};
use crate::domain::{EvidenceId, PaymentId, Timestamp};
use crate::journal::schema::open::{self, APPLICATION_ID};
use crate::journal::{Error, FileOnly, Location};
use crate::ledger::copies::{self, Earlier, Reach};

/// What a folder of copies has got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// What the new copy holds.
    pub copy: Backup,
    /// The new copy.
    pub path: PathBuf,
    /// Earlier copies that were removed, the oldest last.
    pub removed: Vec<PathBuf>,
    /// Copies of this journal that know something that it does not: they stay.
    pub apart: Vec<PathBuf>,
    /// Files with the name of a copy that are none of this journal, such as copies of the one before it: they stay.
    pub others: Vec<PathBuf>,
}

/// Copies a journal into a folder, and then removes earlier copies of the same journal beyond the number that is kept.
///
/// A file is removed only when this verb gave it its name, it is a copy of this very journal, and all of it is in the new copy,
/// which is proven, in its place and on disk by then.
///
/// # Errors
/// As [`backup`]; and [`Error::CopyUnderWay`].
pub fn backup_into(
    journal: &Location,
    folder: &Path,
    keep: Option<u16>,
    now: Timestamp,
) -> Result<Copied, Error> {
    let path = journal.file_for(FileOnly::Backup)?;
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| refused(path, "its name is not UTF-8"))?;
    let _alone = alone(&folder.join(format!(".{name}.copying")), folder)?;
    let path = free_name(folder, name, now)?;
    let unproven = folder.join(format!(".{name}.unproven"));
    remove_left_over(&unproven)?;
    let copy = backup(journal, &unproven)?;
    put(&unproven, &path)?;
    sync(folder)?;
    let mut copied = Copied {
        copy,
        path,
        removed: Vec::new(),
        apart: Vec::new(),
        others: Vec::new(),
    };
    if let Some(keep) = keep {
        retain(&mut copied, folder, name, keep)?;
    }
    Ok(copied)
}

/// How many names are tried, each a second later than the one before.
const NAMES: u64 = 60;

/// Returns the name of this second, or of one of the next where somebody has it: of two copies in a second, or when the clock was set back.
fn free_name(folder: &Path, name: &str, now: Timestamp) -> Result<PathBuf, Error> {
    let path = |later| folder.join(copies::name(name, now.after(Duration::from_secs(later))));
    (0..NAMES)
        .map(path)
        .find(|path| path.symlink_metadata().is_err())
        .ok_or_else(|| Error::Exists { path: path(0) })
}

/// One at a time: what is left over of a copy that was cut off is told from one that is being made.
fn alone(path: &Path, folder: &Path) -> Result<File, Error> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0))
        .open(path)
        .map_err(|error| refused(path, &error.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::CopyUnderWay {
            folder: folder.into(),
        }),
        Err(TryLockError::Error(error)) => Err(refused(path, &error.to_string())),
    }
}

/// Removes what a copy that was cut off has left.
fn remove_left_over(unproven: &Path) -> Result<(), Error> {
    let mut beside = unproven.as_os_str().to_owned();
    beside.push("-journal");
    for path in [unproven, Path::new(&beside)] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(refused(path, &error.to_string()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Gives the proven copy its name, over nothing.
fn put(unproven: &Path, path: &Path) -> Result<(), Error> {
    let file = tempfile::TempPath::try_from_path(unproven)
        .map_err(|error| refused(unproven, &error.to_string()))?;
    file.persist_noclobber(path).map_err(|error| {
        if error.error.kind() == std::io::ErrorKind::AlreadyExists {
            Error::Exists { path: path.into() }
        } else {
            refused(path, &error.error.to_string())
        }
    })
}

fn sync(folder: &Path) -> Result<(), Error> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| refused(folder, &error.to_string()))
}

fn retain(copied: &mut Copied, folder: &Path, name: &str, keep: u16) -> Result<(), Error> {
    let new = read_only(&copied.path)?;
    let ours = identity(&new)?;
    let mut paths = Vec::new();
    let mut earlier = Vec::new();
    let entries = fs::read_dir(folder).map_err(|error| refused(folder, &error.to_string()))?;
    for entry in entries {
        let entry = entry.map_err(|error| refused(folder, &error.to_string()))?;
        let file = entry.file_name();
        let stamp = file.to_str().and_then(|file| copies::stamp(name, file));
        let (Some(stamp), path) = (stamp, entry.path()) else {
            continue;
        };
        if path == copied.path {
            continue;
        }
        // What cannot be read as a copy of this journal is none, and stays.
        let Ok(Some(found)) = look(&path, &ours, &new, stamp) else {
            copied.others.push(path);
            continue;
        };
        if !found.is_within {
            copied.apart.push(path.clone());
        }
        paths.push(path);
        earlier.push(found);
    }
    copied.apart.sort();
    copied.others.sort();
    for place in copies::give_way(&earlier, keep) {
        let path = &paths[place];
        fs::remove_file(path).map_err(|error| Error::NotRemoved {
            copy: copied.path.clone(),
            path: path.clone(),
            cause: error.to_string(),
        })?;
        copied.removed.push(path.clone());
    }
    sync(folder)
}

/// Reads how far a file had come, where it is a whole copy of the journal `ours`.
fn look(path: &Path, ours: &[u8], new: &Connection, stamp: &str) -> Result<Option<Earlier>, Error> {
    if !is_copy_outside(path).unwrap_or(false) {
        return Ok(None);
    }
    let copy = read_only(path)?;
    let pragma = |name: &str| copy.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let is_copy: bool = copy.query_row(
        "select exists (select 1 from meta where key = 'backup')",
        [],
        |row| row.get(0),
    )?;
    let pages = pragma("page_count")?.saturating_mul(pragma("page_size")?);
    let is_whole = path
        .metadata()
        .is_ok_and(|metadata| i64::try_from(metadata.len()) == Ok(pages));
    if !is_copy || !is_whole || identity(&copy)? != ours {
        return Ok(None);
    }
    let evidence = last_evidence(&copy, None)?;
    let payment = last_payment(&copy, None)?;
    let is_within = match &evidence {
        Some(last) => last_evidence(new, Some(last.0))?.as_ref() == Some(last),
        None => true,
    } && match &payment {
        Some(last) => last_payment(new, Some(last.0))?.as_ref() == Some(last),
        None => true,
    };
    Ok(Some(Earlier {
        stamp: stamp.to_owned(),
        reach: Reach {
            evidence: evidence.map_or(EvidenceId::NONE, |last| last.0),
            payments: payment.map_or(PaymentId::NONE, |last| last.0),
        },
        is_within,
    }))
}

/// Whether a file looks like a copy before SQLite opens it, who makes files beside a database that has a log.
fn is_copy_outside(path: &Path) -> std::io::Result<bool> {
    if !path.symlink_metadata()?.is_file() {
        return Ok(false);
    }
    // The file format of SQLite: 1 where no log is used, and the application at byte 68.
    let mut header = [0; 72];
    File::open(path)?.read_exact(&mut header)?;
    let is_ours = i64::from(u32::from_be_bytes([
        header[68], header[69], header[70], header[71],
    ])) == APPLICATION_ID;
    Ok(header.starts_with(b"SQLite format 3\0") && header[18..20] == [1, 1] && is_ours)
}

/// Opens a copy as it is: nothing beside it is made, and it is brought to no newer version.
fn read_only(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Ok(Connection::open_with_flags(open::absolute(path)?, flags)?)
}

fn identity(journal: &Connection) -> Result<Vec<u8>, Error> {
    Ok(
        journal.query_row("select value from meta where key = 'journal'", [], |row| {
            row.get(0)
        })?,
    )
}

/// A row of evidence, as far as it tells it from every other: its number, its payment, its time, its kind.
type EvidenceRow = (EvidenceId, PaymentId, i64, i64);

/// Returns the row of this number; the last one without a number.
fn last_evidence(
    journal: &Connection,
    number: Option<EvidenceId>,
) -> Result<Option<EvidenceRow>, Error> {
    let row = journal
        .query_row(
            "select evidence_id, seq, at, event from evidence where evidence_id = coalesce(?1, (select max(evidence_id) from evidence))",
            [number],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .optional()?;
    Ok(row)
}

/// A payment: its number and its identifier.
type PaymentRow = (PaymentId, String);

/// Returns the payment of this number; the last one without a number.
fn last_payment(
    journal: &Connection,
    number: Option<PaymentId>,
) -> Result<Option<PaymentRow>, Error> {
    let row = journal
        .query_row(
            "select seq, identifier from instruction where seq = coalesce(?1, (select max(seq) from instruction))",
            [number],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    Ok(row)
}

fn refused(path: &Path, cause: &str) -> Error {
    Error::Open {
        path: path.into(),
        cause: cause.to_owned(),
    }
}
