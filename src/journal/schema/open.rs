//! Opening a journal: owner, mode, identity, version, durability.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::journal::Error;

/// Version of the schema that this program writes.
pub(in crate::journal) const SCHEMA_VERSION: i64 = 11;
/// Marks a SQLite file as a journal of ours: "DSBR".
pub(in crate::journal) const APPLICATION_ID: i64 = 0x4453_4252;

/// The schema of a new journal.
const SCHEMA: &str = crate::store::schema::NEW;

/// What brings a journal of an earlier version up, from version 1 on.
pub(in crate::journal) const MIGRATIONS: [&str; 10] = [
    include_str!("migrations/2.sql"),
    include_str!("migrations/3.sql"),
    include_str!("migrations/4.sql"),
    include_str!("migrations/5.sql"),
    include_str!("migrations/6.sql"),
    include_str!("migrations/7.sql"),
    include_str!("migrations/8.sql"),
    include_str!("migrations/9.sql"),
    include_str!("migrations/10.sql"),
    include_str!("migrations/11.sql"),
];

/// The smallest page of a SQLite file.
const PAGE_MIN: u64 = 512;

/// Bound of every wait for another process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether a missing journal is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) enum Missing {
    Create,
    Refuse,
    /// It must be missing, and nobody else knows its name: it is not durable before it is closed and synced.
    Aside,
}

/// Under this name `meta` has the number of the batch that a journal is the archive of.
pub(in crate::journal) const ARCHIVE: &str = "archive";

/// Opens the connection that writes, making the journal when it is not there.
pub(in crate::journal) fn for_writing(path: &Path, missing: Missing) -> Result<Connection, Error> {
    writing(path, missing, refuse_archive)
}

/// The same of a journal that `judge` takes, before anything of it is changed.
fn writing(
    path: &Path,
    missing: Missing,
    judge: impl Fn(&Connection, &Path) -> Result<(), Error>,
) -> Result<Connection, Error> {
    assert_version()?;
    refuse_reserved(path)?;
    if !exists(path)? {
        if missing == Missing::Refuse {
            return Err(not_there(path));
        }
        create(path)?;
    } else if missing == Missing::Aside {
        return Err(Error::Open {
            path: path.into(),
            cause: "exists already".into(),
        });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection =
        Connection::open_with_flags(absolute(path)?, flags).map_err(said_of(path))?;
    connection
        .busy_timeout(BUSY_TIMEOUT)
        .map_err(said_of(path))?;
    identify(&connection, path)?;
    warn_of_readers(path);
    // What is not made when it is missing is not made out of an empty file either.
    if missing == Missing::Refuse {
        refuse_empty(&connection, path)?;
    }
    judge(&connection, path)?;
    // Aside, pages go straight to their places, where a log would have them written twice.
    let durability = match missing {
        // Nearly all that is written is appended, so that few pages are wanted a second time. A larger cache makes no run faster.
        Missing::Aside => {
            "pragma journal_mode = memory; pragma synchronous = off; pragma cache_size = -4000;"
        }
        Missing::Create | Missing::Refuse => {
            "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -4000;"
        }
    };
    insist(|| connection.execute_batch(durability))
        .and_then(|()| {
            connection.execute_batch(
                "pragma trusted_schema = off;
                 pragma journal_size_limit = 67108864;
                 pragma wal_autocheckpoint = 12000;",
            )
        })
        .map_err(said_of(path))?;
    #[cfg(debug_assertions)]
    if crate::failpoints::commits_may_be_lost() {
        connection
            .execute_batch("pragma synchronous = normal")
            .map_err(said_of(path))?;
    }
    migrate(&mut connection, path)?;
    keep_statements(&connection).map_err(said_of(path))?;
    Ok(connection)
}

/// Tries again while another process is in the way, for as long as anything waits for one.
// SQLite does not wait by itself where it changes the way of logging: who opens a new journal beside others would be refused.
fn insist(work: impl Fn() -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let until = Instant::now() + BUSY_TIMEOUT;
    loop {
        match work() {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && Instant::now() < until =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done,
        }
    }
}

/// A new journal in memory.
#[cfg(test)]
pub(in crate::journal) fn in_memory() -> Result<Connection, Error> {
    let mut connection = Connection::open_in_memory()?;
    migrate(&mut connection, Path::new(":memory:"))?;
    keep_statements(&connection)?;
    Ok(connection)
}

/// A new journal in memory whose rows can be removed, so that it can be used again.
#[cfg(test)]
pub(in crate::journal) fn emptied() -> Connection {
    let connection = in_memory().expect("the schema is sound");
    let triggers: Vec<String> = connection
        .prepare("select name from sqlite_schema where type = 'trigger' and name like '%_is_never_removed'")
        .and_then(|mut found| found.query_map([], |row| row.get(0))?.collect())
        .expect("the schema can be read");
    for trigger in triggers {
        connection
            .execute_batch(&format!("drop trigger {trigger}"))
            .expect("the schema has it");
    }
    connection
}

/// Empties a journal in memory for its next use: a new schema costs more than the runs over it.
#[cfg(test)]
pub(in crate::journal) fn empty(connection: &Connection) -> rusqlite::Result<()> {
    let tables = tables(connection)?;
    connection.execute_batch("begin")?;
    for table in tables {
        connection
            .prepare_cached(&format!("delete from main.{table}"))?
            .execute([])?;
    }
    connection.execute_batch("commit")
}

/// Takes away what keeps instructions from being changed, as whoever owns the file can; returns what brings it back.
#[cfg(test)]
pub(in crate::journal) fn drop_guard(connection: &Connection) -> rusqlite::Result<String> {
    let guard = connection.query_row(
        "select sql from sqlite_schema where name = 'instruction_is_never_changed'",
        [],
        |row| row.get(0),
    )?;
    connection.execute_batch("drop trigger instruction_is_never_changed")?;
    Ok(guard)
}

/// Returns whether a journal is missing that was in use in this place: its mark still lies there.
#[must_use]
pub fn is_gone(journal: &Path) -> bool {
    journal.symlink_metadata().is_err() && was_here(journal)
}

/// Returns the tables of a journal, those that others speak of last.
#[cfg(test)]
pub(in crate::journal) fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached("select name from main.sqlite_schema where type = 'table' order by name in ('batch', 'instruction')")?
        .query_map([], |row| row.get(0))?
        .collect()
}

