//! The ledger file: one JSON line per event, behind a first line that names the gateway.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::event::Event;
use crate::sandbox::error::Error;

const FORMAT: &str = "disburse-sandbox/1";
/// The longest line; no post that is accepted makes a longer one.
const LINE_MAX: u64 = 64 * 1024;
/// How every ledger file begins.
const HEAD_START: &str = r#"{"ledger":"disburse-sandbox/1","identity":""#;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    ledger: String,
    identity: String,
}

/// An open ledger file, locked against a second sandbox.
pub(in crate::sandbox) struct Store {
    path: PathBuf,
    file: File,
    line: Vec<u8>,
    broken: bool,
}

impl Store {
    /// Opens or creates the file and passes its events to `apply`; returns the gateway's identity too.
    ///
    /// A last line without its end was being written when the process died: nobody was told of it, so it is cut off.
    pub fn open(path: &Path, mut apply: impl FnMut(Event)) -> Result<(Self, String), Error> {
        let failed = |source| Error::Ledger {
            path: path.to_owned(),
            source,
        };
        let file = open_locked(path)?;
        let mut reader = BufReader::new(&file);
        let (mut identity, mut kept, mut number, mut line) = (None, 0, 0_u64, Vec::new());
        loop {
            line.clear();
            let mut limited = reader.by_ref().take(LINE_MAX);
            let length = limited.read_until(b'\n', &mut line).map_err(failed)?;
            if length as u64 == LINE_MAX {
                return Err(Error::LedgerCorrupt {
                    path: path.to_owned(),
                    line: number + 1,
                    reason: format!("is longer than {LINE_MAX} bytes"),
                });
            }
            if line.last() != Some(&b'\n') {
                // Cut off is only what was begun here: another program's file stays as it is.
                if identity.is_none()
                    && !HEAD_START.as_bytes().starts_with(&line)
                    && !line.starts_with(HEAD_START.as_bytes())
                {
                    return Err(Error::LedgerCorrupt {
                        path: path.to_owned(),
                        line: 1,
                        reason: format!("is not of the format {FORMAT}"),
                    });
                }
                break;
            }
            number += 1;
            kept += length as u64;
            let corrupt = |reason: String| Error::LedgerCorrupt {
                path: path.to_owned(),
                line: number,
                reason,
            };
            if identity.is_none() {
                let head: Head =
                    serde_json::from_slice(&line).map_err(|error| corrupt(error.to_string()))?;
                if head.ledger != FORMAT {
                    return Err(corrupt(format!("is not of the format {FORMAT}")));
                }
                identity = Some(head.identity);
            } else {
                apply(serde_json::from_slice(&line).map_err(|error| corrupt(error.to_string()))?);
            }
        }
        drop(reader);
        file.set_len(kept).map_err(failed)?;
        let mut store = Self {
            path: path.to_owned(),
            file,
            line: Vec::with_capacity(512),
            broken: false,
        };
        store.file.seek(SeekFrom::End(0)).map_err(failed)?;
        let identity = match identity {
            Some(identity) => identity,
            None => {
                let identity = fresh_identity();
                store.write(&Head {
                    ledger: FORMAT.to_owned(),
                    identity: identity.clone(),
                })?;
                identity
            }
        };
        Ok((store, identity))
    }

    /// Appends an event. After an error nothing is appended any more: half a line may be in the file.
    pub fn append(&mut self, event: &Event) -> Result<(), Error> {
        self.write(event)
    }

    /// Makes every further write fail.
    #[cfg(test)]
    pub fn fail(&mut self) {
        self.broken = true;
    }

    fn write(&mut self, value: &impl Serialize) -> Result<(), Error> {
        let failed = |source| Error::Ledger {
            path: self.path.clone(),
            source,
        };
        if self.broken {
            return Err(failed(io::Error::other("an earlier write failed")));
        }
        self.line.clear();
        serde_json::to_writer(&mut self.line, value).map_err(|error| failed(error.into()))?;
        self.line.push(b'\n');
        let written = self.file.write_all(&self.line);
        self.broken = written.is_err();
        written.map_err(failed)
    }
}

/// Returns 128 random bits as hexadecimal digits.
pub(in crate::sandbox) fn fresh_identity() -> String {
    // The standard library seeds its hash states from the operating system.
    let word = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word().rotate_left(32))
}

/// Opens or creates a ledger file, which no other sandbox has open.
fn open_locked(path: &Path) -> Result<File, Error> {
    let failed = |source| Error::Ledger {
        path: path.to_owned(),
        source,
    };
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        // A link that somebody laid would have numbers written to a place of their choice.
        .custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0))
        .open(path)
        .map_err(|error| match path.is_symlink() {
            true => failed(io::Error::other("is a symbolic link")),
            false => failed(error),
        })?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(io::Error::other("is not a regular file")));
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Error::LedgerInUse(path.to_owned())),
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    Ok(file)
}
