//! Transactions: those that write come one after the other, over all hosts, and how each ended is known.

use std::time::{Duration, Instant};

use super::ahead::Ahead;
use super::columns::SCHEMA_VERSION;
use super::connect::Connected;
use super::failure::Failure;
use super::link::{Answer, Request};
use super::origin;
use super::pending::Leaving;
use super::statement::Statement;
use super::store::{Phase, Postgres, Seen, refused};
use crate::domain::Timestamp;
use crate::ledger::recovery::{Origin, ServerPosition};
use crate::store::{Error, Read as _, Transact};

/// How long nothing is asked while a server does not come back.
const PAUSE: Duration = Duration::from_millis(100);

/// How much longer an answer is waited for than the server waits itself.
const MARGIN: Duration = Duration::from_secs(5);

/// For so many transactions it is taken that somebody else writes, once somebody has.
const OTHERS_WRITE: u8 = 16;

/// Whatever the server takes for the default: in this mode a transaction sees what others committed before it took its turn.
const BEGIN: &str = "begin isolation level read committed read write";

/// All statements see the same rows.
const BEGIN_READING: &str = "begin isolation level repeatable read read only";

/// Takes the turn, and leaves the receipt of the transaction: both are there when it is committed, and not otherwise.
///
/// Until it has ended, whoever else begins waits for the first row, and whoever asks how it ended waits for the second.
const TAKE_TURN: &str = "with taken as (
        update disburse.turn set number = number + 1, previous = writer, writer = $1 where one returning number, previous, oldest
    ), receipt as (
        insert into disburse.writer as w (id, turn, begun_at) select $1, number, clock_timestamp() from taken
        on conflict (id) do update set turn = excluded.turn, begun_at = excluded.begun_at
    )
    select number - 1, previous, (select turn from disburse.writer where id = $1), oldest,
        floor(extract(epoch from clock_timestamp()) * 1000)::bigint, current_setting('synchronous_standby_names'),
        (txid_current() & 4294967295)::text from taken";

/// The newest transaction that was committed, who made it, and the newest one of a writer; and who may still read and write.
const NEWEST: &str = "select number, writer, (select turn from disburse.writer where id = $1), oldest from disburse.turn where one";

const CLOCK: &str = "select floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

/// Asks by a write which transaction of a writer was committed last: its acknowledgement covers the log before it.
const LEARN: &str =
    "insert into disburse.writer as w (id, turn, begun_at) values ($1, 0, clock_timestamp())
    on conflict (id) do update set turn = w.turn returning turn";

impl Postgres {
    /// Begins a transaction that reads, for a pass over many rows.
    pub(super) fn begin_passing(&self) -> Result<(), Error> {
        self.start_reading(Phase::Passing)
    }

    fn start_reading(&self, phase: Phase) -> Result<(), Error> {
        self.expect_idle()?;
        let newest = Statement::plain(NEWEST).bytes(&self.writer);
        self.start(
            BEGIN_READING,
            vec![Request::Rows(&newest)],
            self.deadlines.statement,
        )?;
        self.enter(phase);
        Ok(())
    }

    /// Begins a transaction with its first statements; the first of all tells the newest transaction before it. Returns the number of
    /// that, and the answers to the others.
    fn start(
        &self,
        begin: &str,
        first: Vec<Request<'_>>,
        within: Duration,
    ) -> Result<(i64, Vec<Answer>), Error> {
        self.broken.replace(None);
        let mut requests = first;
        requests.insert(0, Request::Text(begin));
        let mut tried = 0;
        loop {
            let link = self.link()?;
            let answer = link.all(within, &requests);
            tried += 1;
            match answer {
                Ok(answers) => {
                    drop(link);
                    let mut answers = answers.into_iter().skip(1);
                    let newest = answers.next().map(Answer::rows).unwrap_or_default();
                    return match self.note(&newest) {
                        Ok(number) => Ok((number, answers.collect())),
                        Err(error) => self.query_end("rollback").and(Err(error)),
                    };
                }
                // It was lost while nothing was under way: what is begun anew is the same.
                Err(failure) if tried == 1 && !failure.is_refusal() && !link.is_silent() => {
                    drop(link);
                    self.drop_link();
                }
                Err(failure) => {
                    if failure.is_refusal() {
                        let _ = link.run(self.deadlines.statement, "rollback");
                    }
                    return Err(failure.into());
                }
            }
        }
    }