/// Opens a connection that only reads.
pub(in crate::journal) fn for_reading(path: &Path) -> Result<Connection, Error> {
    assert_version()?;
    refuse_reserved(path)?;
    if !exists(path)? {
        return Err(not_there(path));
    }
    // Read-write, so that a WAL left by a killed run can be recovered; `query_only` keeps it honest.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(absolute(path)?, flags).map_err(said_of(path))?;
    connection
        .busy_timeout(BUSY_TIMEOUT)
        .map_err(said_of(path))?;
    identify(&connection, path)?;
    refuse_empty(&connection, path)?;
    if pragma(&connection, "user_version", path)? < SCHEMA_VERSION {
        // An earlier version wrote it: what is read below needs the tables of this one.
        drop(writing(path, Missing::Refuse, |_, _| Ok(()))?);
    }
    connection
        .execute_batch("pragma query_only = on; pragma cache_size = -8000;")
        .map_err(said_of(path))?;
    keep_statements(&connection).map_err(said_of(path))?;
    Ok(connection)
}

/// Keeps statements prepared.
// By default SQLite prepares a statement anew whenever a value is bound that the choice of an index might depend on. Ours
// name their indexes.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

fn assert_version() -> Result<(), Error> {
    // 3.51.3 mended a rare corruption of WAL files that several connections write.
    if rusqlite::version_number() < 3_051_003 {
        return Err(Error::OldSqlite {
            found: rusqlite::version().into(),
        });
    }
    Ok(())
}

// SQLite refuses any symbolic link on a path with NOFOLLOW; the folder's own links are resolved first.
pub(in crate::journal) fn absolute(path: &Path) -> Result<std::path::PathBuf, Error> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = folder.canonicalize().map_err(|cause| Error::Open {
        path: path.into(),
        cause: cause.to_string(),
    })?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

/// What the files beside a journal are called: its log, its lock, its mark, the notice of its move.
const RESERVED: [&str; 6] = ["-wal", "-shm", "-journal", ".mark", ".lock", ".moved"];

/// Refuses names that are those of files beside another journal, and would be written over with it.
///
/// # Errors
/// [`Error::ReservedName`].
pub fn refuse_reserved(path: &Path) -> Result<(), Error> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let suffix = RESERVED
        .into_iter()
        .find(|suffix| name.ends_with(suffix.as_bytes()));
    match suffix {
        Some(suffix) => Err(Error::ReservedName {
            path: path.into(),
            suffix,
        }),
        None => Ok(()),
    }
}

fn not_there(path: &Path) -> Error {
    match was_here(path) {
        true => Error::Gone { path: path.into() },
        false => Error::Missing { path: path.into() },
    }
}

/// Returns whether a journal that is not there was in use in that place: its mark still is.
pub(in crate::journal) fn was_here(path: &Path) -> bool {
    let mut mark = path.as_os_str().to_owned();
    mark.push(".mark");
    Path::new(&mark).symlink_metadata().is_ok()
}

/// Returns whether there is a file of ours at the path.
fn exists(path: &Path) -> Result<bool, Error> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(cause) => {
            return Err(Error::Open {
                path: path.into(),
                cause: cause.to_string(),
            });
        }
    };
    if metadata.is_symlink() {
        return Err(Error::Symlink { path: path.into() });
    }
    if !metadata.is_file() {
        return Err(Error::NotAFile { path: path.into() });
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::ForeignOwner { path: path.into() });
    }
    // Two names are two locks, two logs and two marks over one file.
    if metadata.nlink() > 1 {
        return Err(Error::Linked {
            path: path.into(),
            links: metadata.nlink(),
        });
    }
    // SQLite takes a file of one byte for an empty one, and would write over it.
    if (1..PAGE_MIN).contains(&metadata.len()) {
        return Err(Error::Foreign {
            path: path.into(),
            found: String::new(),
        });
    }
    if metadata.len() == 0 {
        // Made by somebody else, perhaps for all to read.
        let ours = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, ours).map_err(|cause| Error::Open {
            path: path.into(),
            cause: cause.to_string(),
        })?;
    }
    Ok(true)
}

