//! A file that is made under a name of its own, and gets that of a journal once it says what it is.

use std::path::{Path, PathBuf};

/// What stands between the name of a journal and what tells those in the making apart.
const MAKING: &str = ".loading-";

/// Returns a name beside that of a journal which nobody else has: process numbers come again, in containers at every start, and what a
/// killed process left behind must not be taken for a beginning.
#[must_use]
pub fn making_name(journal: &Path) -> PathBuf {
    let (process, number) = (std::process::id(), fastrand::u64(..));
    let mut name = journal.as_os_str().to_owned();
    name.push(format!("{MAKING}{process}-{number}"));
    name.into()
}

/// Returns what tells a journal in the making apart, where a name is that of one beside this journal: two numbers, and what stands behind.
#[must_use]
pub fn of_making<'n>(journal: &str, name: &'n str) -> Option<&'n str> {
    name.strip_prefix(journal)?.strip_prefix(MAKING)
}

/// Gives a file a name that must be nobody's, at one stroke: a journal with two names is refused.
///
/// # Errors
/// [`std::io::ErrorKind::AlreadyExists`] where somebody has that name.
pub fn rename_to_nobodys_name(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    #[cfg(debug_assertions)]
    if crate::failpoints::names_are_linked() {
        return link_to_nobodys_name(from, to);
    }
    let renamed = renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE);
    renamed
        .map_err(std::io::Error::from)
        .or_else(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Err(error),
            _ => link_to_nobodys_name(from, to),
        })
}

/// The same where the file system cannot: in two strokes, or after no more than a look at the name.
fn link_to_nobodys_name(from: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => std::fs::rename(from, to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_in_the_making_shares_its_name_with_no_other_of_the_same_process_number() {
        let path = Path::new("j.db");
        assert_ne!(making_name(path), making_name(path));
        let name = making_name(path).display().to_string();
        assert!(of_making("j.db", &name).is_some(), "{name}");
        assert_eq!(of_making("k.db", &name), None);
        assert_eq!(of_making("j.db", "j.db.mark"), None);
    }
}
