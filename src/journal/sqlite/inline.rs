//! A journal without a thread of its own, for simulated time: verbs run where they are asked, one after the other, and
//! a crash can cut in before or after any commit.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::commit::commit;
use super::recovery::take_place;
use super::session::Chained;
use super::turns::Work;
use super::{Reader, open};
use crate::journal::Error;
use crate::journal::mark::Place;
use crate::ledger::recovery::Marked;

/// The data of a journal: what a crash leaves.
#[derive(Clone)]
pub(crate) struct Disk(Arc<Platter>);

struct Platter(Lock<Option<Chained>>, Shelf);

/// What lies beside the disk: the mark of its journal, which stays when another disk is put in.
pub(crate) type Shelf = Arc<Lock<Option<Marked>>>;

/// What a process meets in the middle of its work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fuse {
    /// Verbs that are carried out before.
    pub verbs: u32,
    /// Whether the next one is still committed, although nobody hears of it.
    pub commits: bool,
    /// Whether the process dies; otherwise it hears that the disk is full.
    pub crashes: bool,
}

thread_local! {
    /// Emptied databases: the schema is not read anew, and the statements stay prepared.
    static SPARE: RefCell<Vec<Connection>> = const { RefCell::new(Vec::new()) };
    /// The next commit fails; whether it is carried out all the same.
    static FAILURE: Cell<Option<bool>> = const { Cell::new(None) };
    /// The verb under way takes a batch for a run.
    static ACQUIRING: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the verb under way takes a batch for a run.
pub(super) fn acquiring() {
    ACQUIRING.set(true);
}

/// What becomes of the commit that comes now, where it is to fail.
pub(super) fn failure(connection: &Connection) -> Option<rusqlite::Error> {
    if FAILURE.take()? {
        connection.execute_batch("commit").expect("memory is there");
    }
    let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
    Some(rusqlite::Error::SqliteFailure(full, None))
}

impl Drop for Platter {
    fn drop(&mut self) {
        let disk = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = disk.take().map(Chained::into_inner)
            && open::empty(&connection).is_ok()
        {
            // A thread that ends has no further use for it.
            let _ = SPARE.try_with(|spare| spare.borrow_mut().push(connection));
        }
    }
}

/// The contents of a disk: the rows of every table.
pub(crate) struct Image(Vec<(String, Vec<Vec<rusqlite::types::Value>>)>);

/// Told when the journal has a new epoch on behalf of this process.
pub(crate) type Acquired = Box<dyn Fn() + Send + Sync>;

/// How long the next verb waits for the disk.
pub(crate) type Latency = Box<dyn FnMut() -> Duration + Send>;

/// One process's way to the disk.
pub(super) struct Inline {
    disk: Disk,
    crash: CancellationToken,
    acquired: Acquired,
    // Fair: verbs are carried out in the order in which they were asked.
    seat: Mutex<Seat>,
}

struct Seat {
    fuse: Option<Fuse>,
    latency: Latency,
    latch: Option<Error>,
}

impl std::fmt::Debug for Inline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inline")
    }
}

impl Disk {
    /// An empty journal in memory, in this place.
    pub(crate) fn blank(shelf: &Shelf) -> Self {
        let spare = SPARE.with_borrow_mut(Vec::pop);
        let connection = spare.unwrap_or_else(open::emptied);
        connection
            .execute_batch("insert into meta (key, value) values ('journal', randomblob(16)) on conflict do nothing")
            .expect("memory is there");
        Self::of(connection, shelf)
    }

    fn of(connection: Connection, shelf: &Shelf) -> Self {
        let chained = Lock::new(Some(Chained::new(connection)));
        Self(Arc::new(Platter(chained, Arc::clone(shelf))))
    }

    /// Returns what is on it now, to be put in its place later.
    pub(crate) fn image(&self) -> Image {
        self.look(|c| {
            let tables = open::tables(c)?;
            let contents = tables.into_iter().map(|table| {
                let mut statement = c.prepare(&format!("select * from main.{table}"))?;
                let width = statement.column_count();
                let rows = statement.query_map([], |row| {
                    (0..width).map(|at| row.get(at)).collect::<Result<_, _>>()
                })?;
                Ok((table, rows.collect::<Result<_, _>>()?))
            });
            contents.collect::<rusqlite::Result<_>>().map(Image)
        })
        .expect("memory is there")
    }

