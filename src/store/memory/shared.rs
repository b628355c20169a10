//! Memory that several processes share, as a model of a server: each process has a client of its own, those that write take turns, and
//! what servers do to their clients can be done to these.
//!
//! A commit is there for good once another machine has it. Until then a failover takes it back, although others may have read it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

use super::{Memory, Undo, locked};
use crate::domain::Timestamp;
use crate::store::{Append, Clash, Column, Error, Read, Row, Scan, Table, Transact, Value, Write};

/// The clock of a server.
pub(crate) type ServerClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What keeps the rows.
pub(crate) struct Server {
    memory: Memory,
    state: Mutex<State>,
    clock: ServerClock,
    /// The turn is free, or the server is up again.
    pub(crate) changed: Notify,
}

struct State {
    /// Counts commits and starts of the server: no number is given twice.
    turn: i64,
    clients: u64,
    /// Who writes.
    holder: Option<u64>,
    /// When that took its turn.
    taken_at: Timestamp,
    /// Commits that no other machine has yet, in their order, and what undoes them.
    alone: Vec<(i64, Vec<Undo>)>,
    /// Commits that a failover has taken back.
    dropped: BTreeSet<i64>,
    /// Counts its starts: who was a client before the last one is none any more.
    start: u64,
    is_down: bool,
    /// No other machine gets anything any more.
    is_severed: bool,
}

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is there for good.
    #[default]
    Kept,
    /// It is there, and no other machine has it yet.
    Alone,
}

/// One process's way to a server.
pub(crate) struct Client {
    server: Arc<Server>,
    number: u64,
    /// The start of the server that it was connected to.
    start: Cell<u64>,
    /// It began to write without taking the turn before.
    takes_turn: Cell<bool>,
    fate: Cell<Fate>,
    /// The last commit that it knows of, and its own count of those of others.
    seen: Cell<(i64, i64)>,
    committed: Cell<i64>,
}

