//! A folder in which an archive is made: beside its place, so that it gets its name by a rename, and removed with what is in it.
//!
//! A command that was killed leaves its folder; the next one into the same place removes it, as nobody holds its lock.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::signals;

/// How the names of such folders begin.
const PREFIX: &str = ".disburse-archive-";
/// Locked while its command lives.
const LOCK: &str = "lock";

/// A folder that is removed when it is dropped.
pub(in crate::cli) struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes one in a folder, which is made too, and removes what dead commands have left there.
    pub(in crate::cli) fn beside(place: &Path) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(place)?;
        // One at a time: a folder is made and locked before the next command looks.
        let guard = File::open(place)?;
        let _ = guard.lock();
        remove_leftovers(place);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        signals::remove_when_ended(folder.path());
        let lock = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.path().join(LOCK))?;
        // Where the file system has no locks, nothing is taken for a leftover either.
        let _ = lock.lock();
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    pub(in crate::cli) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Makes a folder in it.
    pub(in crate::cli) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(path)
    }
}

/// Removes folders of ours whose lock nobody holds. What cannot be looked at stays.
fn remove_leftovers(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_ours {
            continue;
        }
        let is_dead = match File::open(entry.path().join(LOCK)) {
            Ok(lock) => lock.try_lock().is_ok(),
            // It was killed before it made its lock: whoever makes one holds that of the place until then.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_dead {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_command_has_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in [".disburse-archive-dead", ".disburse-archive-early"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("journal.db"), "names").unwrap();
        }
        fs::write(at(".disburse-archive-dead/lock"), "").unwrap();
        fs::create_dir(at("other")).unwrap();
        fs::write(at(".disburse-archive-file"), "").unwrap();
        let alive = Scratch::beside(place.path()).unwrap();
        let second = Scratch::beside(place.path()).unwrap();
        assert!(!at(".disburse-archive-dead").exists());
        assert!(!at(".disburse-archive-early").exists());
        assert!(at("other").is_dir() && at(".disburse-archive-file").is_file());
        assert!(alive.path().is_dir(), "its command lives");
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
    }
}
