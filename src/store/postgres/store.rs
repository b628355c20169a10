//! The store: a connection, and the transaction that is under way on it.

use std::cell::{Cell, Ref, RefCell};
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom as _, SystemRandom};

use super::address::Address;
use super::connect::{self, Access, Backend, Before, Connected, Deadlines};
use super::connect_error::ConnectError;
use super::failure::Failure;
use super::foresight::Foresight;
use super::habits::Habits;
use super::known::Known;
use super::link::{Answer, Link, Request};
use super::own::Own;
use super::pending::{Leaving, Pending};
use super::statement::Statement;
use crate::domain::Timestamp;
use crate::ledger::recovery::{Origin, Succession};
use crate::store::{Error, Table};

/// A journal in PostgreSQL, over one connection that is made anew when it is lost.
pub struct Postgres {
    pub(super) address: Address,
    pub(super) deadlines: Deadlines,
    access: Access,
    /// Which copy of the journal it has seen last.
    pub(super) origin: Cell<Origin>,
    /// All that it has written there has waited for a standby.
    pub(super) all_waited: Cell<bool>,
    /// The newest transaction that it has made; 0: none.
    pub(super) committed: Cell<i64>,
    /// When the transaction that is under way took its turn, by the server's clock.
    pub(super) began_at: Cell<Option<Timestamp>>,
    /// So many transactions more it takes it that somebody else writes between its own.
    pub(super) others_write: Cell<u8>,
    /// How its transactions are known: a name of its own, which nobody else has.
    pub(super) writer: [u8; 16],
    pub(super) link: RefCell<Option<Connected>>,
    pub(super) phase: Cell<Phase>,
    /// Why the transaction that is under way cannot go on.
    pub(super) broken: RefCell<Option<Error>>,
    /// The newest transaction that it has made or seen.
    pub(super) seen: RefCell<Option<Seen>>,
    /// Rows as they are, where nobody else has written since.
    pub(super) known: RefCell<Known>,
    /// Rows as it has left them, whoever has written since.
    pub(super) own: RefCell<Own>,
    /// Writes of the transaction that were not sent yet.
    pub(super) pending: RefCell<Pending>,
    /// What transactions that write ask for again and again.
    pub(super) habits: RefCell<Habits>,
    pub(super) foresight: RefCell<Foresight>,
    /// How often the server was asked and waited for.
    #[cfg(test)]
    pub(super) asked: Cell<usize>,
    /// A process of the server to which the connection was lost.
    left_behind: RefCell<Option<Backend>>,
    /// Another one whenever somebody else has written.
    pub(super) version: Cell<i64>,
}

/// Reads which transaction of a writer was committed last.
const RECEIPT: &str = "select turn from disburse.writer where id = $1";

/// A transaction that was committed, and who made it: numbers alone come again where a server lost the newest ones.
pub(super) type Seen = (i64, Option<Vec<u8>>);

const FORGET_RECEIPTS: &str = "do $$ begin if has_table_privilege('disburse.writer', 'delete') then \
    delete from disburse.writer where begun_at < clock_timestamp() - interval '400 days'; end if; end $$";

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing: each statement stands for itself.
    Idle,
    /// A transaction that reads.
    Reading,
    /// One that a pass over many rows has begun for itself.
    Passing,
    /// One that writes, with its number.
    Writing(i64),
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres")
            .field("address", &self.address.to_string())
            .field("phase", &self.phase.get())
            .finish_non_exhaustive()
    }
}

impl Postgres {
    /// Opens the journal at an address.
    ///
    /// # Errors
    /// Where it cannot be reached, is none, is none that this release reads, or where the user may not write it.
    pub fn open(address: Address, deadlines: Deadlines) -> Result<Self, ConnectError> {
        Self::open_to(Access::Write, address, deadlines)
    }

