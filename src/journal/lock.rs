//! One run at a time: an operating system lock beside the journal. Its file says who holds it, and how far the journal was.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::domain::{Epoch, EvidenceId, Timestamp};
use crate::ledger::payer::Payers;
use crate::ledger::recovery::{STAMP_SLACK, Witness};
use crate::store;

use super::file_time::changed;
use super::{Error, Location};

/// Room for the name of the holder; behind it stands how far the journal was.
const NOTE: usize = 512;
/// Room for that.
const WORD: usize = 256;
/// Room for who posted, behind both.
const PAYERS: usize = 6144;
/// Room for when a write of the mark began, behind all of them.
const BEGUN: usize = 128;
/// Room for what ends each: a blank, a digest, and the end of its line.
const CHECK: usize = 64 + 2;

/// Where that is.
const BEGUN_AT: usize = NOTE + WORD + PAYERS;

/// Held for the length of a run; the system releases it however the process ends.
///
/// A journal on a server has no file to lock: there any number of runs work at once, and what one of them has claimed the others leave.
#[derive(Debug)]
pub struct RunLock {
    _file: Option<File>,
}

impl RunLock {
    /// Takes the lock of a journal, or names who holds it.
    ///
    /// # Errors
    /// [`Error::Held`] when another process runs on this journal.
    pub fn take(journal: &Location, purpose: &str, now: Timestamp) -> Result<Self, Error> {
        let Some(path) = journal.file().map(path_of) else {
            return Ok(Self { _file: None });
        };
        let open = |cause: std::io::Error| Error::Open {
            path: path.clone(),
            cause: cause.to_string(),
        };
        let file = open_file(&path, true).map_err(open)?;
        match try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                // The holder writes its name after it has the lock; until then there is none to tell.
                let holder = note_of(&file).unwrap_or_else(|| "another process".into());
                return Err(Error::Held { holder });
            }
            Err(TryLockError::Error(cause)) => return Err(open(cause)),
        }
        let note = format!("process {}, {purpose}, since {now}", std::process::id());
        let mut note = note.into_bytes();
        note.truncate(NOTE - 1);
        note.resize(NOTE - 1, b' ');
        note.push(b'\n');
        file.write_all_at(&note, 0).map_err(open)?;
        Ok(Self { _file: Some(file) })
    }
}

/// Takes the lock. [`holder`] has it for an instant, and is no run: so it is tried a few times, for a tenth of a second.
fn try_lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..10 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
            outcome => return outcome,
        }
    }
    file.try_lock()
}

/// Returns who runs on a journal, where somebody does and a lock file says it.
#[must_use]
pub fn holder(journal: &Location) -> Option<String> {
    holder_of(journal.file()?)
}

fn holder_of(journal: &Path) -> Option<String> {
    let file = open_file(&path_of(journal), false).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => note_of(&file),
        // Given back with the file.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

fn note_of(file: &File) -> Option<String> {
    let mut bytes = [0; NOTE];
    let read = file.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes[..read]).ok()?;
    let note = text.lines().next()?.trim_matches(['\0', ' ']);
    (!note.is_empty()).then(|| note.to_owned())
}

fn open_file(path: &Path, for_writing: bool) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(for_writing)
        .create(for_writing)
        .truncate(false)
        .mode(0o600)
        .custom_flags(i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0))
        .open(path)
}

/// The lock file as a second witness of how far a journal was: who puts back a journal with its mark may leave it.
///
/// It is no more than that: what cannot be written or read here says nothing.
#[derive(Clone, Debug)]
pub(super) struct Lookout {
    path: PathBuf,
    file: Arc<OnceLock<Option<File>>>,
    /// What this process has written of who posted.
    written: Arc<Mutex<Payers>>,
}

impl Lookout {
    pub(super) fn of(journal: &Path) -> Self {
        Self {
            path: path_of(journal),
            file: Arc::default(),
            written: Arc::default(),
        }
    }

    /// Reads what it says.
    pub(super) fn read(&self) -> Option<Witness> {
        let file = open_file(&self.path, false).ok()?;
        let mut bytes = [0; WORD];
        let read = file.read_at(&mut bytes, NOTE as u64).ok()?;
        parse(&bytes[..read])
    }

    /// Reads what it says of who posted. What cannot be read may have named anybody.
    pub(super) fn payers(&self) -> Payers {
        let Ok(file) = open_file(&self.path, false) else {
            return Payers::NONE;
        };
        let read = || {
            let mut bytes = [0; PAYERS];
            let read = file.read_at(&mut bytes, (NOTE + WORD) as u64).ok()?;
            let mut payers = Payers::NONE;
            for line in checked(&bytes[..read])?.lines() {
                let (name, value) = line.split_once(' ')?;
                payers.read(name, value)?;
            }
            Some(payers)
        };
        read().unwrap_or_else(Payers::unknown)
    }

