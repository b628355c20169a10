//! Which files of a folder are our own, as we left them: nothing else is ever overwritten.
//!
//! Beside the report lies a list of what was written there: of each file its length and the time of its last change. It is
//! extended, and synced, before a file takes its place, so that a crash leaves no file of ours that it does not know.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use tempfile::{NamedTempFile, PersistError};

use super::error::Error;
use super::owner::{Owner, Whose};

/// The list.
pub(in crate::report) const LIST: &str = ".disburse-files";
/// How the list begins.
const HEAD: &str = "What disburse wrote in this folder: file, bytes, seconds and nanoseconds of its last change.\n";
/// Bytes at the end of the list that are read: what is there now was written last.
const TAIL_MAX: u64 = 64 * 1024;
/// Bytes of the list of a folder of page files: twice as many as for the most rows that a journal holds.
const LISTED_MAX: u64 = 16 << 20;

/// How a line of the list begins that says of which batch the report is that follows.
const OF: &str = "# ";

/// A file as it was written, and of which batch it is; `None`: it is no report, or an earlier release wrote it.
type Written = (Mark, Option<Owner>);

/// What tells a file as it was written from one that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) struct Mark {
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Mark {
    /// Returns the mark of a file as it is now.
    pub(in crate::report) fn of(metadata: &Metadata) -> Self {
        Self {
            bytes: metadata.len(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        }
    }
}

/// What has the name that a file is to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// A folder: no file takes its place.
    Folder,
    /// A symbolic link, or what is neither file nor folder.
    NoFile,
    File {
        mark: Mark,
        /// It is the very file that is being read, under whatever name.
        is_input: bool,
    },
}

/// Returns whether a file may take this place. `own`: of which batch it is.
fn judge(found: Found, written: &[Written], own: Option<&Owner>) -> Result<(), Whose> {
    match found {
        Found::Nothing | Found::Folder => Ok(()),
        Found::NoFile => Err(Whose::NoFile),
        Found::File { is_input: true, .. } => Err(Whose::Input),
        Found::File { mark, .. } => {
            let ours = written.iter().rev().filter(|(known, _)| *known == mark);
            let mut owners = ours.map(|(_, owner)| owner.as_ref());
            match owners.next() {
                // What is no report, or of nobody knows whom, is ours all the same.
                Some(None) => return Ok(()),
                Some(Some(owner)) if own.is_none_or(|own| own == owner) => return Ok(()),
                Some(Some(owner)) => return Err(Whose::OfAnother(owner.clone())),
                None => {}
            }
            planted!(report::of_somebody(Err(Whose::Somebodys)))
        }
    }
}

/// Which file a command reads: no name of it is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Returns the identity of an open file.
    ///
    /// # Errors
    /// As the system says.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(Self::from_metadata(&file.metadata()?))
    }

    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

fn look(path: &Path, input: Option<FileIdentity>) -> io::Result<Found> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    };
    Ok(match metadata.file_type() {
        kind if kind.is_dir() => Found::Folder,
        kind if !kind.is_file() => Found::NoFile,
        _ => Found::File {
            mark: Mark::of(&metadata),
            is_input: input == Some(FileIdentity::from_metadata(&metadata)),
        },
    })
}

/// The list of a folder, locked against another report into it.
pub(in crate::report) struct Own {
    file: File,
    written: Vec<(String, Written)>,
}

