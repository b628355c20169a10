//! The files of rows beside report.html, in a folder that is named after what is in it.
//!
//! ```text
//! report.html                            names the folder of its rows
//! report_files/3f9a1c2b4d5e6f70/00001.js
//!                               00002.js
//! ```
//!
//! The folder is complete, on disk and in its place before report.html is replaced, and that of the earlier report goes after it:
//! whenever the program ends, the page that is there has its rows. Browsers give the files of a saved page a folder of such a
//! name, and the file manager of Windows copies, moves and deletes the two together.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::error::Error;
use super::own::{self, LIST, Mark};
use super::owner::Whose;

/// The folder beside report.html.
pub(in crate::report) const FOLDER: &str = "report_files";

/// Bytes of the digest that names a folder of rows.
const KEY_BYTES: usize = 8;

/// How many files wait for the thread that brings them to disk.
const WAITING_MAX: usize = 1;

/// Returns the name of a file of rows; the first is number 1.
pub(in crate::report) fn name(number: usize) -> String {
    format!("{number:05}.js")
}

/// Files of rows that are being written aside, each brought to disk while the next is put together. Dropped, they disappear.
pub(in crate::report) struct Files {
    full: Option<SyncSender<Vec<u8>>>,
    emptied: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<io::Result<Staged>>>,
}

/// Files of rows that are complete and on disk, and not in their place yet. Dropped, they disappear.
pub(in crate::report) struct Staged {
    folder: TempDir,
    key: String,
}

impl Files {
    /// Begins a folder beside its future place.
    pub(in crate::report) fn create(dir: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(&format!(".{FOLDER}."))
            .suffix(".tmp")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(dir)?;
        let (full, waiting) = sync_channel(WAITING_MAX);
        let (give_back, emptied) = sync_channel(WAITING_MAX);
        let thread = thread::Builder::new()
            .name("report pages".to_owned())
            .spawn(move || write_all(folder, &waiting, &give_back))?;
        Ok(Self {
            full: Some(full),
            emptied,
            thread: Some(thread),
        })
    }

    /// Adds the next file, whole. Returns room for the one after it.
    pub(in crate::report) fn add(&mut self, file: Vec<u8>) -> io::Result<Vec<u8>> {
        let sent = self.full.as_ref().map(|full| full.send(file));
        if matches!(sent, Some(Ok(()))) {
            return Ok(self.emptied.try_recv().unwrap_or_default());
        }
        // The thread has ended before its time: it says why.
        self.join().map(|_| Vec::new())
    }

    /// Waits until all files are on disk.
    pub(in crate::report) fn finish(mut self) -> io::Result<Staged> {
        self.join()
    }

    fn join(&mut self) -> io::Result<Staged> {
        self.full = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

// The folder is gone when the report is given up.
impl Drop for Files {
    fn drop(&mut self) {
        self.full = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_all(
    folder: TempDir,
    waiting: &Receiver<Vec<u8>>,
    give_back: &SyncSender<Vec<u8>>,
) -> io::Result<Staged> {
    let mut digest = Sha256::new();
    let mut files = Vec::new();
    for mut bytes in waiting {
        let name = name(files.len() + 1);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.path().join(&name))?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        files.push((name, Mark::of(&file.metadata()?)));
        digest.update(&bytes);
        bytes.clear();
        // Used again when there is room for it.
        let _ = give_back.try_send(bytes);
    }
    own::list_all(folder.path(), &files)?;
    File::open(folder.path())?.sync_all()?;
    Ok(Staged {
        folder,
        key: HEXLOWER.encode(&digest.finalize()[..KEY_BYTES]),
    })
}

impl Staged {
    /// Returns the name of the folder within [`FOLDER`]: a digest of what is in its files.
    pub(in crate::report) fn key(&self) -> &str {
        &self.key
    }

    /// Puts the folder in its place, where it does not disappear any more. Of the same rows there may be one already.
    ///
    /// # Errors
    /// [`Error::NotOurs`] when something else is there, or files that were changed since.
    pub(in crate::report) fn place(self, dir: &Path) -> Result<String, Error> {
        check(dir)?;
        let failed = || Error::write(FOLDER, dir);
        let all = dir.join(FOLDER);
        match DirBuilder::new().mode(0o700).create(&all) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed()(error));
            }
            _ => {}
        }
        let place = all.join(&self.key);
        match State::of(&place).map_err(failed())? {
            State::Absent => {}
            State::Whole => return Ok(self.key),
            State::Incomplete => remove(&place).map_err(failed())?,
            State::Foreign => return Err(Error::not_ours(FOLDER, dir, Whose::Somebodys)),
        }
        #[cfg(debug_assertions)]
        crate::failpoints::pass("in-place");
        let synced = |folder: &Path| File::open(folder).and_then(|folder| folder.sync_all());
        fs::rename(self.folder.path(), &place).map_err(failed())?;
        // It has another name now, and nothing is left to disappear.
        let _: PathBuf = self.folder.keep();
        synced(&all).and_then(|()| synced(dir)).map_err(failed())?;
        Ok(self.key)
    }
}