    /// Writes it; the file stays open, as it is written after every commit.
    pub(super) fn write(&self, seen: &Witness) {
        self.write_at(&to_bytes(seen), NOTE);
    }

    /// Returns when a write of the mark began that has not ended. Only what its file's own time confirms, which nobody can set: a lock
    /// file that was put back says nothing here, nor one that somebody has written since.
    pub(super) fn begun(&self) -> Option<u64> {
        let file = open_file(&self.path, false).ok()?;
        let begun = begun_of(&file)?;
        let changed = changed(&file).ok()?;
        let apart = Duration::from_nanos(changed.abs_diff(begun));
        (apart <= STAMP_SLACK).then_some(begun)
    }

    /// Says that the mark is about to be written.
    pub(super) fn begins(&self, at: u64) {
        self.write_at(&with_check(format!("writes since {at}"), BEGUN), BEGUN_AT);
    }

    /// Says that it has been.
    pub(super) fn ends(&self) {
        self.write_at(&with_check("writes nothing".into(), BEGUN), BEGUN_AT);
    }

    /// Writes who posted, where that is news.
    pub(super) fn write_payers(&self, payers: &Payers) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if *written != *payers {
            self.write_at(
                &with_check(payers.to_lines(PAYERS - CHECK), PAYERS),
                NOTE + WORD,
            );
            payers.clone_into(&mut written);
        }
    }

    fn write_at(&self, bytes: &[u8], at: usize) {
        let file = self.file.get_or_init(|| {
            let file = open_file(&self.path, true).ok()?;
            let metadata = file.metadata().ok()?;
            let ours = metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw();
            ours.then_some(file)
        });
        if let Some(file) = file {
            let _ = file.write_all_at(bytes, at as u64);
        }
    }
}

/// Reads when a write of the mark began.
fn begun_of(file: &File) -> Option<u64> {
    let mut bytes = [0; BEGUN];
    let read = file.read_at(&mut bytes, BEGUN_AT as u64).ok()?;
    let text = checked(&bytes[..read])?.strip_prefix("writes since ")?;
    text.parse().ok()
}

