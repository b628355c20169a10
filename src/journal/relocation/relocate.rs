//! The move itself: what is done in which order, so that a journal is at one place, however it is cut off.
//!
//! The transaction that writes to the source is open throughout, so that nobody else writes there. The rows are committed at the target,
//! which says that it has not wholly arrived; they are read again and proven; the source says where it went, and commits; a notice in its place
//! says so, too; the target says no more that it has not arrived, and gets its mark. Cut off before the last commit of the source, the journal is where it was. Cut off after it,
//! the same move goes on with its last step.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::facts::{ARRIVING, MOVED, moved_to};
use super::{notice, rows};
use crate::domain::Timestamp;
use crate::journal::codec::catalog::{self, has};
use crate::journal::codec::facts::{fact, note, remove};
use crate::journal::lock::RunLock;
use crate::journal::opening;
use crate::journal::read::reader::Reader;
use crate::journal::recovery::opened::opened;
use crate::journal::recovery::server_copy::names_before;
use crate::journal::schema::names::{making_name, rename_to_nobodys_name};
use crate::journal::schema::open::{self, Missing};
use crate::journal::session::deferred_queries::queue_all;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Location};
use crate::ledger::recovery::JournalId;
use crate::store::tables::session;
use crate::store::{Reads, Scan, Test, Transact, Writes, shape};

/// What a move came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocated {
    /// Batches.
    pub batches: u64,
    /// Payments, earlier generations and rows without an amount included.
    pub payments: u64,
    /// Rows of all tables.
    pub rows: u64,
}

shape! {
    /// A run that is under way.
    struct AtWork of session { host: String, runner: String }
}

/// Moves a journal to a file that is not there yet, or into an empty journal on a server. No run may be at work.
///
/// The same move again, after it was cut off, goes on where that is possible.
///
/// # Errors
/// [`Error::NotOwner`]; [`Error::Held`]; [`Error::Exists`], [`Error::NotEmpty`], [`Error::Arriving`] for the target; [`Error::Moved`] for a source that is
/// elsewhere; [`Error::NotSound`] when the journal is not what was recorded. Then it is where it was.
pub fn relocate(from: &Location, to: &Location, now: Timestamp) -> Result<Relocated, Error> {
    let name = whole_name(to)?;
    let earlier = moved_to(Reader::open(from)?.store())?;
    if let Some(earlier) = earlier {
        return match earlier == name {
            true => finish(from, to, earlier),
            false => Err(Error::Moved { to: earlier }),
        };
    }
    let mut source = opened(from, Missing::Refuse)?;
    if !source.is_owned()? {
        return Err(Error::NotOwner);
    }
    let comes = catalog::name(&*source)?;
    let mut made = Made::begin(to, comes, now)?;
    let target = Reader::of(opening::writable(to, Missing::Refuse)?, None);
    take(target.store(), comes)?;
    #[cfg(debug_assertions)]
    crate::failpoints::pass("before-rows-arrive");
    let moved = carry(&mut source, &target, &name, &mut made);
    if moved.is_err() && to.file().is_none() {
        // A file that was made for it goes with it. Whatever is wrong with the server, the first error says it.
        let _ = give_back(target.store(), comes);
    }
    let moved = moved?;
    notice::leave(from, &name)?;
    settle(target.store())?;
    drop(target);
    mark(to)?;
    Ok(moved)
}

/// Has a place say that a journal comes to it, before anything does: it is no place for another one.
pub(super) fn take(target: &dyn Transact, comes: JournalId) -> Result<(), Error> {
    while_empty(target, |target| match has(target, ARRIVING)? {
        // Nothing of another one has come yet: whichever does first has the place.
        true => Ok(()),
        false => note(target, ARRIVING, &comes),
    })
}

/// Has it say so no more, where nothing came, and nobody else moves a journal there.
fn give_back(target: &dyn Transact, comes: JournalId) -> Result<(), Error> {
    while_empty(target, |target| {
        let told: Option<JournalId> = fact(target, ARRIVING)?;
        match told == Some(comes) {
            true => remove(target, ARRIVING),
            false => Ok(()),
        }
    })
}

/// Writes to a place that has no rows, in a transaction of its own.
fn while_empty(
    target: &dyn Transact,
    write: impl FnOnce(&dyn Transact) -> Result<(), Error>,
) -> Result<(), Error> {
    target.begin()?;
    let written = rows::is_empty(target).and_then(|is_empty| match is_empty {
        true => write(target),
        false => Ok(()),
    });
    if let Err(error) = written {
        target.rollback()?;
        return Err(error);
    }
    Ok(target.commit()?)
}