    /// Notes which transaction was committed last; returns its number.
    ///
    /// A server that has none of those any more that it had acknowledged is no journal to go on with: what it says was never posted may
    /// have been.
    fn note(&self, rows: &[tokio_postgres::Row]) -> Result<i64, Error> {
        let Newest {
            seen,
            mine,
            oldest,
            at,
            waits,
            transaction,
        } = newest_of(rows)?;
        self.own.borrow_mut().begin(transaction);
        self.began_at.set(at);
        if let Some(waits) = waits {
            let waits = waits && self.address.is_promoted_whole;
            self.origin.set(Origin {
                waits,
                ..self.origin.get()
            });
            // A standby may lack the newest transactions until one has waited for it.
            self.all_waited.set(waits && self.all_waited.get());
        }
        if oldest > SCHEMA_VERSION {
            return Err(Error::Outdated {
                what: format!(
                    "a later release has changed the schema of the journal: programs must know schema {oldest} or \
                     later, and this one knows {SCHEMA_VERSION}"
                )
                .into(),
            });
        }
        let number = seen.0;
        let is_behind = match &*self.seen.borrow() {
            Some((known, _)) => number < *known,
            None => false,
        };
        if is_behind || mine.unwrap_or(0) < self.committed.get() {
            return Err(Error::Damaged {
                what: "the server of the journal has lost transactions that it had confirmed: another server took over \
                    without them, or an older copy was put in its place"
                    .into(),
            });
        }
        let is_news = self.seen.borrow().as_ref() != Some(&seen);
        self.others_write.set(match is_news {
            true => OTHERS_WRITE,
            false => self.others_write.get().saturating_sub(1),
        });
        if is_news {
            self.version.set(self.version.get() + 1);
            self.seen.replace(Some(seen));
            self.forget();
        }
        Ok(number)
    }

    fn expect_idle(&self) -> Result<(), Error> {
        match self.phase.get() {
            Phase::Idle => Ok(()),
            _ => Err(Error::Fault {
                what: "a transaction within a transaction".into(),
            }),
        }
    }

    /// Learns how a transaction ended whose end was not heard.
    fn learn(&self, number: i64, lost: &str) -> Result<(), Error> {
        let until = Instant::now() + self.deadlines.learn;
        let mut failed = String::new();
        while Instant::now() < until {
            match self.ask_for_receipt(until) {
                Ok(turn) if turn == number => return Ok(()),
                Ok(_) => {
                    return Err(Error::ConnectionLost {
                        what: format!("{lost}; nothing of the transaction was written").into(),
                    });
                }
                Err(error) => failed = error.to_string(),
            }
            // Nothing tells that a server is back.
            std::thread::sleep(PAUSE);
        }
        Err(Error::OutcomeUnknown {
            what: format!(
                "whether a transaction was committed is not known: {lost}; then: {failed}"
            )
            .into(),
        })
    }

    fn ask_for_receipt(&self, until: Instant) -> Result<i64, Error> {
        self.connect(until).map_err(refused)?;
        let link = self.link()?;
        let left = until.saturating_duration_since(Instant::now());
        link.take_warnings();
        let rows = link.query(left, &Statement::plain(LEARN).bytes(&self.writer))?;
        if let Some(warning) = link.take_warnings().pop() {
            return Err(Error::Fault {
                what: warning.into(),
            });
        }
        let turn = rows.first().and_then(|row| row.try_get(0).ok());
        turn.ok_or_else(|| Error::corrupt("no receipt in disburse.writer"))
    }

    /// Ends a transaction that writes, with what still waits; tells what was heard instead of its end.
    fn end(&self, statements: &[Statement<'_>]) -> Result<(), Failure> {
        let link = self.link.borrow();
        let Some(Connected { link, .. }) = &*link else {
            return Err(Failure::lost("the connection to PostgreSQL is gone"));
        };
        link.take_warnings();
        let mut requests: Vec<_> = statements.iter().map(Request::Count).collect();
        requests.push(Request::Text("commit"));
        link.all(self.deadlines.commit, &requests)?;
        match link.take_warnings().pop() {
            None => Ok(()),
            // The wait for a standby was cut off: what was committed may be gone when the standby takes over.
            Some(warning) => Err(Failure::lost(warning)),
        }
    }
}

/// The newest transaction that was committed, and the newest one of this writer.
struct Newest {
    seen: Seen,
    mine: Option<i64>,
    /// The oldest version of the schema whose releases may still read and write.
    oldest: i64,
    /// When the turn was taken, by the server's clock.
    at: Option<Timestamp>,
    /// Commits wait for all standbys that are named, where a turn was taken.
    waits: Option<bool>,
    /// The number of the transaction as the rows have it that it writes; nothing where no turn was taken.
    transaction: String,
}

fn newest_of(rows: &[tokio_postgres::Row]) -> Result<Newest, Error> {
    let read = |row: &tokio_postgres::Row| {
        let seen = (row.try_get(0).ok()?, row.try_get(1).ok()?);
        let (mine, oldest) = (row.try_get(2).ok()?, row.try_get(3).ok()?);
        let at = row.try_get(4).ok().map(Timestamp::from_millis);
        let waits = row.try_get(5).ok().map(origin::waits_for_all);
        Some(Newest {
            seen,
            mine,
            oldest,
            at,
            waits,
            transaction: row.try_get(6).unwrap_or_default(),
        })
    };
    let newest = rows.first().and_then(read);
    newest.ok_or_else(|| Error::corrupt("no number in disburse.turn"))
}

impl Transact for Postgres {
    fn is_shared(&self) -> bool {
        true
    }

