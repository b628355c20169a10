//! A look at a journal that changes nothing of it, not even the files beside it, while a run may have it open.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::noticed::open_recovery;
use super::place::{look, traces_of};
use crate::domain::Timestamp;
use crate::journal::Error;
use crate::journal::read::reader::Seen;
use crate::journal::schema::open::{APPLICATION_ID, SCHEMA_VERSION, absolute};
use crate::ledger::recovery::{Cause, Mark};

/// How long another process may be in the way.
const BUSY: Duration = Duration::from_secs(2);

/// What was seen of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspected {
    /// The version of its schema, and the one that this program writes.
    pub version: (i64, i64),
    /// The time of its newest evidence.
    pub newest: Option<Timestamp>,
    /// Why it may have missed something, by what lies beside it; `None` where its version is too old to tell.
    pub cause: Option<Option<Cause>>,
    /// A recovery was begun, and is not done.
    pub in_recovery: bool,
    /// A mark lies beside it, and can be read.
    pub has_mark: bool,
    /// Whether its pages fit together.
    pub pages: Pages,
}

/// Whether pages fit together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pages {
    /// They do.
    Whole,
    /// They do not; what SQLite says.
    Damaged(String),
    /// The time did not suffice for all of them.
    NotAllRead,
}

/// Looks at a journal for no longer than `patience`, or a little more. Nothing is changed.
///
/// # Errors
/// It cannot be opened without touching something, or it is no journal of this program.
pub fn inspect(path: &Path, patience: Duration) -> Result<Inspected, Error> {
    let path = absolute(path)?;
    // First, as what a run writes meanwhile can only bring the journal further.
    let Seen { traces, born } = traces_of(&path)?;
    let connection = untouched(&path)?;
    let pragma = |name: &str| -> Result<i64, Error> {
        Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(Error::Foreign {
            path,
            found: String::new(),
        });
    }
    let version = pragma("user_version")?;
    let has_mark = matches!(traces.mark, Mark::Read(_));
    let mut seen = Inspected {
        version: (version, SCHEMA_VERSION),
        newest: None,
        cause: None,
        in_recovery: false,
        has_mark,
        pages: pages(&connection, patience),
    };
    // An earlier version has not all tables that are read below; whoever opens it to write brings it up.
    if version == SCHEMA_VERSION && !matches!(seen.pages, Pages::Damaged(_)) {
        seen.newest = connection
            .query_row(
                "select at from evidence order by evidence_id desc limit 1",
                [],
                |row| row.get(0),
            )
            .map(|at| Some(Timestamp::from_millis(at)))
            .or_else(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Ok(None),
                error => Err(error),
            })?;
        seen.cause = Some(look(&connection, &traces, born)?.0.cause());
        seen.in_recovery = open_recovery(&connection)?.is_some();
    }
    Ok(seen)
}

/// Opens a journal so that nothing appears beside it, and nothing beside it is changed.
fn untouched(path: &Path) -> Result<Connection, Error> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name).symlink_metadata().ok()
    };
    let log = beside("-wal").is_some_and(|log| log.len() > 0);
    let refused = |cause: &str| Error::Open {
        path: path.to_owned(),
        cause: cause.to_owned(),
    };
    let immutable = match (log, beside("-shm").is_some()) {
        // A run or a reader has it open, or was killed with it.
        (_, true) => "",
        // Nobody has it open: it is read as it lies there, and no log is made for that.
        (false, false) => "&immutable=1",
        (true, false) => {
            return Err(refused(
                "its log has no index, as after a copy: the next command that opens it reads the log",
            ));
        }
    };
    let name = path
        .to_str()
        .ok_or_else(|| refused("its name is not UTF-8"))?;
    // Signs that mean something in such an address.
    let name = name
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(format!("file:{name}?mode=ro{immutable}"), flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("pragma query_only = on; pragma trusted_schema = off;")?;
    Ok(connection)
}

/// Looks whether the pages fit together, for a while.
fn pages(connection: &Connection, patience: Duration) -> Pages {
    let interrupt = connection.get_interrupt_handle();
    let (done, until_done) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if until_done.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout) {
            interrupt.interrupt();
        }
    });
    let said: rusqlite::Result<String> =
        connection.query_row("pragma quick_check(1)", [], |row| row.get(0));
    drop(done);
    let _ = watch.join();
    match said {
        Ok(said) if said == "ok" => Pages::Whole,
        Ok(said) => Pages::Damaged(said),
        Err(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) =>
        {
            Pages::NotAllRead
        }
        Err(error) => Pages::Damaged(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Journal, Location, Reader};

    const PATIENCE: Duration = Duration::from_secs(10);

    fn listed(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
        let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
        let mut files: Vec<_> = entries
            .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    }

    #[test]
    fn a_journal_is_looked_at_closed_open_and_copied_and_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b?.db");
        let journal = Journal::open(&Location::from(&path)).unwrap();
        let reader = Reader::open(&Location::from(&path)).unwrap();
        let before = listed(folder.path());
        let open = inspect(&path, PATIENCE).unwrap();
        assert_eq!(open.cause, Some(None), "{open:?}");
        assert_eq!(open.pages, Pages::Whole);
        let names = |files: &[(std::ffi::OsString, Vec<u8>)]| {
            files
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&listed(folder.path())), names(&before));
        drop((journal, reader));
        let before = listed(folder.path());
        let closed = inspect(&path, PATIENCE).unwrap();
        assert_eq!(closed.cause, Some(None), "{closed:?}");
        assert_eq!(
            listed(folder.path()),
            before,
            "nothing is left and nothing changed"
        );
        // In another place it is a copy.
        let elsewhere = folder.path().join("elsewhere.db");
        std::fs::copy(&path, &elsewhere).unwrap();
        let copy = inspect(&elsewhere, PATIENCE).unwrap();
        assert_eq!(copy.cause, Some(Some(Cause::NoMark)), "{copy:?}");
        assert!(!copy.has_mark);
        std::fs::write(folder.path().join("elsewhere.db-wal"), "a log").unwrap();
        let error = inspect(&elsewhere, PATIENCE).unwrap_err().to_string();
        assert!(error.contains("its log has no index"), "{error}");
    }

    #[test]
    fn pages_that_do_not_fit_are_told_and_no_time_is_no_verdict() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.db");
        drop(Journal::open(&Location::from(&path)).unwrap());
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 4096].fill(0x5a);
        let broken = folder.path().join("broken.db");
        std::fs::write(&broken, &bytes).unwrap();
        let seen = inspect(&broken, PATIENCE);
        assert!(
            matches!(
                &seen,
                Ok(Inspected {
                    pages: Pages::Damaged(_),
                    ..
                }) | Err(_)
            ),
            "{seen:?}"
        );
        std::fs::write(&broken, [0x5a; 8192]).unwrap();
        inspect(&broken, PATIENCE).unwrap_err();
    }
}
