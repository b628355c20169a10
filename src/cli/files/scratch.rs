//! A folder for what is in the making: for its owner alone, locked while its command lives, and removed with what is in it.
//!
//! It lies beside the place of what is made, which gets its name by a rename, or where temporary files are. A command that was
//! killed leaves its folder; the next one of its kind removes it, as nobody holds its lock.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use tempfile::{NamedTempFile, TempDir};

use crate::cli::Error;
use crate::cli::signals;
use crate::domain::Timestamp;

/// What a folder is for; its name begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Use {
    /// An archive that is being made.
    Archive,
    /// An archive that is being read.
    Reading,
    /// The first files of a deployment.
    Init,
    /// A report for a browser.
    Page,
    /// A journal that is thrown away.
    Check,
}

impl Use {
    fn prefix(self) -> &'static str {
        match self {
            Self::Archive => ".disburse-archive-",
            Self::Reading => ".disburse-read-",
            Self::Init => ".disburse-init-",
            Self::Page => "disburse-page-",
            Self::Check => "disburse-check-",
        }
    }
}

/// Locked while its command lives. It has this name once it is locked, and not before.
const LOCK: &str = "lock";
/// A folder without a lock that is younger may be about to get one.
const YOUNG: Duration = Duration::from_secs(60);

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub(in crate::cli) struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes one in a folder that is there, and removes what dead commands have left there.
    pub(in crate::cli) fn beside(place: &Path, what_for: Use) -> io::Result<Self> {
        remove_leftovers(place, what_for);
        let folder = tempfile::Builder::new()
            .prefix(what_for.prefix())
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(place)?;
        signals::remove_when_left(folder.path());
        let lock = NamedTempFile::new_in(folder.path())?;
        // Where the file system has no locks, nothing is taken for a leftover either.
        let _ = lock.as_file().lock();
        let lock = lock.persist(folder.path().join(LOCK))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// Makes one where temporary files are.
    pub(in crate::cli) fn temporary(what_for: Use) -> io::Result<Self> {
        Self::beside(&std::env::temp_dir(), what_for)
    }

    /// Makes one for a journal that is thrown away with the command.
    pub(in crate::cli) fn for_a_journal() -> Result<Self, Error> {
        let made = Self::temporary(Use::Check).map(Self::until_ended);
        made.map_err(|error| Error::unexpected(format!("no room for a scratch journal: {error}")))
    }

    /// The same, removed by a signal that ends the command, too: for those that have no end in good order.
    pub(in crate::cli) fn until_ended(self) -> Self {
        signals::end_with_signal();
        self
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

impl Drop for Scratch {
    fn drop(&mut self) {
        // The folder itself goes right after this.
        signals::is_removed(self.folder.path());
    }
}

/// Removes folders of ours whose command is dead. What cannot be looked at stays.
pub(in crate::cli) fn remove_leftovers(place: &Path, what_for: Use) {
    for folder in leftovers(place, what_for) {
        let _ = fs::remove_dir_all(folder);
    }
}

/// The same, where temporary files are.
pub(in crate::cli) fn remove_temporary_leftovers(what_for: Use) {
    remove_leftovers(&std::env::temp_dir(), what_for);
}

/// Returns the folders that dead commands have left.
pub(in crate::cli) fn leftovers(place: &Path, what_for: Use) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else {
        return Vec::new();
    };
    let named = entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with(what_for.prefix())
        })
        .map(|entry| entry.path());
    named.filter(|folder| is_dead(folder)).collect()
}

// Where temporary files are, anybody makes folders of any name.
fn is_own_folder(metadata: &Metadata) -> bool {
    metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw()
}

fn is_dead(folder: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(folder) else {
        return false;
    };
    if !is_own_folder(&found) {
        return false;
    }
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0))
        .open(folder.join(LOCK));
    match opened {
        Ok(lock) => lock.try_lock().is_ok(),
        // It was killed before it made its lock, or it is about to. A clock that was set back makes no folder older.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let changed = Timestamp::from_millis(found.mtime().saturating_mul(1000));
            Timestamp::now().since(changed) > YOUNG
        }
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dead_command_has_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in ["dead", "early", "young"] {
            let folder = at(&format!(".disburse-archive-{name}"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("journal.db"), "names").unwrap();
        }
        fs::write(at(".disburse-archive-dead/lock"), "").unwrap();
        let early = File::open(at(".disburse-archive-early")).unwrap();
        let made = early.metadata().unwrap().modified().unwrap();
        early.set_modified(made - YOUNG * 2).unwrap();
        for other in ["other", ".disburse-init-x"] {
            fs::create_dir(at(other)).unwrap();
            fs::write(at(other).join("lock"), "").unwrap();
        }
        fs::write(at(".disburse-archive-file"), "").unwrap();
        std::os::unix::fs::symlink(at("other"), at(".disburse-archive-link")).unwrap();
        let alive = Scratch::beside(place.path(), Use::Archive).unwrap();
        let second = Scratch::beside(place.path(), Use::Archive).unwrap();
        assert!(!at(".disburse-archive-dead").exists());
        assert!(!at(".disburse-archive-early").exists());
        for kept in [
            ".disburse-archive-young",
            ".disburse-archive-file",
            ".disburse-archive-link",
            ".disburse-init-x/lock",
            "other/lock",
        ] {
            assert!(at(kept).exists(), "{kept}");
        }
        assert!(alive.path().is_dir(), "its command lives");
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn it_is_for_its_owner_alone_whatever_is_made_in_it() {
        let place = tempfile::tempdir().unwrap();
        for what_for in [Use::Archive, Use::Reading, Use::Init, Use::Page, Use::Check] {
            let scratch = Scratch::beside(place.path(), what_for).unwrap();
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode(scratch.path()), 0o700, "{what_for:?}");
            assert_eq!(mode(&scratch.path().join(LOCK)), 0o600, "{what_for:?}");
            assert_eq!(mode(&scratch.folder("in").unwrap()), 0o700, "{what_for:?}");
        }
    }
}
