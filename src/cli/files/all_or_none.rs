//! Several new files that appear together: none is written over another, and after a failure none is left.
//!
//! They lie in a folder aside, with a note of what each of them is, and get their names one after the other. Whoever was killed in
//! between leaves that folder: by the note the next one knows which files are of it, and that nobody has touched them since.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::scratch::{Scratch, Use, leftovers};

/// What each file is, beside them.
const NOTE: &str = "note.json";
/// A note is no longer.
const NOTE_BYTES_MAX: u64 = 64 * 1024;

/// A new file.
pub(in crate::cli) struct New {
    pub(in crate::cli) name: String,
    pub(in crate::cli) bytes: Vec<u8>,
}

/// New files that lie aside, on disk, under the names that they will have.
pub(in crate::cli) struct Aside {
    target: PathBuf,
    names: Vec<String>,
    /// Before the folder that was made for it, as it lies in there.
    aside: Scratch,
    made: Option<Made>,
}

/// A folder that was made here: taken away again while it is empty, unless it is kept.
struct Made(Option<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(folder) = self.0.take() {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A file as it was written, whatever its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Noted {
    name: String,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Noted {
    fn of(name: &str, found: &Metadata) -> Self {
        Self {
            name: name.to_owned(),
            inode: found.ino(),
            bytes: found.len(),
            changed: (found.mtime(), found.mtime_nsec()),
        }
    }
}

/// Returns the files that are to be taken back: those that have their names and are as they were written, unless all of them have.
fn half_done(noted: &[Noted], found: impl Fn(&str) -> Option<Noted>) -> Vec<&Noted> {
    let there = |one: &&Noted| found(&one.name).as_ref() == Some(*one);
    // They get their names in their order.
    match noted.last().is_some_and(|last| there(&last)) {
        true => Vec::new(),
        false => noted.iter().filter(there).collect(),
    }
}

fn note_of(aside: &Path) -> Option<Vec<Noted>> {
    let path = aside.join(NOTE);
    let found = path.symlink_metadata().ok()?;
    if !found.is_file() || found.len() > NOTE_BYTES_MAX {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Returns the files that somebody who was killed has left under their names, without all the others, and that nobody has touched
/// since. What lies aside of others who were killed is removed.
pub(in crate::cli) fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let found = |name: &str| {
        let there = folder.join(name).symlink_metadata().ok()?;
        there.is_file().then(|| Noted::of(name, &there))
    };
    let mut paths = Vec::new();
    for aside in leftovers(folder, Use::Init) {
        let noted = note_of(&aside).unwrap_or_default();
        let noted: Vec<Noted> = noted
            .into_iter()
            .filter(|one| Path::new(&one.name).file_name() == Some(one.name.as_ref()))
            .collect();
        let left = half_done(&noted, found);
        if left.is_empty() {
            // All have their names, or none has.
            let _ = fs::remove_dir_all(&aside);
        }
        paths.extend(left.iter().map(|one| folder.join(&one.name)));
    }
    paths
}

/// Returns the names that something has already; what was left by somebody who was killed gives way.
pub(in crate::cli) fn in_the_way(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    let left = unfinished(folder);
    let paths = names.iter().map(|name| folder.join(name));
    paths
        .filter(|path| path.symlink_metadata().is_ok() && !left.contains(path))
        .collect()
}

/// Writes files aside, each for its owner alone.
pub(in crate::cli) fn write_aside(folder: &Path, files: &[New]) -> io::Result<Aside> {
    let made = match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => Some(Made(Some(folder.to_owned()))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
        Err(error) => return Err(error),
    };
    // Before the folders that know them.
    for path in unfinished(folder) {
        fs::remove_file(path)?;
    }
    let aside = Scratch::beside(folder, Use::Init)?;
    let mut noted = Vec::new();
    for file in files {
        let written = write_new(&aside.path().join(&file.name), &file.bytes)?;
        noted.push(Noted::of(&file.name, &written));
    }
    let note = serde_json::to_vec(&noted).map_err(io::Error::other)?;
    write_new(&aside.path().join(NOTE), &note)?;
    File::open(aside.path())?.sync_all()?;
    Ok(Aside {
        target: folder.to_owned(),
        names: files.iter().map(|file| file.name.clone()).collect(),
        aside,
        made,
    })
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<Metadata> {
    let mut written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    written.write_all(bytes)?;
    written.sync_all()?;
    written.metadata()
}

impl Aside {
    /// Returns where they lie meanwhile.
    pub(in crate::cli) fn folder(&self) -> &Path {
        self.aside.path()
    }

    /// Gives them their names, in their order; takes those back that have theirs when one cannot have it.
    ///
    /// # Errors
    /// The file, and why it cannot have its name.
    pub(in crate::cli) fn appear(mut self) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
        let mut placed: Vec<PathBuf> = Vec::new();
        for name in &self.names {
            let target = self.target.join(name);
            #[cfg(debug_assertions)]
            crate::failpoints::pass("init-before-a-name");
            if let Err(error) = moved(&self.aside.path().join(name), &target) {
                for path in &placed {
                    let _ = fs::remove_file(path);
                }
                return Err((target, error));
            }
            placed.push(target);
        }
        let synced = File::open(&self.target).and_then(|folder| folder.sync_all());
        if let Err(error) = synced {
            tracing::warn!("{}: {error}", self.target.display());
        }
        if let Some(made) = &mut self.made {
            made.0 = None;
        }
        // Where files are linked, one name each is left once the folder aside is gone.
        Ok(placed)
    }
}

/// Gives a file another name, which nobody has.
fn moved(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => fs::hard_link(from, to),
        outcome => outcome.map_err(io::Error::from),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn files() -> [New; 2] {
        ["a", "b"].map(|name| New {
            name: name.to_owned(),
            bytes: name.into(),
        })
    }

    fn listed(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn all_appear_or_none_and_nothing_of_somebody_else_is_touched() {
        let desk = tempfile::tempdir().unwrap();
        let folder = desk.path().join("new");
        let placed = write_aside(&folder, &files()).unwrap().appear().unwrap();
        assert_eq!(listed(&folder), ["a", "b"]);
        for path in placed {
            let metadata = fs::metadata(path).unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
            assert_eq!(metadata.nlink(), 1);
        }
        fs::remove_file(folder.join("a")).unwrap();
        fs::write(folder.join("b"), "mine").unwrap();
        assert_eq!(in_the_way(&folder, &["a", "b"]), [folder.join("b")]);
        // It came between the look and the end.
        let (path, error) = write_aside(&folder, &files())
            .unwrap()
            .appear()
            .unwrap_err();
        assert_eq!(path, folder.join("b"));
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(listed(&folder), ["b"]);
        assert_eq!(fs::read_to_string(folder.join("b")).unwrap(), "mine");
    }

    #[test]
    fn only_what_nobody_has_touched_and_has_no_last_file_is_taken_back() {
        let noted: Vec<Noted> = ["a", "b", "c"]
            .into_iter()
            .zip(1..)
            .map(|(name, inode)| Noted {
                name: name.to_owned(),
                inode,
                bytes: 9,
                changed: (5, 7),
            })
            .collect();
        type Found<'f> = &'f [(&'f str, u64, u64, i64)];
        let table: [(&str, Found<'_>, &[&str]); 7] = [
            ("nothing has its name", &[], &[]),
            ("one has", &[("a", 1, 9, 5)], &["a"]),
            ("two have", &[("a", 1, 9, 5), ("b", 2, 9, 5)], &["a", "b"]),
            (
                "all have: it is done",
                &[("a", 1, 9, 5), ("b", 2, 9, 5), ("c", 3, 9, 5)],
                &[],
            ),
            ("another file has the name", &[("a", 8, 9, 5)], &[]),
            ("it was written to", &[("a", 1, 10, 5), ("b", 2, 9, 6)], &[]),
            (
                "somebody has made the last one",
                &[("a", 1, 9, 5), ("c", 8, 9, 5)],
                &["a"],
            ),
        ];
        for (case, found, expected) in table {
            let of = |name: &str| {
                let one = found.iter().find(|one| one.0 == name)?;
                Some(Noted {
                    name: name.to_owned(),
                    inode: one.1,
                    bytes: one.2,
                    changed: (one.3, 7),
                })
            };
            let left = half_done(&noted, of);
            let names: Vec<&str> = left.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, expected, "{case}");
        }
    }

    #[test]
    fn a_folder_that_was_made_for_them_goes_with_them() {
        let desk = tempfile::tempdir().unwrap();
        let folder = desk.path().join("new");
        drop(write_aside(&folder, &files()).unwrap());
        assert_eq!(listed(desk.path()), [""; 0]);
        write_aside(&desk.path().join("x/y"), &files())
            .map(drop)
            .unwrap_err();
        assert_eq!(listed(desk.path()), [""; 0]);
    }
}
