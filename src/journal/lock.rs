//! One run at a time: an operating system lock beside the journal.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::domain::Timestamp;

use super::Error;

/// Held for the length of a run; the system releases it however the process ends.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl RunLock {
    /// Takes the lock of a journal, or names who holds it.
    ///
    /// # Errors
    /// [`Error::Held`] when another process runs on this journal.
    pub fn take(journal: &Path, purpose: &str, now: Timestamp) -> Result<Self, Error> {
        let path = path_of(journal);
        let open = |cause: std::io::Error| Error::Open {
            path: path.clone(),
            cause: cause.to_string(),
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
            .open(&path)
            .map_err(open)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The holder writes its name after it has the lock; until then there is none to tell.
                let _ = (&mut file).take(512).read_to_string(&mut holder);
                let holder = holder.trim();
                return Err(Error::Held {
                    holder: if holder.is_empty() {
                        "another process".into()
                    } else {
                        holder.into()
                    },
                });
            }
            Err(TryLockError::Error(cause)) => return Err(open(cause)),
        }
        let note = format!("process {}, {purpose}, since {now}\n", std::process::id());
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(note.as_bytes()))
            .map_err(open)?;
        Ok(Self { _file: file })
    }
}

fn path_of(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_refused_and_told_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("j.db");
        let first = RunLock::take(&journal, "run payroll", Timestamp::from_millis(0)).unwrap();
        let error = RunLock::take(&journal, "run payroll", Timestamp::from_millis(0)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("process {}, run payroll", std::process::id())),
            "{error}"
        );
        drop(first);
        RunLock::take(&journal, "run payroll", Timestamp::from_millis(0)).unwrap();
    }
}
