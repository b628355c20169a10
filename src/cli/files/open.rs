//! Files that are opened to be read.

use crate::cli::Error;
use rustix::fs::OFlags;
use std::fs::{File, FileType, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file, and says in plain words what another thing is. Nothing is waited for: a pipe would wait for its
/// writer, and a device may have no end.
pub(in crate::cli) fn open(path: &Path) -> Result<File, Error> {
    let name = path.display();
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Error::refused(format!("{name}: no such file"))
            .hint("check the name: it is looked for from the folder in which the command is given"),
        _ => Error::refused(format!("{name}: cannot be read: {error}")).hint(READABLE),
    };
    refuse_irregular(path, std::fs::metadata(path).map_err(failed)?.file_type())?;
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)
        .map_err(failed)?;
    // It may have become another thing meanwhile.
    refuse_irregular(path, file.metadata().map_err(failed)?.file_type())?;
    Ok(file)
}

pub(in crate::cli) fn refuse_irregular(path: &Path, kind: FileType) -> Result<(), Error> {
    let name = path.display();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(Error::refused(format!(
            "{name}: is a folder; name a file in it"
        )));
    }
    let (what, hint) = if kind.is_fifo() {
        (
            "a pipe",
            "give it as standard input, with - in the place of its name; or write it into a file first",
        )
    } else if kind.is_socket() {
        ("a socket", "name a file")
    } else {
        ("a device", "name a file; - reads standard input")
    };
    Err(Error::refused(format!("{name}: is {what}, not a file")).hint(hint))
}

/// What to do about a file that is there and does not open.
pub(in crate::cli) const READABLE: &str = "let the user who gives the command read the file, or give it as standard input, with - in the place of its name";