    /// Opens the journal at an address for a user that may read it, and no more.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_read(address: Address, deadlines: Deadlines) -> Result<Self, ConnectError> {
        Self::open_to(Access::Read, address, deadlines)
    }

    /// Looks whether the user of an address may do what runs do: load, post, record what became of it.
    ///
    /// # Errors
    /// [`ConnectError::NoRunner`] where it may not, and as [`Self::open`].
    pub fn assert_may_run(address: Address, deadlines: Deadlines) -> Result<(), ConnectError> {
        Self::open_to(Access::Run, address, deadlines).map(drop)
    }

    fn open_to(
        access: Access,
        address: Address,
        deadlines: Deadlines,
    ) -> Result<Self, ConnectError> {
        let until = Instant::now() + deadlines.connect_all;
        let before = Before {
            copy: None,
            seen: &address.seen,
        };
        let connected = connect::again(|| {
            let connected = connect::open(&address, &deadlines, until, (access, before))?;
            connect::check_pooler(&connected, &address, &deadlines)?;
            connect::check_schema(&connected.link, &address, &deadlines, access)?;
            Ok(connected)
        })?;
        if access == Access::Write {
            // Receipts that nobody asks for any more; a writer that comes back leaves a new one.
            let _ = connected.link.run(deadlines.statement, FORGET_RECEIPTS);
        }
        Self::over(connected, address, deadlines, access)
    }

    /// A store over a connection.
    pub(super) fn over(
        connected: Connected,
        address: Address,
        deadlines: Deadlines,
        access: Access,
    ) -> Result<Self, ConnectError> {
        Ok(Self {
            access,
            origin: Cell::new(connected.origin),
            all_waited: Cell::new(connected.origin.waits),
            committed: Cell::new(0),
            began_at: Cell::default(),
            others_write: Cell::default(),
            writer: random_name(&address)?,
            address,
            deadlines,
            link: RefCell::new(Some(connected)),
            phase: Cell::new(Phase::Idle),
            broken: RefCell::default(),
            seen: RefCell::default(),
            known: RefCell::default(),
            own: RefCell::default(),
            pending: RefCell::default(),
            habits: RefCell::default(),
            foresight: RefCell::default(),
            #[cfg(test)]
            asked: Cell::default(),
            left_behind: RefCell::default(),
            version: Cell::new(0),
        })
    }

    /// Returns the address of the journal.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the connection, made anew where there is none and nothing is under way.
    pub(super) fn link(&self) -> Result<Ref<'_, Link>, Error> {
        let is_there = |connected: &Connected| !connected.link.is_closed();
        if !self.link.borrow().as_ref().is_some_and(is_there) {
            if self.phase.get() != Phase::Idle {
                return Err(Error::ConnectionLost {
                    what: "the connection to PostgreSQL is gone".into(),
                });
            }
            let until = Instant::now() + self.deadlines.connect_all;
            self.connect(until).map_err(refused)?;
        }
        let link = Ref::filter_map(self.link.borrow(), |connected| {
            connected.as_ref().map(|connected| &connected.link)
        });
        link.map_err(|_| Error::ConnectionLost {
            what: "there is no connection to PostgreSQL".into(),
        })
    }

    /// Connects anew, and ends what the connection before may have left behind.
    pub(super) fn connect(&self, until: Instant) -> Result<(), ConnectError> {
        connect::again(|| self.connect_once(until))
    }

    fn connect_once(&self, until: Instant) -> Result<(), ConnectError> {
        self.drop_link();
        let before = self.origin.get();
        let before = Origin {
            waits: before.waits && self.all_waited.get(),
            ..before
        };
        let seen = Before {
            copy: Some(before),
            seen: &self.address.seen,
        };
        let connected = connect::open(&self.address, &self.deadlines, until, (self.access, seen))?;
        let left = until.saturating_duration_since(Instant::now());
        let deadlines = Deadlines {
            statement: self.deadlines.statement.min(left),
            ..self.deadlines
        };
        connect::check_schema(&connected.link, &self.address, &deadlines, self.access)?;
        if self.access == Access::Write {
            self.check_continued(&connected, &before)?;
        }
        self.origin.set(connected.origin);
        self.all_waited.set(connected.origin.waits);
        if let Some(backend) = &*self.left_behind.borrow() {
            connected.end(backend, self.deadlines.statement);
        }
        self.left_behind.replace(None);
        self.link.replace(Some(connected));
        Ok(())
    }

    /// Begins or ends a transaction; returns what was under way.
    pub(super) fn enter(&self, phase: Phase) -> Phase {
        if let Some(connected) = &*self.link.borrow() {
            connected.link.set_busy(phase != Phase::Idle);
        }
        self.phase.replace(phase)
    }

    /// Looks whether a server has what was written last: what rests on that may have left.
    fn check_continued(&self, now: &Connected, before: &Origin) -> Result<(), ConnectError> {
        let replaced = |what: &str| ConnectError::Replaced {
            what: what.to_owned(),
        };
        match now.origin.after(before) {
            Succession::Same | Succession::Waited => {}
            Succession::Promoted | Succession::Overtaken => {
                return Err(replaced("commits had not waited for a standby"));
            }
            Succession::Other => return Err(replaced("it is another database")),
        }
        if self.committed.get() == 0 {
            return Ok(());
        }
        let receipt = Statement::plain(RECEIPT).bytes(&self.writer);
        let rows = now.link.query(self.deadlines.statement, &receipt);
        let rows = rows.map_err(|failure| ConnectError::met(&failure, &self.address.database))?;
        let turn: Option<i64> = rows.first().and_then(|row| row.try_get(0).ok());
        match turn {
            Some(turn) if turn >= self.committed.get() => Ok(()),
            _ => Err(replaced("it lacks a transaction of this command")),
        }
    }

    /// Gives the connection up.
    pub(super) fn drop_link(&self) {
        self.own.borrow_mut().clear();
        if let Some(connected) = self.link.take() {
            self.left_behind.replace(Some(connected.backend));
        }
    }

    /// Does something over the connection. Whatever fails ends the transaction that is under way: it can only be rolled back then.
    pub(super) fn ask<T>(
        &self,
        ask: impl FnOnce(&Link, Duration) -> Result<T, Failure>,
    ) -> Result<T, Error> {
        if let Some(error) = &*self.broken.borrow() {
            return Err(error.clone());
        }
        let link = self.link().inspect_err(|error| self.break_off(error))?;
        #[cfg(test)]
        self.asked.update(|times| times + 1);
        let answer = ask(&link, self.deadlines.statement).map_err(Error::from);
        drop(link);
        answer.inspect_err(|error| self.break_off(error))
    }

    /// Notes that the transaction cannot go on.
    pub(super) fn break_off(&self, error: &Error) {
        if self.phase.get() != Phase::Idle {
            self.broken.replace(Some(error.clone()));
        }
    }

    /// Sends writes that have waited, and a request behind them before they are answered; returns the answer to that.
    pub(super) fn send(
        &self,
        leaving: &Leaving,
        last: Option<Request<'_>>,
    ) -> Result<Answer, Error> {
        let is_answered = last.is_some();
        let mut answers =
            self.send_all(std::slice::from_ref(leaving), last.into_iter().collect())?;
        match (answers.pop(), is_answered) {
            (Some(answer), _) => Ok(answer),
            (None, false) => Ok(Answer::Done),
            (None, true) => Err(Error::corrupt("a request without an answer")),
        }
    }

    /// Sends writes that have waited, and requests behind them before anything is answered; returns the answers to these.
    fn send_all(
        &self,
        leaving: &[Leaving],
        requests: Vec<Request<'_>>,
    ) -> Result<Vec<Answer>, Error> {
        let mut answers = Vec::with_capacity(requests.len());
        self.send_each(leaving, requests, &mut |_, answer| {
            answers.push(answer);
            Ok(())
        })?;
        Ok(answers)
    }

    /// Sends writes that have waited, and requests behind them before anything is answered; shows the answers to these as they come, with
    /// their places.
    pub(super) fn send_each(
        &self,
        leaving: &[Leaving],
        requests: Vec<Request<'_>>,
        take: &mut dyn FnMut(usize, Answer) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let statements: Result<Vec<_>, Error> = leaving.iter().map(Leaving::statements).collect();
        let statements = statements.inspect_err(|error| self.break_off(error))?;
        let mut all: Vec<_> = statements.iter().flatten().map(Request::Count).collect();
        let writes = all.len();
        all.extend(requests);
        if all.is_empty() {
            return Ok(());
        }
        let (mut at, mut taken) = (0, Ok(()));
        self.ask(|link, within| {
            link.each(within, &all, &mut |answer| {
                if at >= writes && taken.is_ok() {
                    taken = take(at - writes, answer);
                }
                at += 1;
            })
        })?;
        taken.inspect_err(|error| self.break_off(error))
    }

    /// Sends writes that have waited, and goes on: whether they were carried out is heard with the next answer.
    pub(super) fn send_ahead(&self, leaving: &Leaving) -> Result<(), Error> {
        let statements = leaving.statements();
        let statements = statements.inspect_err(|error| self.break_off(error))?;
        let encoded = statements.iter().map(Statement::encoded);
        let encoded: Result<Vec<_>, Error> = encoded.collect();
        let encoded = encoded.inspect_err(|error| self.break_off(error))?;
        self.ask(|link, within| link.send_ahead(within, encoded))
    }

    /// Sends all writes that have waited.
    pub(super) fn flush(&self) -> Result<(), Error> {
        let leaving = self.pending.borrow_mut().take();
        self.send(&leaving, None)?;
        Ok(())
    }

    /// Reads the rows of a statement.
    pub(super) fn query(
        &self,
        leaving: &Leaving,
        statement: &Statement<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, Error> {
        let answer = self.send(leaving, Some(Request::Rows(statement)));
        if let Err(Error::ConnectionLost { .. }) = answer
            && self.is_lost_while_idle()
        {
            self.drop_link();
            // It stands for itself, and finds the same over another connection.
            let again = self.send(&Leaving::nothing(), Some(Request::Rows(statement)))?;
            return Ok(again.rows());
        }
        Ok(answer?.rows())
    }

    /// Returns whether a connection was lost with nothing under way; one that is silent is not waited for a second time.
    fn is_lost_while_idle(&self) -> bool {
        let link = self.link.borrow();
        let is_silent = link
            .as_ref()
            .is_some_and(|connected| connected.link.is_silent());
        self.phase.get() == Phase::Idle && link.is_some() && !is_silent
    }

    /// Carries a statement out; returns how many rows it met.
    pub(super) fn execute(
        &self,
        leaving: &Leaving,
        statement: &Statement<'_>,
    ) -> Result<u64, Error> {
        let answer = self.send(leaving, Some(Request::Count(statement)))?;
        Ok(answer.count())
    }

    /// Takes out what waits to be done to a table: before it is read.
    pub(super) fn waiting(&self, table: &Table) -> Leaving {
        self.pending.borrow_mut().take_table(table)
    }

    /// Forgets what it knows, and what waits: another transaction begins, or this one ends with nothing.
    pub(super) fn forget(&self) {
        self.known.borrow_mut().clear();
        drop(self.pending.borrow_mut().take());
    }
}

/// Returns a name that nobody else has.
pub(super) fn random_name(address: &Address) -> Result<[u8; 16], ConnectError> {
    let mut name = [0; 16];
    let random = SystemRandom::new().fill(&mut name);
    random.map_err(|_| ConnectError::Unexpected {
        host: address.database.clone(),
        what: "the system has no random bytes".to_owned(),
    })?;
    Ok(name)
}

/// Says in the words of a store why there is no connection.
pub(super) fn refused(error: ConnectError) -> Error {
    let what = error.to_string().into();
    match error {
        ConnectError::NewerSchema { .. } => Error::Outdated { what },
        error if error.may_pass() => Error::ConnectionLost { what },
        _ => Error::Fault { what },
    }
}