impl Own {
    /// Opens the list; `None` when there is none and none is to be made.
    fn open(dir: &Path, make: bool) -> Result<Option<Self>, Error> {
        let failed = Error::write(LIST, dir);
        let path = dir.join(LIST);
        let opened = OpenOptions::new()
            .read(true)
            .append(make)
            .create(make)
            .mode(0o600)
            .custom_flags(i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0))
            .open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if !make && error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) if path.is_symlink() => return Err(Error::not_ours(LIST, dir, Whose::NoFile)),
            Err(error) => return Err(failed(error)),
        };
        let read = || -> io::Result<Option<Vec<(String, Written)>>> {
            if !file.metadata()?.is_file() {
                return Ok(None);
            }
            if make {
                file.lock()?;
            }
            read(&file, TAIL_MAX)
        };
        match read().map_err(Error::write(LIST, dir))? {
            Some(written) => Ok(Some(Self { file, written })),
            None => Err(Error::not_ours(LIST, dir, Whose::Somebodys)),
        }
    }

    fn of(&self, name: &str) -> Vec<Written> {
        let of_name = self.written.iter().filter(|(known, _)| known == name);
        of_name.map(|(_, written)| written.clone()).collect()
    }

    /// Notes files that are about to take their places, for good.
    pub(in crate::report) fn note<'a>(
        &mut self,
        files: impl Iterator<Item = (&'a str, &'a File)>,
        owner: Option<&Owner>,
    ) -> io::Result<()> {
        // A line that a crash cut off ends here, at the latest.
        let mut text = "\n".to_owned();
        if self.file.metadata()?.len() < HEAD.len() as u64 {
            self.file.set_len(0)?;
            HEAD.clone_into(&mut text);
        }
        // What follows is nobody's else.
        let owner = owner.map_or("", |Owner(name)| name);
        text.push_str(&format!("{OF}{owner}\n"));
        for (name, file) in files {
            push_line(&mut text, name, Mark::of(&file.metadata()?));
        }
        self.file.write_all(text.as_bytes())?;
        self.file.sync_all()
    }
}

/// Lists all files of a folder that is being made, for good.
pub(in crate::report) fn list_all(folder: &Path, files: &[(String, Mark)]) -> io::Result<()> {
    let mut text = HEAD.to_owned();
    for (name, mark) in files {
        push_line(&mut text, name, *mark);
    }
    let mut list = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(folder.join(LIST))?;
    list.write_all(text.as_bytes())?;
    list.sync_all()
}

/// Reads the list of such a folder; `None` when there is none of ours.
pub(in crate::report) fn listed(folder: &Path) -> io::Result<Option<Vec<(String, Mark)>>> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or(0))
        .open(folder.join(LIST));
    let file = match opened {
        Ok(file) if file.metadata()?.is_file() => file,
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) if folder.join(LIST).is_symlink() => return Ok(None),
        Err(error) => return Err(error),
    };
    let written = read(&file, LISTED_MAX)?;
    Ok(written.map(|files| {
        let files = files.into_iter();
        files.map(|(name, (mark, _))| (name, mark)).collect()
    }))
}

fn push_line(text: &mut String, name: &str, mark: Mark) {
    let Mark {
        bytes,
        seconds,
        nanoseconds,
    } = mark;
    text.push_str(&format!("{name} {bytes} {seconds} {nanoseconds}\n"));
}

/// Reads the end of a list, so many bytes of it; `None` when it is none of ours.
fn read(mut file: &File, bytes_max: u64) -> io::Result<Option<Vec<(String, Written)>>> {
    let length = file.metadata()?.len();
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(HEAD.len() as u64).read_to_end(&mut head)?;
    if !HEAD.as_bytes().starts_with(&head) {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(
        length.saturating_sub(bytes_max).max(head.len() as u64),
    ))?;
    let mut tail = Vec::new();
    file.take(bytes_max).read_to_end(&mut tail)?;
    let tail = String::from_utf8_lossy(&tail);
    let mut owner = None;
    let mut written = Vec::new();
    for text in tail.lines() {
        if let Some(name) = text.strip_prefix(OF) {
            owner = Some(Owner(name.to_owned())).filter(|_| !name.is_empty());
        } else if let Some((name, mark)) = line(text) {
            written.push((name, (mark, owner.clone())));
        }
    }
    Ok(Some(written))
}