/// Refuses a folder whose name something else has. Leaves no trace.
pub(in crate::report) fn check(dir: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(dir.join(FOLDER)) {
        Ok(there) if !there.is_dir() => Err(Error::not_ours(FOLDER, dir, Whose::NoFile)),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            // What is in the way above is told about the folder of the report.
            match error.kind() {
                io::ErrorKind::NotADirectory => Ok(()),
                _ => Err(Error::write(FOLDER, dir)(error)),
            }
        }
        _ => Ok(()),
    }
}

/// Removes the rows of earlier reports, but for files that were changed since. `kept`: what the report that is there names.
///
/// What cannot be removed stays: no page names it, and the next report tries again.
pub(in crate::report) fn sweep(dir: &Path, kept: Option<&str>) {
    let all = dir.join(FOLDER);
    if !fs::symlink_metadata(&all).is_ok_and(|there| there.is_dir()) {
        return;
    }
    let Ok(folders) = fs::read_dir(&all) else {
        return;
    };
    for folder in folders.flatten() {
        let name = folder.file_name();
        let is_ours = name.to_str().is_some_and(is_key);
        if is_ours && name.to_str() != kept {
            let _ = remove(&folder.path());
        }
    }
    if kept.is_none() {
        // Unless something is left in it.
        let _ = fs::remove_dir(&all);
    }
}

fn is_key(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.len() == 2 * KEY_BYTES && name.bytes().all(is_digit)
}

/// What a folder of rows is, compared with its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    /// Every file is as it was written, and no other is there.
    Whole,
    /// Files are missing; those that are there are as they were written.
    Incomplete,
    /// Something is there that was not written there, or was changed since.
    Foreign,
}

impl State {
    fn of(folder: &Path) -> io::Result<Self> {
        let metadata = match fs::symlink_metadata(folder) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Absent),
            Err(error) => return Err(error),
        };
        if !metadata.is_dir() {
            return Ok(Self::Foreign);
        }
        let mut there = Vec::new();
        for file in fs::read_dir(folder)? {
            let file = file?;
            let metadata = file.metadata()?;
            let mark = metadata.is_file().then(|| Mark::of(&metadata));
            there.push((file.file_name().to_string_lossy().into_owned(), mark));
        }
        Ok(judge(own::listed(folder)?.as_deref(), &there))
    }
}

/// Compares what a folder holds with its list; `None`: there is none. What is no file has no mark.
fn judge(listed: Option<&[(String, Mark)]>, there: &[(String, Option<Mark>)]) -> State {
    let listed: std::collections::BTreeMap<&str, Mark> = listed
        .unwrap_or_default()
        .iter()
        .map(|(name, mark)| (name.as_str(), *mark))
        .collect();
    let mut found = 0;
    for (name, mark) in there {
        if listed.is_empty() || name != LIST {
            match (listed.get(name.as_str()), mark) {
                (Some(known), Some(mark)) if known == mark => found += 1,
                _ => return State::Foreign,
            }
        }
    }
    match found == listed.len() && found > 0 {
        true => State::Whole,
        false => State::Incomplete,
    }
}