/// A journal that was copied or restored has the mode that it was given then, and SQLite gives it on to the WAL.
fn warn_of_readers(path: &Path) {
    let mode = path
        .symlink_metadata()
        .map_or(0, |metadata| metadata.permissions().mode() & 0o7777);
    if mode & 0o077 != 0 {
        tracing::warn!(
            "{}: others may open this journal (mode {mode:04o}), which holds names and numbers; chmod 600 it",
            path.display()
        );
    }
}

fn create(path: &Path) -> Result<(), Error> {
    let open = |cause: std::io::Error| Error::Open {
        path: path.into(),
        cause: cause.to_string(),
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(open)?;
    }
    // SQLite gives the WAL the mode of the file it finds, so the file is made before SQLite opens it.
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        // Another process was faster; what it made is looked at like any other file.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => exists(path).map(drop),
        made => made.map(drop).map_err(open),
    }
}

fn identify(connection: &Connection, path: &Path) -> Result<(), Error> {
    // One snapshot: another process may be making the journal, and a mark of before goes with no version of after.
    let snapshot = connection.unchecked_transaction().map_err(said_of(path))?;
    identify_in(&snapshot, path)
}

fn identify_in(connection: &Connection, path: &Path) -> Result<(), Error> {
    let application_id = pragma(connection, "application_id", path)?;
    let version = pragma(connection, "user_version", path)?;
    if application_id == APPLICATION_ID {
        if version > SCHEMA_VERSION {
            return Err(Error::Newer {
                path: path.into(),
                found: version,
                known: SCHEMA_VERSION,
            });
        }
        // A journal has its mark and its version from one and the same transaction.
        if version < 1 {
            return Err(Error::Damaged {
                path: path.into(),
                what: format!("schema {version}"),
            });
        }
        return Ok(());
    }
    let tables: i64 = connection
        .query_row("select count(*) from sqlite_schema", [], |row| row.get(0))
        .map_err(said_of(path))?;
    if application_id != 0 || version != 0 || tables != 0 {
        let found = " (it is a SQLite database of another program)".into();
        return Err(Error::Foreign {
            path: path.into(),
            found,
        });
    }
    Ok(())
}

/// Refuses the journal of an archive: nothing is ever written to it.
fn refuse_archive(connection: &Connection, path: &Path) -> Result<(), Error> {
    if pragma(connection, "user_version", path)? == 0 {
        return Ok(());
    }
    let is_archive: bool = connection
        .query_row(
            "select exists (select 1 from meta where key = ?1)",
            [ARCHIVE],
            |row| row.get(0),
        )
        .map_err(said_of(path))?;
    match is_archive {
        true => Err(Error::Archive { path: path.into() }),
        false => Ok(()),
    }
}

fn refuse_empty(connection: &Connection, path: &Path) -> Result<(), Error> {
    if pragma(connection, "user_version", path)? != 0 {
        return Ok(());
    }
    Err(Error::Foreign {
        path: path.into(),
        found: " (it is empty)".into(),
    })
}

fn pragma(connection: &Connection, name: &str, path: &Path) -> Result<i64, Error> {
    connection
        .pragma_query_value(None, name, |row| row.get(0))
        .map_err(said_of(path))
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    if pragma(connection, "user_version", path)? == SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(said_of(path))?;
    // Read again inside the transaction: another process may have been faster.
    let version = pragma(&transaction, "user_version", path)?;
    let steps = match usize::try_from(version) {
        Ok(earlier @ 1..) => &MIGRATIONS[(earlier - 1).min(MIGRATIONS.len())..],
        _ => &[SCHEMA],
    };
    for step in steps {
        transaction.execute_batch(step).map_err(said_of(path))?;
    }
    if version == 1 {
        crate::journal::evidence::digests::seal_version_1(&transaction)?;
    }
    if (1..5).contains(&version) {
        crate::journal::session::members::recount(&*transaction)?;
        crate::journal::repeats::fingerprints::fill(&*transaction)?;
    }
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .map_err(said_of(path))?;
    transaction
        .pragma_update(None, "user_version", SCHEMA_VERSION)
        .map_err(said_of(path))?;
    #[cfg(debug_assertions)]
    crate::failpoints::pass("in-migration");
    transaction.commit().map_err(said_of(path))
}

fn said_of(path: &Path) -> impl Fn(rusqlite::Error) -> Error + '_ {
    move |cause| match cause.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy) => Error::from(cause).naming_holder(&path.into()),
        Some(rusqlite::ErrorCode::NotADatabase) => Error::Foreign {
            path: path.into(),
            found: String::new(),
        },
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => Error::Damaged {
            path: path.into(),
            what: cause.to_string(),
        },
        _ => Error::Open {
            path: path.into(),
            cause: cause.to_string(),
        },
    }
}