    /// A journal with this image on it, in this place: first the tables that others speak of.
    pub(crate) fn restored(image: &Image, shelf: &Shelf) -> Self {
        let spare = SPARE.with_borrow_mut(Vec::pop);
        let connection = spare.unwrap_or_else(open::emptied);
        open::empty(&connection).expect("memory is there");
        for (table, rows) in image.0.iter().rev() {
            for row in rows {
                let marks = vec!["?"; row.len()].join(", ");
                connection
                    .prepare_cached(&format!("insert into main.{table} values ({marks})"))
                    .and_then(|mut insert| insert.execute(rusqlite::params_from_iter(row)))
                    .expect("it was a journal");
            }
        }
        Self::of(connection, shelf)
    }

    /// Judges the journal by the mark beside it, as a process does that opens it.
    pub(super) fn take_place(&self) {
        let mut disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.as_mut().expect("the disk is there until it is read");
        take_place(
            chained,
            Path::new(":memory:"),
            Place::Memory(Arc::clone(&self.0.1)),
            None,
        )
        .expect("memory is there");
    }

    /// Runs a query past the verbs.
    pub(crate) fn look<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        let disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(disk.as_ref().expect("the disk is there until it is read"))
    }

    /// Writes past the verbs, as another program that has the file open.
    pub(crate) fn write_past(&self, work: impl FnOnce(&Connection)) {
        let disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.as_ref().expect("the disk is there until it is read");
        work(chained);
        // SQLite tells a connection that another one has written, and not that it did so itself.
        chained.forget();
    }

    /// Reads it as a report does.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Reader) -> T) -> T {
        let mut disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.take().expect("the disk is there until it is read");
        let waits = chained.take_waits();
        let reader = Reader::of(chained.into_inner());
        let found = work(&reader);
        // A report is another process: whoever runs does not forget what it is to ask.
        let mut chained = Chained::new(reader.into_connection());
        take_place(
            &mut chained,
            Path::new(":memory:"),
            Place::Memory(Arc::clone(&self.0.1)),
            None,
        )
        .expect("memory is there");
        for (batch_id, waits) in waits {
            chained.begin_waits(batch_id, waits);
        }
        *disk = Some(chained);
        found
    }
}

impl Inline {
    pub(super) fn new(
        disk: Disk,
        fuse: Option<Fuse>,
        latency: Latency,
        crash: CancellationToken,
        acquired: Acquired,
    ) -> Self {
        Self {
            disk,
            crash,
            acquired,
            seat: Mutex::new(Seat {
                fuse,
                latency,
                latch: None,
            }),
        }
    }

    pub(super) async fn perform(&self, work: Work) -> Result<(), Error> {
        let mut seat = self.seat.lock().await;
        tokio::time::sleep((seat.latency)()).await;
        if self.crash.is_cancelled() {
            // The process is dead.
            drop(seat);
            return std::future::pending().await;
        }
        if let Some(error) = &seat.latch {
            return Err(Error::Latched {
                cause: error.to_string(),
            });
        }
        let burns = match &mut seat.fuse {
            Some(fuse) if fuse.verbs == 0 => seat.fuse.take(),
            Some(fuse) => {
                fuse.verbs -= 1;
                None
            }
            None => None,
        };
        let crashes = burns.is_some_and(|fuse| fuse.crashes);
        if burns.is_none_or(|fuse| fuse.commits || !fuse.crashes) {
            FAILURE.set(burns.filter(|fuse| !fuse.crashes).map(|fuse| fuse.commits));
            let outcome = {
                let mut disk = self.disk.0.0.lock().unwrap_or_else(PoisonError::into_inner);
                let connection = disk.as_mut().expect("the disk is there until it is read");
                commit(connection, vec![work])
            };
            FAILURE.set(None);
            let committed = outcome.is_ok() || burns.is_some_and(|fuse| fuse.commits);
            if ACQUIRING.take() && committed {
                (self.acquired)();
            }
            if !crashes {
                if let Err(error) = &outcome
                    && error.kind() == crate::journal::Kind::Fault
                {
                    seat.latch = Some(error.clone());
                }
                return outcome;
            }
        }
        self.crash.cancel();
        // Nobody ever hears of it.
        drop(seat);
        std::future::pending().await
    }
}
