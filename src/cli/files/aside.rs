//! The first load into a journal: it is made aside, and gets its name when it holds something.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::Error;
use crate::cli::terminal::output;
use crate::domain::Timestamp;
use crate::journal::{Journal, making_name, of_making, rename_to_nobodys_name};
use crate::report::Writeback;

/// What stands beside a journal in the making while its load lives: locked, so that nobody takes it for what a dead one has left.
const LOCK: &str = "-lock";
/// What SQLite has beside a file, and the lock, which goes last.
const SUFFIXES: [&str; 5] = ["", "-wal", "-shm", "-journal", LOCK];
/// A lock file that is younger may be about to be locked by whoever made it.
const YOUNG: Duration = Duration::from_secs(60);
/// Earlier releases had no lock file: what they have left is known by its age.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// How often what was written to it is synced.
const SYNCED_EVERY: Duration = Duration::from_millis(100);

/// A journal in the making. What was not put in place is removed with it.
pub(in crate::cli) struct Aside {
    path: PathBuf,
    place: PathBuf,
    writeback: Option<std::io::Result<Writeback>>,
    /// None where the file system has no locks.
    _lock: Option<File>,
}

impl Aside {
    /// Makes a journal beside the place that it is to get.
    pub(in crate::cli) fn begin(place: &Path) -> Result<(Journal, Self), Error> {
        crate::journal::assert_in_use(&place.into())?;
        let path = making_name(place);
        let lock = beside(&path, LOCK);
        let mut aside = Self {
            path,
            place: place.to_owned(),
            writeback: None,
            _lock: locked(&lock),
        };
        let journal = Journal::aside(&aside.path)?;
        aside.writeback = Some(Writeback::of(&aside.path, SYNCED_EVERY));
        Ok((journal, aside))
    }

    /// Gives it its name, for good, once nobody has it open any more.
    pub(in crate::cli) fn put_in_place(mut self) -> Result<(), Error> {
        let path = self.place.clone();
        let failed = |cause: String| {
            let path = self.place.clone();
            Error::from(crate::journal::Error::Open { path, cause })
        };
        // SQLite removes the log once all of it is in the file. While it is there, the file alone is less than was loaded.
        if beside(&self.path, "-wal").symlink_metadata().is_ok() {
            return Err(failed(
                "disk I/O error while what was loaded was taken into the file".into(),
            ));
        }
        // SQLite has synced nothing of it.
        if let Some(writeback) = self.writeback.take() {
            writeback
                .and_then(Writeback::finish)
                .map_err(|error| unsynced(&path, &error))?;
        }
        rename_to_nobodys_name(&self.path, &path).map_err(|error| {
            let shown = path.display();
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => Error::refused(format!(
                    "journal {shown}: another load has made it while this one was read; nothing of this file was loaded"
                ))
                .hint("run the same command again: the file is then loaded into the journal that is there"),
                _ => Error::refused(format!("journal {shown}: {error}")),
            }
        })?;
        // The name is on disk only once its folder is.
        File::open(folder_of(&path))
            .and_then(|folder| folder.sync_all())
            .map_err(|error| failed(error.to_string()))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // What stays holds no more than a file that was refused, or what is in place by now.
        remove(&self.path);
    }
}

fn locked(path: &Path) -> Option<File> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .ok()?;
    match file.lock() {
        Ok(()) => Some(file),
        // One that nobody has locked is of a dead load.
        Err(_) => {
            let _ = fs::remove_file(path);
            None
        }
    }
}

fn remove(path: &Path) {
    for suffix in SUFFIXES {
        let _ = fs::remove_file(beside(path, suffix));
    }
}