    fn is_owned(&self) -> Result<bool, Error> {
        self.is_owner()
    }

    fn server_position(&self) -> Option<ServerPosition> {
        let turn = self.seen.borrow().as_ref().map_or(0, |(number, _)| *number);
        Some(ServerPosition {
            origin: self.origin.get(),
            turn,
        })
    }

    fn begin_reading(&self) -> Result<(), Error> {
        self.start_reading(Phase::Reading)
    }

    fn now(&self) -> Result<Timestamp, Error> {
        let rows = self.query(&Leaving::nothing(), &Statement::plain(CLOCK))?;
        let now = rows.first().and_then(|row| row.try_get(0).ok());
        now.map(Timestamp::from_millis)
            .ok_or_else(|| Error::corrupt("no time"))
    }

    fn begin(&self) -> Result<(), Error> {
        self.expect_idle()?;
        let take = Statement::plain(TAKE_TURN).bytes(&self.writer);
        let within = self.deadlines.turn + MARGIN;
        self.foresight.take();
        let wanted = self.habits.borrow_mut().begin();
        // What was remembered will hold where nobody else writes; otherwise it is read in the same round trip, behind the turn.
        let ahead = match self.others_write.get() {
            1.. => Ahead::of(&wanted.scans).and_numbers(&wanted.numbered),
            0 => Ahead::default(),
        };
        let statements = ahead.statements()?;
        let mut first = vec![Request::Rows(&take)];
        first.extend(statements.iter().map(Request::Rows));
        let (number, answers) = self.start(BEGIN, first, within)?;
        self.enter(Phase::Writing(number + 1));
        let mut answers = answers.into_iter().enumerate();
        let known = answers.try_for_each(|(at, answer)| {
            let known = &mut self.known.borrow_mut();
            ahead.note(at, answer, known)
        });
        if let Err(error) = known.and_then(|()| self.expect(&wanted.scans)) {
            self.rollback()?;
            return Err(error);
        }
        Ok(())
    }

    fn plan(&self, verbs: &[&'static str]) {
        self.habits.borrow_mut().plan(verbs);
    }

    fn plan_more(&self, verbs: &[&'static str]) -> Result<(), Error> {
        let wanted = self.habits.borrow_mut().join(verbs);
        self.expect(&wanted.scans)
    }

    fn enter_verb(&self, verb: &'static str) {
        self.habits.borrow_mut().enter(verb);
    }

    fn began_at(&self) -> Option<Timestamp> {
        match self.phase.get() {
            Phase::Writing(_) => self.began_at.get(),
            Phase::Idle | Phase::Reading | Phase::Passing => None,
        }
    }

    fn commit(&self) -> Result<(), Error> {
        if let Some(error) = self.broken.take() {
            self.rollback()?;
            return Err(error);
        }
        let number = match self.enter(Phase::Idle) {
            Phase::Writing(number) => number,
            Phase::Reading | Phase::Passing => return self.query_end("commit"),
            Phase::Idle => {
                return Err(Error::Fault {
                    what: "there is no transaction to end".into(),
                });
            }
        };
        let leaving = self.pending.borrow_mut().take();
        let ended = match leaving.statements() {
            Ok(statements) => match self.end(&statements) {
                // A statement that is refused ends the transaction: the commit behind it commits nothing.
                Err(failure) if failure.is_refusal() => Err(failure.into()),
                Err(failure) => self.learn(number, failure.what()),
                Ok(()) => Ok(()),
            },
            Err(error) => self.query_end("rollback").and(Err(error)),
        };
        if ended.is_err() {
            self.forget();
            return ended;
        }
        self.committed.set(number);
        self.own.borrow_mut().keep(&self.known.borrow());
        // What waited for a standby is there with all that was before it.
        self.all_waited.set(self.origin.get().waits);
        self.seen
            .replace(Some((number, Some(self.writer.to_vec()))));
        Ok(())
    }

    fn is_open(&self) -> bool {
        matches!(self.phase.get(), Phase::Reading | Phase::Writing(_))
    }

    fn version(&self) -> Result<i64, Error> {
        if self.phase.get() == Phase::Idle {
            let newest = Statement::plain(NEWEST).bytes(&self.writer);
            self.note(&self.query(&Leaving::nothing(), &newest)?)?;
        }
        Ok(self.version.get())
    }

    fn rollback(&self) -> Result<(), Error> {
        self.broken.replace(None);
        if self.phase.get() != Phase::Passing {
            self.forget();
        }
        match self.enter(Phase::Idle) {
            Phase::Idle => Ok(()),
            _ => self.query_end("rollback"),
        }
    }
}

impl Postgres {
    /// Ends a transaction of which nothing stays.
    fn query_end(&self, text: &str) -> Result<(), Error> {
        let ended = match &*self.link.borrow() {
            Some(Connected { link, .. }) if !link.is_closed() => {
                link.run(self.deadlines.statement, text).is_ok()
            }
            _ => false,
        };
        // What is lost is rolled back by the server.
        if !ended {
            self.drop_link();
        }
        Ok(())
    }
}
