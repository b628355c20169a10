//! A file gets a name that nothing of somebody else's has: what a person may have edited is never overwritten.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::report::{FileIdentity, is_free, place};

/// Names that are tried.
const NAMES_MAX: u32 = 10_000;

/// Gives a file this name or, when something else has it, the next one with a number that is free; returns the name. A file of
/// ours that nobody has touched since is replaced. Where the very same bytes are there already, they stay.
///
/// `input`: the file that the command reads, which keeps its name. `may_replace`: whether it may take the place of this one of ours.
pub(in crate::cli) fn put(
    mut file: NamedTempFile,
    path: &Path,
    input: Option<FileIdentity>,
    may_replace: impl Fn(&Path, &Path) -> io::Result<bool>,
) -> io::Result<PathBuf> {
    for number in 1..=NAMES_MAX {
        let name = numbered(path, number);
        match fs::symlink_metadata(&name) {
            Ok(there) if there.is_file() && is_same(file.path(), &name, input)? => return Ok(name),
            Ok(there) if !there.is_file() && !there.is_symlink() => {
                return Err(io::Error::other("something that is no file has that name"));
            }
            Ok(there) if there.is_file() && !may_replace(file.path(), &name)? => continue,
            _ => {}
        }
        match place(file, &name, input)? {
            Ok(()) => return Ok(name),
            Err(back) => file = back,
        }
    }
    Err(io::Error::other("every name with a number is taken"))
}

/// Returns the name that [`put`] gives a file with other bytes than those that are there.
pub(in crate::cli) fn next(path: &Path) -> PathBuf {
    (1..=NAMES_MAX)
        .map(|number| numbered(path, number))
        .find(|name| is_free(name).unwrap_or(false))
        .unwrap_or_else(|| path.to_owned())
}

/// Returns `a.csv`, `a-2.csv`, `a-3.csv`.
pub(in crate::cli) fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn is_same(one: &Path, other: &Path, input: Option<FileIdentity>) -> io::Result<bool> {
    let mut one = File::open(one)?;
    // What cannot be read is another file.
    let Ok(mut other) = File::open(other) else {
        return Ok(false);
    };
    if input.is_some() && FileIdentity::of(&other).ok() == input {
        return Ok(false);
    }
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut buffers = [[0; 8192]; 2];
    loop {
        let read = one.read(&mut buffers[0])?;
        if read == 0 {
            return Ok(true);
        }
        let [ours, theirs] = &mut buffers;
        match other.read_exact(&mut theirs[..read]) {
            Ok(()) if ours[..read] == theirs[..read] => {}
            _ => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_taken_name_gets_a_number_and_the_same_bytes_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.corrections.csv");
        let put = |text: &str| {
            let mut file = NamedTempFile::new_in(dir.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let name = put(file, &path, None, |_, _| Ok(true)).unwrap();
            name.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(put("one"), "a.corrections.csv");
        assert_eq!(put("two"), "a.corrections.csv", "nobody has touched ours");
        fs::write(&path, "one, mended").unwrap();
        assert_eq!(put("one, mended"), "a.corrections.csv");
        assert_eq!(put("two"), "a.corrections-2.csv");
        fs::write(dir.path().join("a.corrections-2.csv"), "two, mended").unwrap();
        std::os::unix::fs::symlink("nowhere", dir.path().join("a.corrections-3.csv")).unwrap();
        let fourth = dir.path().join("a.corrections-4.csv");
        assert_eq!(next(&path), fourth, "the name is told before");
        assert_eq!(put("three"), "a.corrections-4.csv");
        assert_eq!(next(&path), fourth, "ours is replaced");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one, mended");
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            5,
            "nothing but the list is left behind"
        );
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let file = NamedTempFile::new_in(dir.path()).unwrap();
        super::put(file, &folder, None, |_, _| Ok(true)).unwrap_err();
    }
}