/// Reads one line; `None` of one that is not whole.
fn line(text: &str) -> Option<(String, Mark)> {
    let mut parts = text.rsplitn(4, ' ');
    let nanoseconds = parts.next()?.parse().ok()?;
    let seconds = parts.next()?.parse().ok()?;
    let mark = Mark {
        bytes: parts.next()?.parse().ok()?,
        seconds,
        nanoseconds,
    };
    Some((parts.next()?.to_owned(), mark))
}

/// Puts a file that was written aside in its place, if nothing else has that name, or a file of ours as we left it; otherwise
/// gives it back. `input`: the file that the command reads, which is no such place.
///
/// # Errors
/// As the system says.
pub fn place(
    file: NamedTempFile,
    path: &Path,
    input: Option<FileIdentity>,
) -> io::Result<Result<(), NamedTempFile>> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let name = path
        .file_name()
        .ok_or(io::ErrorKind::IsADirectory)?
        .to_string_lossy();
    // Where the list is another program's, no file is known to be ours.
    let mut own = Own::open(dir, true).ok().flatten();
    let written = own.as_ref().map_or_else(Vec::new, |own| own.of(&name));
    let found = look(path, input)?;
    if found == Found::Folder {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if judge(found, &written, None).is_err() {
        return Ok(Err(file));
    }
    if let Some(own) = &mut own {
        own.note([(&*name, file.as_file())].into_iter(), None)?;
    }
    match put(file, path) {
        Ok(()) => Ok(Ok(())),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(Err(failed.file)),
        Err(failed) => Err(failed.error),
    }
}

/// Returns whether [`place`] would give a file this name. Leaves no trace.
///
/// # Errors
/// As the system says.
pub fn is_free(path: &Path) -> io::Result<bool> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let own = Own::open(dir, false).ok().flatten();
    let written = own.map_or_else(Vec::new, |own| own.of(&name));
    Ok(judge(look(path, None)?, &written, None).is_ok())
}

/// What became of a file that an earlier command has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// There was none.
    Nothing,
    /// It was ours, as we left it, and is gone.
    Removed,
    /// It is somebody's, or was changed since, and stays.
    Kept,
}

/// Removes a file of ours that nobody has touched since.
///
/// # Errors
/// As the system says.
pub fn remove_leftover(path: &Path) -> io::Result<Leftover> {
    let found = look(path, None)?;
    if found == Found::Nothing {
        return Ok(Leftover::Nothing);
    }
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Locked, so that no other report puts a new one in its place meanwhile.
    let own = Own::open(dir, true).ok().flatten();
    let written = own.as_ref().map_or_else(Vec::new, |own| own.of(&name));
    let found = look(path, None)?;
    if !matches!(found, Found::File { .. }) || judge(found, &written, None).is_err() {
        return Ok(Leftover::Kept);
    }
    fs::remove_file(path)?;
    Ok(Leftover::Removed)
}

/// Gives a file its name: where there was none a moment ago, it takes the place of nothing that came since.
pub(in crate::report) fn put(file: NamedTempFile, path: &Path) -> Result<(), PersistError> {
    let placed = match fs::symlink_metadata(path) {
        Ok(_) => file.persist(path),
        Err(_) => file.persist_noclobber(path),
    };
    placed.map(drop)
}