/// Removes the files of a folder that are as they were written, and the folder when nothing else is left.
fn remove(folder: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(folder)?.is_dir() {
        return Ok(());
    }
    for (name, mark) in own::listed(folder)?.unwrap_or_default() {
        // A name of the list leads nowhere else.
        if name.contains('/') || name == LIST {
            continue;
        }
        let path = folder.join(name);
        let is_as_left = fs::symlink_metadata(&path)
            .is_ok_and(|there| there.is_file() && Mark::of(&there) == mark);
        if is_as_left {
            fs::remove_file(&path)?;
        }
    }
    let mut left = fs::read_dir(folder)?;
    let only_list = left.all(|file| file.is_ok_and(|file| file.file_name() == LIST));
    if only_list {
        if own::listed(folder)?.is_some() {
            fs::remove_file(folder.join(LIST))?;
        }
        fs::remove_dir(folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(bytes: usize) -> Mark {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), vec![b'x'; bytes]).unwrap();
        Mark::of(&file.as_file().metadata().unwrap())
    }

    #[test]
    fn a_folder_is_whole_incomplete_or_not_ours() {
        let (one, two) = (mark(1), mark(2));
        let list = |files: &[(&str, Mark)]| -> Vec<(String, Mark)> {
            files
                .iter()
                .map(|(name, mark)| ((*name).to_owned(), *mark))
                .collect()
        };
        let both = list(&[("00001.js", one), ("00002.js", two)]);
        type Case<'a> = (
            &'a str,
            Option<&'a [(String, Mark)]>,
            &'a [(&'a str, Option<Mark>)],
            State,
        );
        let cases: [Case<'_>; 9] = [
            (
                "all",
                Some(&both),
                &[
                    ("00001.js", Some(one)),
                    ("00002.js", Some(two)),
                    (LIST, Some(one)),
                ],
                State::Whole,
            ),
            (
                "one is missing",
                Some(&both),
                &[("00002.js", Some(two)), (LIST, Some(one))],
                State::Incomplete,
            ),
            (
                "one is changed",
                Some(&both),
                &[("00001.js", Some(two)), ("00002.js", Some(two))],
                State::Foreign,
            ),
            (
                "one is a link",
                Some(&both),
                &[("00001.js", None), ("00002.js", Some(two))],
                State::Foreign,
            ),
            (
                "one more",
                Some(&both),
                &[
                    ("00001.js", Some(one)),
                    ("00002.js", Some(two)),
                    ("notes", Some(one)),
                ],
                State::Foreign,
            ),
            ("nothing", Some(&both), &[], State::Incomplete),
            ("nothing, no list", None, &[], State::Incomplete),
            ("no list", None, &[("00001.js", Some(one))], State::Foreign),
            (
                "a list of nothing",
                Some(&[]),
                &[(LIST, Some(one))],
                State::Foreign,
            ),
        ];
        for (case, listed, there, expected) in cases {
            let there: Vec<_> = there
                .iter()
                .map(|(name, mark)| ((*name).to_owned(), *mark))
                .collect();
            assert_eq!(judge(listed, &there), expected, "{case}");
        }
    }

    #[test]
    fn keys_are_told_from_what_people_name() {
        assert!(is_key("3f9a1c2b4d5e6f70"));
        for other in [
            "",
            "3f9a1c2b4d5e6f7",
            "3F9A1C2B4D5E6F70",
            "3f9a1c2b4d5e6f7g",
            "../../../../etc/x",
        ] {
            assert!(!is_key(other), "{other}");
        }
    }

    fn staged(dir: &Path, rows: &[&str]) -> Staged {
        let mut files = Files::create(dir).unwrap();
        for row in rows {
            files.add(row.as_bytes().to_vec()).unwrap();
        }
        files.finish().unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn folders_take_their_place_whole_and_go_when_nothing_names_them() {
        let dir = tempfile::tempdir().unwrap();
        let early = staged(dir.path(), &["a", "b"]).place(dir.path()).unwrap();
        let late = staged(dir.path(), &["a", "c"]).place(dir.path()).unwrap();
        assert_ne!(early, late);
        let all = dir.path().join(FOLDER);
        // Until the page is replaced, it has its rows.
        assert_eq!(names(&all).len(), 2);
        assert_eq!(names(&all.join(&early)), [LIST, "00001.js", "00002.js"]);
        sweep(dir.path(), Some(&late));
        assert_eq!(names(&all), [late.as_str()]);
        // The same rows again: they are there.
        let again = staged(dir.path(), &["a", "c"]).place(dir.path()).unwrap();
        assert_eq!(again, late);
        assert_eq!(names(dir.path()), [FOLDER], "nothing is left aside");
        // One file is gone, which nobody can have wanted: it is there again.
        fs::remove_file(all.join(&late).join("00001.js")).unwrap();
        staged(dir.path(), &["a", "c"]).place(dir.path()).unwrap();
        assert_eq!(
            fs::read_to_string(all.join(&late).join("00001.js")).unwrap(),
            "a"
        );
        sweep(dir.path(), None);
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn what_somebody_changed_or_put_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let key = staged(dir.path(), &["a", "b"]).place(dir.path()).unwrap();
        let folder = dir.path().join(FOLDER).join(&key);
        fs::write(folder.join("00002.js"), "mine").unwrap();
        fs::write(folder.join("notes"), "mine").unwrap();
        fs::create_dir(dir.path().join(FOLDER).join("photos")).unwrap();
        let error = staged(dir.path(), &["a", "b"])
            .place(dir.path())
            .unwrap_err();
        assert!(error.to_string().starts_with("report_files in "), "{error}");
        assert!(
            error.to_string().ends_with("it is not overwritten"),
            "{error}"
        );
        sweep(dir.path(), None);
        assert_eq!(names(&folder), [LIST, "00002.js", "notes"]);
        assert_eq!(names(&dir.path().join(FOLDER)), [key.as_str(), "photos"]);
        // A list that names what is elsewhere removes nothing there.
        let victim = dir.path().join("victim");
        fs::write(&victim, "x").unwrap();
        let mark = Mark::of(&fs::metadata(&victim).unwrap());
        let folder = dir.path().join(FOLDER).join("0123456789abcdef");
        fs::create_dir(&folder).unwrap();
        own::list_all(&folder, &[("../../victim".to_owned(), mark)]).unwrap();
        sweep(dir.path(), None);
        assert!(victim.exists());
    }

    #[test]
    fn a_link_in_the_place_of_the_folder_is_not_followed() {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = staged(elsewhere.path(), &["a"])
            .place(elsewhere.path())
            .unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join(FOLDER), dir.path().join(FOLDER)).unwrap();
        let error = staged(dir.path(), &["a"]).place(dir.path()).unwrap_err();
        assert!(error.to_string().contains("is a link"), "{error}");
        sweep(dir.path(), None);
        assert_eq!(names(&elsewhere.path().join(FOLDER)), [key]);
    }

    #[test]
    fn files_that_were_given_up_disappear() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Files::create(dir.path()).unwrap();
        files.add(b"a".to_vec()).unwrap();
        drop(files);
        drop(staged(dir.path(), &["a"]));
        assert!(names(dir.path()).is_empty());
    }
}
