//! Whether the file that was opened is still the one that has its name.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file, by its name and by what it was when it was opened.
#[derive(Clone, Debug, Default)]
pub(in crate::journal) struct FileId {
    path: PathBuf,
    /// Its device and its number there; `None`: it has no name.
    number: Option<(u64, u64)>,
}

impl FileId {
    /// Notes a file that was opened.
    pub(in crate::journal) fn of(path: &Path) -> Self {
        Self {
            path: path.into(),
            number: number(path),
        }
    }

    /// Returns whether it has its name still: a file that was removed, or moved away, is written to without a word.
    pub(in crate::journal) fn is_in_place(&self) -> bool {
        self.number.is_none() || number(&self.path) == self.number
    }
}

fn number(path: &Path) -> Option<(u64, u64)> {
    let found = path.symlink_metadata().ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_removed_or_replaced_is_not_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        std::fs::write(&path, "one").unwrap();
        let file = FileId::of(&path);
        assert!(file.is_in_place());
        let aside = folder.path().join("aside");
        std::fs::rename(&path, &aside).unwrap();
        assert!(!file.is_in_place());
        std::fs::write(&path, "another").unwrap();
        assert!(!file.is_in_place());
        std::fs::rename(&aside, &path).unwrap();
        assert!(file.is_in_place());
        assert!(FileId::default().is_in_place());
    }
}
