//! A journal without a thread of its own, for simulated time: verbs run where they are asked, one after the other, and
//! a crash can cut in before or after any commit.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::commit::Work;
use super::commit::commit;
use super::weather::Path;
use crate::domain::{BatchName, Epoch, Timestamp, WireZone};
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::facts;
use crate::journal::evidence::salt;
use crate::journal::read::reader::Snapshot;
use crate::journal::schema::open;
use crate::journal::session::keeper::Keeper;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Reconciled, StatementDesk, StatementFacts, StatementFinding};
use crate::ledger::recovery::Marked;
use crate::store::memory::Memory;
use crate::store::memory::shared::{Client, Server, ServerClock};
use crate::store::{Clash, Read, Reads, Row, Scan, Table, Value, Write, tables};

/// The data of a journal: what a crash leaves.
#[derive(Clone)]
pub(crate) struct Disk(pub(in crate::journal) Arc<Platter>);

pub(in crate::journal) struct Platter(
    pub(in crate::journal) Lock<Option<WriteSession>>,
    pub(in crate::journal) Shelf,
);

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
    /// The verb under way takes a batch for a run.
    static ACQUIRING: Cell<bool> = const { Cell::new(false) };
}

/// Sets the clock of whoever opens a journal next: nothing else is told the time by then.
pub(crate) fn set_clock(now: Timestamp) {
    crate::journal::writer::fuse::set_clock(now);
}

/// Notes that the verb under way takes a batch for a run.
pub(in crate::journal) fn acquiring() {
    ACQUIRING.set(true);
}

impl Drop for Platter {
    fn drop(&mut self) {
        let disk = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(Keeper::Sqlite(connection)) = disk.take().map(WriteSession::into_inner)
            && open::empty(&connection).is_ok()
        {
            // A thread that ends has no further use for it.
            let _ = SPARE.try_with(|spare| spare.borrow_mut().push(connection));
        }
    }
}

/// What a disk keeps its rows in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A database of SQLite's, in memory.
    Sqlite,
    /// Ordered maps.
    Memory,
    /// Ordered maps that several processes share.
    Shared,
}

/// The contents of a disk: the rows of every table, with all of their columns.
pub(crate) struct Image(Medium, Vec<Contents>);

/// All rows of a table.
type Contents = (&'static Table, Vec<Vec<Value<'static>>>);

/// What a commit of this process did to the runs of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The journal, which is a file, has a new epoch on behalf of the process.
    Acquired,
    /// The process has a session.
    Opened(Epoch),
    /// A session is closed; whether its lease was over by then.
    Closed(Epoch, bool),
}

/// Told what is seen.
pub(crate) type Watch = Box<dyn Fn(Seen) + Send + Sync>;

/// How long the next verb waits for the disk.
pub(crate) type Latency = Box<dyn FnMut() -> Duration + Send>;

/// What a process is, as far as its journal goes.
pub(crate) struct Process {
    /// What it meets in the middle of its work.
    pub fuse: Option<Fuse>,
    pub latency: Latency,
    /// Cancelled once it is dead.
    pub crash: CancellationToken,
    pub watch: Watch,
    /// What lies between it and a store that several share.
    pub path: Path,
}

/// One process's way to the disk.
pub(in crate::journal) struct Inline {
    pub(super) disk: Disk,
    pub(super) crash: CancellationToken,
    pub(super) watch: Watch,
    pub(super) path: Path,
    /// The server that it shares with others, and which of its clients it is.
    pub(super) server: Option<(Arc<Server>, u64)>,
    // Fair: verbs are carried out in the order in which they were asked.
    pub(super) seat: Mutex<Seat>,
}

pub(super) struct Seat {
    pub(super) fuse: Option<Fuse>,
    pub(super) latency: Latency,
    pub(super) latch: Option<Error>,
}

impl std::fmt::Debug for Inline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Inline")
    }
}

impl Disk {
    /// An empty journal in this place; the clock is that of the server, where several processes share it.
    pub(crate) fn blank(shelf: &Shelf, medium: Medium, clock: &ServerClock) -> Self {
        let keeper = match medium {
            Medium::Shared => Keeper::Shared(Server::new(Arc::clone(clock)).connect()),
            Medium::Sqlite | Medium::Memory => emptied(medium),
        };
        let name = salt::fresh().expect("there is chance");
        facts::note(keeper.store(), "journal", &name).expect("memory is there");
        Self::of(keeper, shelf)
    }

    /// An empty journal in this place that several runs use at once, with the time of its own clock.
    pub(crate) fn shared(
        shelf: &Shelf,
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        let keeper = Keeper::Memory(Memory::shared(now));
        let name = salt::fresh().expect("there is chance");
        facts::note(keeper.store(), "journal", &name).expect("memory is there");
        Self::of(keeper, shelf)
    }

    fn of(keeper: Keeper, shelf: &Shelf) -> Self {
        let chained = Lock::new(Some(WriteSession::new(keeper)));
        Self(Arc::new(Platter(chained, Arc::clone(shelf))))
    }

    /// Returns what it keeps its rows in.
    pub(crate) fn medium(&self) -> Medium {
        let disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.as_ref().expect("the disk is there until it is read");
        match chained.sqlite() {
            Some(_) => Medium::Sqlite,
            None if chained.client().is_some() => Medium::Shared,
            None => Medium::Memory,
        }
    }

    /// Returns the server that several processes share.
    pub(crate) fn server(&self) -> Option<Arc<Server>> {
        self.client_of(|client| Arc::clone(client.server()))
    }

    /// Notes that the next transaction of the process asks for its turn.
    pub(super) fn ask_for_turn(&self) {
        let disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.as_ref().expect("the disk is there until it is read");
        chained.ask_for_turn();
    }