/// Gives the journal the mark of its new place, by which a copy of it is known as one.
fn mark(to: &Location) -> Result<(), Error> {
    opened(to, Missing::Refuse).map(drop)
}

/// Returns the name of a place that is the same in every folder.
fn whole_name(at: &Location) -> Result<String, Error> {
    let Some(path) = at.file() else {
        return Ok(at.typed().into_owned());
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(Error::NoFolder {
            path: folder.into(),
        });
    }
    Ok(Location::File(open::absolute(path)?).typed().into_owned())
}

/// Copies and proves what there is, and has the source say where it went.
pub(super) fn carry(
    source: &mut WriteSession,
    target: &Reader,
    name: &str,
    made: &mut Made,
) -> Result<Relocated, Error> {
    Transact::begin(&**source)?;
    let done = source
        .begin()
        .and_then(|()| queue_all(&**source))
        .and_then(|()| arrive(source, target))
        .and_then(|moved| {
            made.sync()?;
            leave(source, name)?;
            source.save()?;
            Ok(moved)
        });
    match done {
        Ok(moved) => {
            // Whatever is heard of the commit: the source may have gone.
            made.keep();
            source.commit()?;
            Ok(moved)
        }
        Err(error) => {
            source.forget();
            source.rollback()?;
            Err(error)
        }
    }
}

fn arrive(source: &WriteSession, target: &Reader) -> Result<Relocated, Error> {
    assert_nobody_runs(source)?;
    let store = target.store();
    let rows = match has(store, ARRIVING)? && !rows::is_empty(store)? {
        // It may be in no other place any more.
        true if !is_of(source, catalog::name(store)?)? => return Err(Error::ArrivingOther),
        // Cut off when the rows had arrived: they are taken as they are, unless the source has gone on since.
        true => rows::arrived(source, target.store())?,
        false => rows::copy(source, target.store())?,
    };
    proven(target, rows)
}

/// Returns whether a journal has a name, or had it before.
fn is_of(source: &WriteSession, called: JournalId) -> Result<bool, Error> {
    Ok(called == catalog::name(&**source)? || names_before(&**source)?.contains(&called))
}

/// Proves every batch that has arrived, as `verify` does.
fn proven(target: &Reader, rows: u64) -> Result<Relocated, Error> {
    let mut moved = Relocated {
        batches: 0,
        payments: 0,
        rows,
    };
    for batch in target.batches()? {
        let proof = target.snapshot(&batch)?.prove(None)?;
        if !proof.is_sound() {
            return Err(Error::NotSound { batch });
        }
        moved.batches += 1;
        moved.payments += proof.payments + proof.unpriced;
    }
    Ok(moved)
}

/// Refuses a journal on a server that runs use: that of a file has a lock.
fn assert_nobody_runs(c: &WriteSession) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    let now = Transact::now(&**c)?;
    let open = Scan::of(&session::TABLE)
        .only(session::closed_at, Test::Absent)
        .only(session::lease_until, Test::at_least(&now));
    match c.first(&open)? {
        Some(AtWork { host, runner }) => Err(Error::Held {
            holder: format!("the run {runner} on {host}"),
        }),
        None => Ok(()),
    }
}

/// Has the source say where it went. Runs that are not heard of any more find that theirs is over.
fn leave(source: &WriteSession, name: &str) -> Result<(), Error> {
    note(source, MOVED, &name.to_owned())?;
    if source.is_shared() {
        let now: Timestamp = Transact::now(&**source)?;
        let open = Scan::of(&session::TABLE).only(session::closed_at, Test::Absent);
        source.set(&open, session::closed_at, &now)?;
    }
    Ok(())
}

/// The last step of a move that was cut off before it.
fn finish(from: &Location, to: &Location, name: String) -> Result<Relocated, Error> {
    notice::leave(from, &name)?;
    let target = Reader::of(opening::writable(to, Missing::Refuse)?, None);
    if !has(target.store(), ARRIVING)? {
        return Err(Error::Moved { to: name });
    }
    let source = Reader::open(from)?;
    if catalog::name(target.store())? != catalog::name(source.store())? {
        return Err(Error::ArrivingOther);
    }
    let moved = proven(&target, rows::count(target.store())?)?;
    settle(target.store())?;
    drop(target);
    mark(to)?;
    Ok(moved)
}

