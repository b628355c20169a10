//! A journal that may have missed something: noticed when it is opened, presumed posted, asked, and declared done.

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::given_orders::lost_orders;
use super::lost_orders::Touched;
use super::noticed::open_recovery;
use super::on_chain;
use super::place::look;
use super::presume::{each, move_by};
use super::presumed::presumptions;
use super::when_done;
use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::Reader;
use crate::journal::sqlite::codec::catalog::batches;
use crate::journal::sqlite::codec::catalog::id_of;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::events::{RECOVERY_DONE, RELEASED};
use crate::journal::sqlite::operator::withdrawal;
use crate::journal::sqlite::session::payments::subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, Missed, Recovery};
use crate::ledger::recovery::{NotDone, may_be_done, may_be_released};
use crate::lifecycle::{Policy, RecordedEvent, StepContext, fold};

impl Journal {
    /// Returns the recovery under way; `None`: the journal is what its place has seen last.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn recovery(&self) -> Result<Option<Recovery>, Error> {
        self.ask(CommitMode::Shared, |c| open_recovery(c)).await
    }

    /// Declares the recovery done: from now on, what is loaded is posted first.
    ///
    /// # Errors
    /// [`Error::NoRecovery`], [`Error::Unasked`].
    pub async fn recovered(&self, now: Timestamp) -> Result<(), Error> {
        self.ask(CommitMode::Alone, move |c| {
            assert_done(c)?;
            end_recovery(c, None, now)
        })
        .await
    }

    /// Checks that the recovery may be declared done, so that nobody is asked about it in vain.
    ///
    /// # Errors
    /// As [`Self::recovered`].
    pub async fn assert_recovery_done(&self) -> Result<(), Error> {
        self.ask(CommitMode::Shared, |c| assert_done(c)).await
    }

    /// Returns what speaks against it that nothing has run since a copy was made; `None`: nothing does.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn ran_since(&self) -> Result<Option<String>, Error> {
        self.ask(CommitMode::Shared, |c| ran_since(c)).await
    }

    /// Takes a person's word that nothing has run since the copy was made: what only the presumption made doubtful is ready
    /// again, of one batch or of all; for all, the recovery is done. Returns how many payments.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::NoRecovery`]; [`Error::SomethingRan`] where mark or lock file say otherwise.
    pub async fn nothing_ran_since(
        &self,
        batch: Option<BatchName>,
        reason: String,
        now: Timestamp,
    ) -> Result<u64, Error> {
        self.ask(CommitMode::Alone, move |c| {
            on_chain::assert_as_recorded(c)?;
            assert_nothing_ran(c)?;
            if let Some(batch) = batch {
                return release(c, known_batch(c, &batch)?, &reason, now);
            }
            if open_recovery(c)?.is_none() {
                return Err(Error::NoRecovery);
            }
            let mut released = 0;
            for batch_id in batches(c)? {
                released += release(c, batch_id, &reason, now)?;
            }
            end_recovery(c, Some(&reason), now)?;
            Ok(released)
        })
        .await
    }
}

impl Reader {
    /// Returns what speaks against it that nothing has run since a copy was made; `None`: nothing does.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn ran_since(&self) -> Result<Option<String>, Error> {
        ran_since(&self.connection)
    }

    /// Returns what the journal may have missed; `None`: it is what its place has seen last.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn missed(&self) -> Result<Option<Missed>, Error> {
        let open = open_recovery(&self.connection)?;
        // What nobody has opened for writing yet is noticed by whoever does.
        let (verdict, _) = look(&self.connection, &self.traces, self.born)?;
        let noticed = verdict.cause().map(|cause| Missed { cause, since: None });
        Ok(noticed.or(open.map(|recovery| Missed {
            cause: recovery.cause,
            since: Some(recovery.since),
        })))
    }
}