/// Refuses names that something else has than a file of ours, as we left it. Leaves no trace.
pub(in crate::report) fn check(
    dir: &Path,
    names: &[&'static str],
    owner: &Owner,
    input: Option<FileIdentity>,
) -> Result<(), Error> {
    check_with(Own::open(dir, false)?.as_ref(), dir, names, owner, input)
}

/// The same, and keeps others from writing a report there until the list is dropped.
pub(in crate::report) fn begin(
    dir: &Path,
    names: &[&'static str],
    owner: &Owner,
) -> Result<Own, Error> {
    let own = Own::open(dir, true)?
        .ok_or_else(|| Error::write(LIST, dir)(io::ErrorKind::NotFound.into()))?;
    check_with(Some(&own), dir, names, owner, None)?;
    Ok(own)
}

fn check_with(
    own: Option<&Own>,
    dir: &Path,
    names: &[&'static str],
    owner: &Owner,
    input: Option<FileIdentity>,
) -> Result<(), Error> {
    for name in names {
        let found = look(&dir.join(name), input).map_err(Error::write(name, dir))?;
        let written = own.map_or_else(Vec::new, |own| own.of(name));
        judge(found, &written, Some(owner)).map_err(|whose| Error::not_ours(name, dir, whose))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: Mark = Mark {
        bytes: 7,
        seconds: 1_795_845_600,
        nanoseconds: 5,
    };

    fn wrong() -> usize {
        let file = |mark, is_input| Found::File { mark, is_input };
        let longer = Mark { bytes: 8, ..MARK };
        let later = Mark {
            nanoseconds: 6,
            ..MARK
        };
        let owner = |name: &str| Some(Owner(name.to_owned()));
        let (known, ours, others) = (
            (MARK, None),
            (MARK, owner("batch b")),
            (MARK, owner("batch c")),
        );
        let later_one = (later, owner("batch c"));
        let cases: Vec<(Found, Vec<Written>, Result<(), Whose>)> = vec![
            (Found::Nothing, vec![], Ok(())),
            (Found::Nothing, vec![known.clone()], Ok(())),
            (Found::Folder, vec![], Ok(())),
            (Found::NoFile, vec![known.clone()], Err(Whose::NoFile)),
            (file(MARK, false), vec![], Err(Whose::Somebodys)),
            (file(MARK, false), vec![known.clone()], Ok(())),
            (file(MARK, false), vec![ours.clone()], Ok(())),
            (file(MARK, false), vec![later_one, known.clone()], Ok(())),
            (
                file(MARK, false),
                vec![others.clone()],
                Err(Whose::OfAnother(Owner("batch c".to_owned()))),
            ),
            (file(MARK, false), vec![others, ours], Ok(())),
            (file(MARK, true), vec![known.clone()], Err(Whose::Input)),
            (file(MARK, true), vec![], Err(Whose::Input)),
            (
                file(longer, false),
                vec![known.clone()],
                Err(Whose::Somebodys),
            ),
            (file(later, false), vec![known], Err(Whose::Somebodys)),
        ];
        let own = Owner("batch b".to_owned());
        let is_wrong = |(found, written, expected): &&(Found, Vec<Written>, Result<(), Whose>)| {
            judge(*found, written, Some(&own)) != *expected
        };
        cases.iter().filter(is_wrong).count()
    }

    #[test]
    fn only_what_we_wrote_and_nobody_changed_is_overwritten() {
        assert_eq!(wrong(), 0);
        let _awake = crate::seeded_bugs::SeededBug::ForeignFileOverwritten.wake();
        assert_eq!(wrong(), 3, "the planted mistake is found");
    }

    #[test]
    fn a_list_that_a_crash_cut_off_is_read_as_far_as_it_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LIST);
        for (text, files) in [
            (String::new(), Some(0)),
            (HEAD[..20].to_owned(), Some(0)),
            (format!("{HEAD}a.csv 7 1795845600 5\nb.csv 8 17"), Some(1)),
            (
                format!("{HEAD}a.csv 7 1795845600 5\n\nb.csv 8 1 2\n"),
                Some(2),
            ),
            (
                format!("{HEAD}a.csv 7 1795845600 5\n# batch 7\nb.csv 8 1 2\n# \nc.csv 8 1 2\n"),
                Some(3),
            ),
            ("my own notes\n".to_owned(), None),
            (format!(" {HEAD}"), None),
        ] {
            fs::write(&path, &text).unwrap();
            let read = read(&File::open(&path).unwrap(), TAIL_MAX).unwrap();
            assert_eq!(read.map(|files| files.len()), files, "{text:?}");
        }
    }
}