/// Removes what loads that were killed have left beside the place of a journal. What cannot be looked at stays.
// Nothing in it was ever loaded: what is loaded has the name of the journal.
pub(in crate::cli) fn remove_leftovers(place: &Path) {
    let found = leftovers(place).unwrap_or_default();
    for path in &found {
        remove(path);
    }
    let loads = match found.len() {
        0 => return,
        1 => "a load that was killed has left".to_owned(),
        many => format!("{many} loads that were killed have left"),
    };
    output::note(&format!(
        "removed what {loads} beside {}: nothing of it was ever loaded",
        output::name(&place.display().to_string())
    ));
}

/// Returns the journals in the making that nobody makes any more.
fn leftovers(place: &Path) -> std::io::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let Some(name) = place.file_name().and_then(|name| name.to_str()) else {
        return Ok(found);
    };
    for entry in fs::read_dir(folder_of(place))? {
        let found_name = entry?.file_name();
        let made = found_name
            .to_str()
            .map(|found| found.strip_suffix(LOCK).unwrap_or(found));
        let made = made.filter(|made| of_making(name, made).is_some_and(is_numbered));
        if let Some(made) = made {
            let path = place.with_file_name(made);
            if is_dead(&path)? {
                found.insert(path);
            }
        }
    }
    Ok(found)
}

/// Returns whether a name ends as those that a load makes: with two numbers.
fn is_numbered(end: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = end.split_once('-');
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// Returns whether a journal in the making is our own, and no load makes it any more.
fn is_dead(path: &Path) -> std::io::Result<bool> {
    let lock = beside(path, LOCK);
    let is_own = |metadata: &Metadata| {
        metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw()
    };
    // A clock that was set back makes no file older.
    let is_older = |metadata: &Metadata, than: Duration| {
        let changed = Timestamp::from_millis(metadata.mtime().saturating_mul(1000));
        Timestamp::now().since(changed) > than
    };
    match fs::symlink_metadata(&lock) {
        Ok(metadata) if !is_own(&metadata) => Ok(false),
        Ok(metadata) => {
            let is_unlocked = File::open(&lock)?.try_lock().is_ok();
            let is_begun = path.symlink_metadata().is_ok_and(|made| is_own(&made));
            Ok(is_unlocked && (is_begun || is_older(&metadata, YOUNG)))
        }
        Err(_) => {
            let metadata = fs::symlink_metadata(path)?;
            Ok(is_own(&metadata) && is_older(&metadata, OLD))
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn unsynced(path: &Path, error: &std::io::Error) -> Error {
    Error::from(crate::journal::Error::Open {
        path: path.to_owned(),
        cause: format!("disk I/O error while what was loaded was synced: {error}"),
    })
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_dead_load_has_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("j.db");
        let (journal, live) = Aside::begin(&place).unwrap();
        let left = [
            "j.db.loading-7-8",
            "j.db.loading-7-8-lock",
            "j.db.loading-7-8-wal",
        ];
        let others = [
            "j.db.loading-7-9",
            "j.db.loading-x",
            "j.db.loading-7-8.bak",
            "k.db.loading-7-8",
            "k.db.loading-7-8-lock",
        ];
        for name in left.iter().chain(&others) {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let before = names(folder.path());
        remove_leftovers(&place);
        let kept = before.iter().filter(|name| !left.contains(&name.as_str()));
        assert_eq!(names(folder.path()), kept.cloned().collect::<Vec<_>>());
        drop(journal);
        drop(live);
        let mut others = others.map(str::to_owned);
        others.sort();
        assert_eq!(names(folder.path()), others);
    }

    #[test]
    fn a_journal_that_another_load_has_made_meanwhile_is_told_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("j.db");
        let (journal, aside) = Aside::begin(&place).unwrap();
        drop(journal);
        fs::write(&place, "another one").unwrap();
        let error = aside.put_in_place().unwrap_err();
        let said = format!("{error:?}");
        assert!(
            said.contains("another load has made it while this one was read"),
            "{said}"
        );
        assert!(!said.contains("os error"), "{said}");
        assert_eq!(fs::read(&place).unwrap(), b"another one");
        assert_eq!(names(folder.path()), ["j.db"]);
    }
}