/// Puts a digest behind a text, and fills its room.
fn with_check(text: String, room: usize) -> Vec<u8> {
    let check = data_encoding::HEXLOWER.encode(&Sha256::digest(text.as_bytes()));
    let mut bytes = format!("{text} {check}").into_bytes();
    bytes.resize(room - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// Returns a text whose digest agrees with it.
fn checked(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end();
    let (text, check) = text.rsplit_once(' ')?;
    let digest = Sha256::digest(text.as_bytes());
    (data_encoding::HEXLOWER.encode(&digest) == check).then_some(text)
}

fn to_bytes(seen: &Witness) -> Vec<u8> {
    let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
    let text = format!(
        "seen {} {} {} {}",
        hex(&seen.journal),
        seen.epoch,
        seen.evidence,
        seen.orders
    );
    with_check(text, WORD)
}

fn parse(bytes: &[u8]) -> Option<Witness> {
    let mut words = checked(bytes)?.strip_prefix("seen ")?.split(' ');
    let journal = data_encoding::HEXLOWER
        .decode(words.next()?.as_bytes())
        .ok()?;
    Some(Witness {
        journal: journal.try_into().ok()?,
        epoch: Epoch::new(words.next()?.parse().ok()?),
        evidence: EvidenceId::new(words.next()?.parse().ok()?),
        orders: words.next()?.parse().ok()?,
    })
}

fn path_of(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

impl Error {
    /// The same error, which names who holds a journal that is locked.
    #[must_use]
    pub(super) fn naming_holder(self, journal: &Location) -> Self {
        match (&self, journal) {
            (
                Self::Storage {
                    cause: store::Error::Busy { .. },
                },
                Location::File(path),
            ) => Self::Busy {
                path: path.clone(),
                holder: holder_of(path).unwrap_or_else(|| {
                    "another process that writes it (a listener, a load, a database tool)".into()
                }),
            },
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::payer::{PAST_MAX, PAYERS_MAX, Payer};

    #[test]
    fn a_second_holder_is_refused_and_told_who_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Location::File(folder.path().join("j.db"));
        let first = RunLock::take(&journal, "run payroll", Timestamp::from_millis(0)).unwrap();
        let error = RunLock::take(&journal, "run payroll", Timestamp::from_millis(0)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains(&format!("process {}, run payroll", std::process::id())),
            "{error}"
        );
        assert_eq!(
            holder(&journal).map(|holder| holder.contains("run payroll")),
            Some(true)
        );
        drop(first);
        assert_eq!(holder(&journal), None);
        RunLock::take(&journal, "run payroll", Timestamp::from_millis(0)).unwrap();
    }

    #[test]
    fn the_lock_file_remembers_how_far_the_journal_was_whoever_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.db");
        let (lookout, journal) = (Lookout::of(&path), Location::File(path));
        assert_eq!(lookout.read(), None);
        let mut seen = Witness {
            journal: [255; 16],
            epoch: Epoch::new(i64::MAX),
            evidence: EvidenceId::AFTER_ALL,
            orders: u64::MAX,
        };
        assert_eq!(lookout.payers(), Payers::NONE);
        lookout.write(&seen);
        assert_eq!(lookout.read(), Some(seen));
        let mut payers = Payers::NONE;
        for batch in 0..2 * (PAYERS_MAX + PAST_MAX) {
            let text = format!("{batch:0>80}");
            payers.take(&text, &Payer::of(&text, &text));
        }
        lookout.write_payers(&payers);
        assert_eq!(lookout.payers(), payers, "the largest fits");
        assert_eq!(lookout.begun(), None);
        lookout.begins(u64::MAX);
        assert_eq!(lookout.begun(), None, "its file has another time");
        lookout.begins(super::super::file_time::now());
        assert!(lookout.begun().is_some());
        std::thread::sleep(2 * STAMP_SLACK);
        let _run = RunLock::take(&journal, &"x".repeat(900), Timestamp::from_millis(0)).unwrap();
        assert_eq!(lookout.read(), Some(seen), "a run leaves it");
        seen.epoch = Epoch::new(1);
        lookout.write(&seen);
        assert_eq!(lookout.read(), Some(seen));
        assert!(holder(&journal).unwrap().starts_with("process "));
        assert_eq!(lookout.payers(), payers);
        assert_eq!(lookout.begun(), None, "somebody has written there since");
        let begun = super::super::file_time::now();
        lookout.begins(begun);
        assert_eq!(lookout.begun(), Some(begun));
        lookout.ends();
        assert_eq!(lookout.begun(), None);
        let mut torn = std::fs::read(folder.path().join("j.db.lock")).unwrap();
        torn[NOTE + 20] ^= 1;
        std::fs::write(folder.path().join("j.db.lock"), &torn).unwrap();
        assert_eq!(lookout.read(), None, "what is torn says nothing");
        // As earlier releases wrote it.
        std::fs::write(folder.path().join("j.db.lock"), "process 1, run\n").unwrap();
        assert_eq!(lookout.read(), None);
    }

    #[test]
    fn a_journal_that_is_locked_names_the_run_that_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Location::File(folder.path().join("j.db"));
        let failed = |code| {
            let cause = rusqlite::ffi::Error::new(code);
            Error::from(rusqlite::Error::SqliteFailure(cause, None)).naming_holder(&journal)
        };
        let busy = || failed(rusqlite::ffi::SQLITE_BUSY).to_string();
        assert!(busy().contains("is locked by another process that writes it"));
        let run = RunLock::take(&journal, "run of batch b", Timestamp::from_millis(0)).unwrap();
        let holder = format!("process {}, run of batch b", std::process::id());
        assert!(busy().contains(&holder), "{}", busy());
        drop(run);
        assert!(busy().contains("another process"));
        assert_eq!(
            failed(rusqlite::ffi::SQLITE_BUSY).kind(),
            crate::journal::Kind::Fault
        );
        // What is full or broken is held by nobody.
        let other = failed(rusqlite::ffi::SQLITE_FULL);
        assert!(matches!(other, Error::Storage { .. }), "{other}");
    }

    #[test]
    fn a_journal_on_a_server_is_locked_by_nobody() {
        let address = std::ffi::OsStr::new("postgres://pay@db/journal");
        let server = Location::parse(address).unwrap();
        let take = || RunLock::take(&server, "run of batch b", Timestamp::from_millis(0));
        let first = take().unwrap();
        take().unwrap();
        assert_eq!(holder(&server), None);
        drop(first);
        let busy = || store::Error::Busy {
            what: "lock timeout".into(),
        };
        let error = Error::from(busy()).naming_holder(&server);
        assert!(matches!(error, Error::Storage { .. }), "{error}");
    }
}