    pub(super) fn client_of<T>(&self, work: impl FnOnce(&Client) -> T) -> Option<T> {
        let disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.as_ref().expect("the disk is there until it is read");
        chained.client().map(work)
    }

    /// Returns the disk as a process has it that opens its journal: where several share it, with what it remembers by itself.
    fn opened(self) -> Self {
        match self.client_of(Client::another) {
            Some(client) => Self::of(Keeper::Shared(client), &self.0.1),
            None => self,
        }
    }

    /// Returns what is on it now, to be put in its place later.
    pub(crate) fn image(&self) -> Image {
        let medium = self.medium();
        self.look(|c| {
            let tables = tables::ALL.into_iter().map(|table| {
                let mut rows = Vec::new();
                let whole = &mut |row: &dyn Row| {
                    let values = (0..row.width()).map(|at| Ok(row.value(at)?.into_owned()));
                    rows.push(values.collect::<Result<Vec<_>, Error>>()?);
                    Ok::<_, Error>(ControlFlow::Continue(()))
                };
                c.each_row(&Scan::of(table), &table.every_column(), whole)?;
                Ok((table, rows))
            });
            tables.collect::<Result<_, Error>>()
        })
        .map(|contents| Image(medium, contents))
        .expect("memory is there")
    }

    /// A journal with this image on it, in this place.
    pub(crate) fn restored(image: &Image, shelf: &Shelf) -> Self {
        let keeper = emptied(image.0);
        for (table, rows) in &image.1 {
            keeper
                .store()
                .insert_rows(table, &table.every_column(), rows, Clash::Refuse)
                .expect("it was a journal");
        }
        Self::of(keeper, shelf)
    }

    /// Looks at the rows past the verbs.
    pub(crate) fn look<T>(&self, work: impl FnOnce(&dyn Read) -> T) -> T {
        let disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(disk.as_ref().expect("the disk is there until it is read"))
    }

    /// Holds the lines of a statement against a batch, as a reader beside the writer does.
    pub(crate) fn reconcile(
        &self,
        batch: &BatchName,
        desk: &mut StatementDesk,
        facts: &StatementFacts,
        findings: &mut Vec<StatementFinding>,
    ) -> Result<Reconciled, Error> {
        self.look(|c| {
            let snapshot = Snapshot {
                c,
                begun: None,
                batch: batch.clone(),
                batch_id: known_batch(c, batch)?,
            };
            snapshot.reconcile(desk, facts, &WireZone::utc(), &mut |finding| {
                findings.push(finding);
                Ok(())
            })
        })
    }

    /// Writes past the verbs, as another program that has the file open. What is guarded is an instruction.
    pub(crate) fn write_past(&self, guarded: bool, work: impl FnOnce(&dyn Write)) {
        let disk = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.as_ref().expect("the disk is there until it is read");
        let file = chained.sqlite().filter(|_| guarded);
        let guard = file.map(|file| open::drop_guard(file).expect("the schema can be read"));
        work(&**chained);
        if let Some(client) = chained.client() {
            client.server().touch();
        }
        if let (Some(file), Some(guard)) = (file, guard) {
            file.execute_batch(&guard)
                .expect("whoever owns the file may write it");
        }
        // SQLite tells a connection that another one has written, and not that it did so itself.
        chained.forget();
    }
}

/// Returns what keeps the rows of a journal that has none.
fn emptied(medium: Medium) -> Keeper {
    match medium {
        Medium::Sqlite => {
            let spare = SPARE.with_borrow_mut(Vec::pop);
            let connection = spare.unwrap_or_else(open::emptied);
            open::empty(&connection).expect("memory is there");
            connection.into()
        }
        Medium::Memory | Medium::Shared => Keeper::Memory(Memory::default()),
    }
}

impl Inline {
    pub(in crate::journal) fn new(disk: Disk, process: Process) -> Self {
        let disk = disk.opened();
        Self {
            server: disk.client_of(|client| (Arc::clone(client.server()), client.number())),
            disk,
            crash: process.crash,
            watch: process.watch,
            path: process.path,
            seat: Mutex::new(Seat {
                fuse: process.fuse,
                latency: process.latency,
                latch: None,
            }),
        }
    }

    pub(in crate::journal) fn is_shared(&self) -> bool {
        if self.server.is_some() {
            return true;
        }
        let disk = self.disk.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chained = disk.as_ref().expect("the disk is there until it is read");
        chained.is_shared()
    }

    /// Carries a verb out on a disk of the process's own; `None`: it dies meanwhile.
    pub(super) fn perform_here(
        &self,
        work: Work,
        burns: Option<Fuse>,
    ) -> Option<Result<(), Error>> {
        let crashes = burns.is_some_and(|fuse| fuse.crashes);
        if burns.is_some_and(|fuse| fuse.crashes && !fuse.commits) {
            return None;
        }
        let (outcome, is_acquiring) = self.commit(work, burns);
        let committed = outcome.is_ok() || burns.is_some_and(|fuse| fuse.commits);
        if is_acquiring && committed {
            (self.watch)(Seen::Acquired);
        }
        (!crashes).then_some(outcome)
    }

    /// Commits, unless the disk is full; returns whether the verb takes a batch for a run, too.
    pub(super) fn commit(&self, work: Work, burns: Option<Fuse>) -> (Result<(), Error>, bool) {
        let is_full = burns.filter(|fuse| !fuse.crashes);
        crate::journal::writer::fuse::set(is_full.map(|fuse| fuse.commits));
        let outcome = self.with(|connection| commit(connection, vec![work], Vec::new));
        crate::journal::writer::fuse::set(None);
        (outcome, ACQUIRING.take())
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&mut WriteSession) -> T) -> T {
        let mut disk = self.disk.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(disk.as_mut().expect("the disk is there until it is read"))
    }
}