/// Has the target be a journal as every other one.
pub(super) fn settle(target: &dyn Transact) -> Result<(), Error> {
    target.begin()?;
    if let Err(error) = remove(target, ARRIVING) {
        target.rollback()?;
        return Err(error);
    }
    Ok(target.commit()?)
}

/// The file of a target; it is removed where nothing was moved to it.
pub(super) struct Made {
    path: Option<PathBuf>,
    is_kept: bool,
    /// Of two moves to one file, the first that fails would remove what the other has brought there.
    _lock: Option<RunLock>,
}

impl Made {
    /// A target that is no file, and is not made here.
    pub(super) fn nothing() -> Self {
        Self {
            path: None,
            is_kept: false,
            _lock: None,
        }
    }

    fn begin(to: &Location, comes: JournalId, now: Timestamp) -> Result<Self, Error> {
        let Some(path) = to.file() else {
            return Ok(Self::nothing());
        };
        open::refuse_reserved(path)?;
        notice::assert_unused(to)?;
        if open::is_gone(path) {
            return Err(Error::Gone { path: path.into() });
        }
        let lock = || RunLock::take(to, "a move of a journal to this place", now);
        // Whatever else is wrong with it is said when the file is made.
        if path.symlink_metadata().is_err() {
            let lock = lock()?;
            if make(path, comes)? {
                return Ok(Self {
                    path: Some(path.to_owned()),
                    is_kept: false,
                    _lock: Some(lock),
                });
            }
        }
        assert_free(to, path)?;
        Ok(Self {
            path: None,
            is_kept: false,
            _lock: Some(lock()?),
        })
    }

    /// Makes sure that the name of the file is on disk.
    fn sync(&self) -> Result<(), Error> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let absolute = open::absolute(path)?;
        let folder = absolute.parent().unwrap_or_else(|| Path::new("/"));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| failed(path, &error))
    }

    fn keep(&mut self) {
        self.is_kept = true;
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let Some(path) = self.path.as_ref().filter(|_| !self.is_kept) else {
            return;
        };
        // Made a moment ago, and worth nothing.
        remove_file(path);
    }
}

/// Refuses a file that is there, unless it is of a move that was cut off, before anything had arrived or after it.
fn assert_free(to: &Location, path: &Path) -> Result<(), Error> {
    let missing = match open::was_here(path) {
        true => Missing::Refuse,
        false => Missing::Create,
    };
    let target = opening::writable(to, missing)?;
    let is_unused = missing == Missing::Create && rows::is_empty(target.store())?;
    match is_unused || has(target.store(), ARRIVING)? {
        true => Ok(()),
        false => Err(Error::Exists { path: path.into() }),
    }
}

/// A file that has no name yet that anybody knows; what is left of it is removed.
struct Unnamed(PathBuf);

impl Drop for Unnamed {
    fn drop(&mut self) {
        remove_file(&self.0);
    }
}

/// Makes a file that says of itself, as soon as it has its name, that a journal comes to it: cut off before that, there is none into which
/// anything could be loaded. `false`: somebody else has made one meanwhile.
fn make(path: &Path, comes: JournalId) -> Result<bool, Error> {
    if beside(path, "-wal").symlink_metadata().is_ok() {
        return Err(failed(
            path,
            &"a log of a journal that is not there lies beside it: move that -wal file away first",
        ));
    }
    let unnamed = Unnamed(making_name(path));
    let said_of_path = |error| match error {
        Error::Open { cause, .. } => failed(path, &cause),
        error => error,
    };
    let target = opening::writable(&Location::from(&*unnamed.0), Missing::Create);
    let target = target.map_err(said_of_path)?;
    take(target.store(), comes)?;
    // Its last connection takes all that was written into the file.
    drop(target);
    if beside(&unnamed.0, "-wal").symlink_metadata().is_ok() {
        return Err(failed(path, &"its log could not be taken into it"));
    }
    #[cfg(debug_assertions)]
    crate::failpoints::pass("before-arrival");
    match rename_to_nobodys_name(&unnamed.0, path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(path, &error)),
    }
}

/// Removes a file of a journal, with what SQLite has beside it.
fn remove_file(path: &Path) {
    for suffix in ["-wal", "-shm", "-journal", ""] {
        let _ = fs::remove_file(beside(path, suffix));
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn failed(path: &Path, cause: &dyn std::fmt::Display) -> Error {
    Error::Open {
        path: path.into(),
        cause: cause.to_string(),
    }
}
