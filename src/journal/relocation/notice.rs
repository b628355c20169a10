//! The notice that lies where a journal was until it was moved: `NAME.moved` beside its file, or among what this host has seen of servers.
//!
//! The journal that stayed there says the same of itself. An earlier copy of it does not, nor does a new one that is made in its place: the
//! mark beside them knows nothing of what became of the payments after the move, so that they would be paid again.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::journal::schema::open;
use crate::journal::{Error, Location};

/// What its name ends in.
pub(in crate::journal) const SUFFIX: &str = ".moved";
const HEADING: &str = "The disburse journal of this place was moved. Keep this file here: an earlier copy would pay again.";
/// Said of a notice that somebody has changed.
const UNREADABLE: &str = "it says that a journal was moved from here, and not where it went: find that journal, and name it with --journal";
/// The longest name of a journal that is read.
const LENGTH_MAX: u64 = 16 * 1024;

/// Returns its path; `None`: this host keeps nothing of servers.
fn path_of(at: &Location) -> Option<PathBuf> {
    let beside = match at {
        // Whatever is wrong with the path is said of the journal.
        Location::File(path) => open::absolute(path).ok(),
        Location::Server(address) => address.mark(),
    };
    beside.map(|path| {
        let mut name = path.into_os_string();
        name.push(SUFFIX);
        name.into()
    })
}

/// Says, durably, where the journal went that was in use there.
pub(in crate::journal) fn leave(at: &Location, to: &str) -> Result<(), Error> {
    let Some(path) = path_of(at) else {
        return Ok(());
    };
    write(&path, to).map_err(|cause| failed(&path, &cause))
}

fn write(path: &Path, to: &str) -> std::io::Result<()> {
    let text = format!("{HEADING}\n{to}\n");
    let mut file = options().write(true).create(true).mode(0o600).open(path)?;
    file.set_len(0)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    let folder = path.parent().unwrap_or_else(|| Path::new("/"));
    File::open(folder)?.sync_all()
}

/// Returns where the journal went that was in use there; `None`: it never was moved.
pub(in crate::journal) fn read(at: &Location) -> Result<Option<String>, Error> {
    let Some(path) = path_of(at) else {
        return Ok(None);
    };
    let mut text = String::new();
    let file = match options().read(true).open(&path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|cause| failed(&path, &cause))?,
    };
    file.take(LENGTH_MAX)
        .read_to_string(&mut text)
        .map_err(|_| failed(&path, &UNREADABLE))?;
    match text.lines().nth(1).map(str::trim).unwrap_or_default() {
        "" => Err(failed(&path, &UNREADABLE)),
        to => Ok(Some(to.to_owned())),
    }
}

/// Refuses to write to whatever is in the place of a journal that was moved, or to begin one there.
///
/// # Errors
/// [`Error::Moved`], [`Error::Open`].
pub fn assert_in_use(at: &Location) -> Result<(), Error> {
    match read(at)? {
        Some(to) => Err(Error::Moved { to }),
        None => Ok(()),
    }
}

/// Refuses to move a journal to a place from where one was moved: whatever else goes there now would not know of that one.
pub(super) fn assert_unused(at: &Location) -> Result<(), Error> {
    match (read(at)?, path_of(at)) {
        (Some(_), Some(path)) => Err(Error::Exists { path }),
        _ => Ok(()),
    }
}

/// No link is followed.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0));
    options
}

fn failed(path: &Path, cause: &dyn std::fmt::Display) -> Error {
    Error::Open {
        path: path.into(),
        cause: cause.to_string(),
    }
}
