//! Several new files that appear together: none is written over another, and after a failure none is left.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use tempfile::TempDir;

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
    aside: TempDir,
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

/// Returns the names that something has already.
pub(in crate::cli) fn in_the_way(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    let paths = names.iter().map(|name| folder.join(name));
    paths
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

/// Writes files aside, each for its owner alone.
pub(in crate::cli) fn write_aside(folder: &Path, files: &[New]) -> io::Result<Aside> {
    let made = match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => Some(Made(Some(folder.to_owned()))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
        Err(error) => return Err(error),
    };
    let aside = tempfile::Builder::new()
        .prefix(".disburse-init-")
        .tempdir_in(folder)?;
    for file in files {
        let mut written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(aside.path().join(&file.name))?;
        written.write_all(&file.bytes)?;
        written.sync_all()?;
    }
    Ok(Aside {
        target: folder.to_owned(),
        names: files.iter().map(|file| file.name.clone()).collect(),
        aside,
        made,
    })
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
        // Where files are linked, one name each is left.
        let _ = self.aside.close();
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