fn assert_done(c: &WriteSession) -> Result<(), Error> {
    on_chain::assert_as_recorded(c)?;
    let mut unasked = 0;
    for batch in presumptions(c)? {
        unasked += batch.left_to_ask();
    }
    may_be_done(open_recovery(c)?.is_some(), unasked, lost_orders(c)?).map_err(|why| match why {
        NotDone::NotOpen => Error::NoRecovery,
        NotDone::Unasked(payments) => Error::Unasked { payments },
        NotDone::OrdersLost(lost) => Error::OrdersLost { lost },
    })
}

/// Makes ready again what only the presumption made doubtful; returns how many payments.
fn release(
    c: &WriteSession,
    batch_id: BatchId,
    reason: &str,
    now: Timestamp,
) -> Result<u64, Error> {
    c.mark(batch_id);
    let mut touched = Touched::default();
    let detail = json!({"reason": reason}).to_string();
    c.flush()?;
    let sql = "select l.seq from life l where l.batch_id = ?1 and l.state = 2 and l.attempts = 0 and l.seq > ?2 order by l.seq limit ?3";
    let released = each(c, batch_id, sql, |c, seq| {
        let mut doubtful = subject(c, seq)?;
        let from = doubtful.moved.from;
        // A callback, or any status reply but "not found".
        let spoken_of: bool = c
            .prepare_cached(
                "select exists (select 1 from evidence indexed by evidence_by_payment
                     where seq = ?1 and (event in (5, 8, 20) or event between 70 and 79 or event = 6 and class <> 7))",
            )?
            .query_row([seq], |row| row.get(0))?;
        if !may_be_released(&doubtful.moved.life, spoken_of) {
            return Ok(false);
        }
        doubtful.moved.life = fold(
            &doubtful.moved.life,
            RecordedEvent::Released,
            now,
            &Policy::default(),
        );
        move_by(c, seq, doubtful, from, RELEASED, Some(&detail), now)?;
        c.flush()?;
        withdrawal::carry_out(c, &mut subject(c, seq)?, StepContext { now, jitter: 0 })?;
        touched.signed().add(id_of(c, seq)?.as_str());
        Ok(true)
    })?;
    let place = (batch_id, now);
    let act = "recover --nothing-ran-since";
    c.act_upon(place, act, Value::Null, &touched, Some(reason))?;
    Ok(released)
}

fn end_recovery(c: &WriteSession, reason: Option<&str>, now: Timestamp) -> Result<(), Error> {
    for batch_id in batches(c)? {
        c.mark(batch_id);
        c.acted(batch_id, now, "recover --done", Value::Null)?;
    }
    c.execute(
        "update recovery set done_at = ?1, reason = ?2 where done_at is null",
        params![now.as_millis(), reason],
    )?;
    when_done::let_go(c)?;
    c.forget_recent();
    if let Some(reason) = reason {
        // Nobody gave an order either, but for those that are known of.
        c.execute(
            "update recovery set orders_reason = ?1 where orders_lost = 0 and orders_unknown = 1 and orders_reason is null",
            [reason],
        )?;
    }
    let detail = match reason {
        Some(reason) => json!({"nothing ran since": reason}),
        None => json!({}),
    };
    on_chain::tell(c, RECOVERY_DONE, detail, now)
}

/// Refuses a person's word that nothing has run, where what lay beside the journal said otherwise when its recovery began.
fn assert_nothing_ran(c: &Connection) -> Result<(), Error> {
    match ran_since(c)? {
        Some(what) => Err(Error::SomethingRan { what }),
        None => Ok(()),
    }
}

/// Returns what lay beside the journal when its recovery began, and speaks of more than the journal knows.
fn ran_since(c: &Connection) -> Result<Option<String>, Error> {
    let mut statement = c.prepare_cached(
        "select ran_since from recovery where ran_since is not null
             and (done_at is null or recovery_id = (select max(recovery_id) from recovery)) order by recovery_id",
    )?;
    let said: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok((!said.is_empty()).then(|| said.join("; ")))
}