impl Server {
    pub(crate) fn new(clock: ServerClock) -> Arc<Self> {
        Arc::new(Self {
            memory: Memory::default(),
            state: Mutex::new(State {
                turn: 0,
                clients: 0,
                holder: None,
                taken_at: Timestamp::from_millis(0),
                alone: Vec::new(),
                dropped: BTreeSet::new(),
                start: 0,
                is_down: false,
                is_severed: false,
            }),
            clock,
            changed: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Connects another process.
    pub(crate) fn connect(self: &Arc<Self>) -> Client {
        let mut state = self.state();
        state.clients += 1;
        Client {
            number: state.clients,
            start: Cell::new(state.start),
            takes_turn: Cell::new(false),
            fate: Cell::default(),
            seen: Cell::new((state.turn, 0)),
            committed: Cell::new(0),
            server: Arc::clone(self),
        }
    }

    /// Returns whether somebody could connect.
    pub(crate) fn is_up(&self) -> bool {
        !self.state().is_down
    }

    /// Loses all of its clients, and what they have not committed.
    pub(crate) fn stop(&self) {
        let mut state = self.state();
        state.is_down = true;
        state.holder = None;
    }

    /// Comes back: as it was, or on another machine, which has what was there for good.
    pub(crate) fn start(&self, elsewhere: bool) {
        let mut state = self.state();
        if elsewhere {
            let alone = std::mem::take(&mut state.alone);
            for (turn, changes) in alone.into_iter().rev() {
                self.memory.undo(changes);
                state.dropped.insert(turn);
            }
        }
        state.turn += 1;
        state.start += 1;
        (state.is_down, state.is_severed, state.holder) = (false, false, None);
        drop(state);
        self.changed.notify_waiters();
    }

    /// From now on no other machine gets what is committed, until the server comes back.
    pub(crate) fn sever(&self) {
        self.state().is_severed = true;
    }

    /// Returns whether that is so.
    pub(crate) fn is_severed(&self) -> bool {
        self.state().is_severed
    }

    /// Nobody is there any more, and nothing is under way.
    pub(crate) fn settle(&self) {
        let mut state = self.state();
        state.alone.clear();
        (state.is_down, state.is_severed, state.holder) = (false, false, None);
    }

    /// Notes that somebody has written past its clients.
    pub(crate) fn touch(&self) {
        self.state().turn += 1;
    }

    /// Returns whether a commit is there, for good or not.
    pub(crate) fn has(&self, commit: i64) -> bool {
        !self.state().dropped.contains(&commit)
    }

    /// Commits nothing, for good: whatever was committed before is there for good then.
    pub(crate) fn replicate(&self) {
        self.state().alone.clear();
    }

    /// Takes the turn back from whoever has it.
    pub(crate) fn free(&self) {
        self.state().holder = None;
        self.changed.notify_waiters();
    }

    /// Lets a client write, unless another one does.
    ///
    /// # Errors
    /// The one that does.
    pub(crate) fn take_turn(&self, client: u64) -> Result<(), u64> {
        let now = (self.clock)();
        let mut state = self.state();
        match state.holder {
            Some(other) if other != client => Err(other),
            Some(_) => Ok(()),
            None => {
                state.holder = Some(client);
                state.taken_at = now;
                Ok(())
            }
        }
    }

    /// Returns whether it is the turn of a client.
    pub(crate) fn has_turn(&self, client: u64) -> bool {
        self.state().holder == Some(client)
    }

    /// Ends the turn of a client, if it is its turn still.
    pub(crate) fn end_turn(&self, client: u64) {
        let mut state = self.state();
        if state.holder == Some(client) {
            state.holder = None;
            drop(state);
            self.changed.notify_waiters();
        }
    }
}

impl Client {
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns whether the server is the one that it was connected to.
    pub(crate) fn is_connected(&self) -> bool {
        let state = self.server.state();
        !state.is_down && state.start == self.start.get()
    }

    /// Connects again.
    pub(crate) fn reconnect(&self) {
        self.start.set(self.server.state().start);
    }

    /// Says what becomes of its next commit.
    pub(crate) fn arrange(&self, fate: Fate) {
        self.fate.set(fate);
    }

    /// Returns its last commit.
    pub(crate) fn committed(&self) -> i64 {
        self.committed.get()
    }

    /// Returns another client of the same server.
    pub(crate) fn another(&self) -> Self {
        self.server.connect()
    }

    fn leave_turn(&self) {
        if self.takes_turn.take() {
            self.server.end_turn(self.number);
        }
    }
}

fn lost() -> Error {
    Error::Fault {
        what: "the connection to the server was lost".into(),
    }
}

impl Read for Client {
    fn scan_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        visit: &mut dyn FnMut(&dyn Row) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.server.memory.scan_rows(scan, columns, visit)
    }

    fn misfits(&self) -> Result<Vec<String>, Error> {
        self.server.memory.misfits()
    }

    fn damage(&self) -> Result<Vec<String>, Error> {
        self.server.memory.damage()
    }

    fn count_rows(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        self.server.memory.count_rows(scan)
    }
}

impl Write for Client {
    fn insert_rows(
        &self,
        table: &'static Table,
        columns: &[Column],
        rows: &[Vec<Value<'_>>],
        clash: Clash,
    ) -> Result<u64, Error> {
        self.server.memory.insert_rows(table, columns, rows, clash)
    }

    fn appender<'s>(
        &'s self,
        table: &'static Table,
        columns: &[Column],
    ) -> Result<Box<dyn Append + 's>, Error> {
        self.server.memory.appender(table, columns)
    }

    fn change_rows(
        &self,
        scan: &Scan<'_>,
        columns: &[Column],
        values: &[Value<'_>],
    ) -> Result<u64, Error> {
        self.server.memory.change_rows(scan, columns, values)
    }

    fn remove_rows(&self, scan: &Scan<'_>) -> Result<u64, Error> {
        self.server.memory.remove_rows(scan)
    }

    fn allocate(&self, table: &'static Table, count: u64) -> Result<i64, Error> {
        self.server.memory.allocate(table, count)
    }
}

impl Transact for Client {
    fn is_shared(&self) -> bool {
        true
    }

    fn begin_reading(&self) -> Result<(), Error> {
        self.server.memory.begin_reading()
    }

    fn now(&self) -> Result<Timestamp, Error> {
        Ok((self.server.clock)())
    }

    fn began_at(&self) -> Option<Timestamp> {
        let has_turn = self.server.has_turn(self.number);
        has_turn.then(|| self.server.state().taken_at)
    }

    fn begin(&self) -> Result<(), Error> {
        if !self.is_connected() {
            return Err(lost());
        }
        let had_turn = self.server.has_turn(self.number);
        self.server
            .take_turn(self.number)
            .map_err(|_| Error::Busy {
                what: "another process writes".into(),
            })?;
        self.takes_turn.set(!had_turn);
        self.server.memory.begin()
    }

    fn commit(&self) -> Result<(), Error> {
        let changes = self.server.memory.end()?;
        let mut state = self.server.state();
        state.turn += 1;
        let turn = state.turn;
        match self.fate.take() {
            Fate::Kept if !state.is_severed => state.alone.clear(),
            Fate::Kept | Fate::Alone => state.alone.push((turn, changes)),
        }
        drop(state);
        self.committed.set(turn);
        // Its own commit tells it nothing new, if nobody else has written since it looked last.
        let (seen, others) = self.seen.get();
        if seen + 1 == turn {
            self.seen.set((turn, others));
        }
        self.leave_turn();
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.server.memory.is_open()
    }

    fn version(&self) -> Result<i64, Error> {
        let turn = self.server.state().turn;
        let (seen, others) = self.seen.get();
        if seen != turn {
            self.seen.set((turn, others + 1));
        }
        Ok(self.seen.get().1)
    }

    fn rollback(&self) -> Result<(), Error> {
        self.fate.take();
        self.server.memory.rollback()?;
        self.leave_turn();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tables::phrase;
    use crate::store::{Reads, Writes, shape};

    shape! {
        struct Text of phrase { phrase_id: i64, text: String }
    }

    fn server() -> Arc<Server> {
        Server::new(Arc::new(|| Timestamp::from_millis(7)))
    }

    fn write(client: &Client, number: i64, fate: Fate) -> i64 {
        client.begin().unwrap();
        let text = number.to_string();
        client
            .insert(&Text {
                phrase_id: number,
                text,
            })
            .unwrap();
        client.arrange(fate);
        client.commit().unwrap();
        client.committed()
    }

    fn texts(client: &Client) -> Vec<i64> {
        client
            .values(&Scan::of(&phrase::TABLE), phrase::phrase_id)
            .unwrap()
    }

    #[test]
    fn a_client_keeps_the_contract() {
        crate::store::exercise::exercise(|| server().connect());
    }

    #[test]
    fn whoever_writes_waits_for_another_one_who_does() {
        let one = server().connect();
        let other = one.another();
        one.begin().unwrap();
        assert!(matches!(other.begin(), Err(Error::Busy { .. })));
        one.rollback().unwrap();
        write(&other, 1, Fate::Kept);
        // A turn that was taken before lasts beyond the transaction.
        one.server().take_turn(one.number()).unwrap();
        write(&one, 2, Fate::Kept);
        assert!(matches!(other.begin(), Err(Error::Busy { .. })));
        one.server().end_turn(other.number());
        assert!(matches!(other.begin(), Err(Error::Busy { .. })));
        one.server().end_turn(one.number());
        write(&other, 3, Fate::Kept);
        assert_eq!(texts(&one), [1, 2, 3]);
    }

    #[test]
    fn the_version_is_another_one_whenever_somebody_else_has_written() {
        let one = server().connect();
        let other = one.another();
        let first = one.version().unwrap();
        write(&one, 1, Fate::Kept);
        write(&one, 2, Fate::Kept);
        assert_eq!(one.version().unwrap(), first, "it wrote itself");
        write(&other, 3, Fate::Kept);
        let second = one.version().unwrap();
        assert_ne!(second, first);
        write(&other, 4, Fate::Kept);
        write(&one, 5, Fate::Kept);
        assert_ne!(one.version().unwrap(), second, "both did, the other first");
    }

    #[test]
    fn a_failover_takes_back_what_no_other_machine_has() {
        let one = server().connect();
        let server = Arc::clone(one.server());
        write(&one, 1, Fate::Kept);
        let (second, third) = (write(&one, 2, Fate::Alone), write(&one, 3, Fate::Alone));
        server.stop();
        assert!(matches!(one.begin(), Err(Error::Fault { .. })));
        server.start(true);
        assert!(
            matches!(one.begin(), Err(Error::Fault { .. })),
            "it was cut off"
        );
        assert_eq!(texts(&one), [1]);
        assert!(!server.has(second) && !server.has(third));
        one.reconnect();
        let fourth = write(&one, 4, Fate::Alone);
        assert!(fourth > third, "no number is given twice");
        // What is committed for good has what came before it with it.
        write(&one, 5, Fate::Kept);
        server.stop();
        server.start(true);
        assert_eq!(texts(&one), [1, 4, 5]);
        one.reconnect();
        write(&one, 6, Fate::Alone);
        server.stop();
        server.start(false);
        assert_eq!(texts(&one), [1, 4, 5, 6], "the same machine has its disk");
        one.reconnect();
        write(&one, 7, Fate::Kept);
        server.sever();
        write(&one, 8, Fate::Kept);
        server.stop();
        server.start(true);
        assert_eq!(texts(&one), [1, 4, 5, 6, 7]);
        assert!(!server.is_severed());
    }
}
