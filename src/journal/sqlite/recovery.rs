//! A journal that may have missed something: noticed when it is opened, presumed posted, asked, and declared done.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use super::begun::{Missing, begin};
use super::catalog::known_batch;
use super::chain::Evidence;
use super::fresh::begin_all;
use super::held::open_all;
use super::intact::edited;
use super::marks::{first_mark, marked};
use super::open;
use super::orders::{given_orders, lost_orders, orders};
use super::payments::subject;
use super::presumed::presumptions;
use super::recoveries;
use super::row::{PRESUMED_POSTED, RECOVERY_DONE, RELEASED, corrupt, save_life};
use super::session::{Beside, Chained};
use super::turns::Manner;
use super::until_done;
use super::{Journal, Reader};
use crate::domain::{BatchName, Timestamp};
use crate::journal::mark::{self, Place};
use crate::journal::{Error, Missed, Recovery};
use crate::ledger::HeldFor;
use crate::ledger::recovery::{
    Cause, Found, JournalId, Mark, Traces, Verdict, is_presumed, judge, may_be_done,
    may_be_released, payers_kept, with_orders,
};
use crate::lifecycle::{Fact, Policy, State, fold};

/// Payments that are moved at a time.
const PAGE: i64 = 1000;

impl Journal {
    /// Returns the recovery under way; `None`: the journal is what its place has seen last.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn recovery(&self) -> Result<Option<Recovery>, Error> {
        self.ask(Manner::Shared, |c| open_recovery(c)).await
    }

    /// Declares the recovery done: from now on, what is loaded is posted first.
    ///
    /// # Errors
    /// [`Error::NoRecovery`], [`Error::Unasked`].
    pub async fn recovered(&self, now: Timestamp) -> Result<(), Error> {
        self.ask(Manner::Alone, move |c| {
            use crate::ledger::recovery::NotDone;
            recoveries::assert_as_recorded(c)?;
            let mut unasked = 0;
            for batch in presumptions(c)? {
                unasked += batch.unasked;
            }
            match may_be_done(open_recovery(c)?.is_some(), unasked, lost_orders(c)?) {
                Ok(()) => end_recovery(c, None, now),
                Err(NotDone::NotOpen) => Err(Error::NoRecovery),
                Err(NotDone::Unasked(payments)) => Err(Error::Unasked { payments }),
                Err(NotDone::OrdersLost(lost)) => Err(Error::OrdersLost { lost }),
            }
        })
        .await
    }

    /// Returns what speaks against it that nothing has run since a copy was made; `None`: nothing does.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn ran_since(&self) -> Result<Option<String>, Error> {
        self.ask(Manner::Shared, |c| ran_since(c)).await
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
        self.ask(Manner::Alone, move |c| {
            recoveries::assert_as_recorded(c)?;
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

/// Reads what lies beside a journal, and when the journal's file was born.
pub(super) fn traces_of(journal: &Path) -> Result<(Traces, Option<u64>), Error> {
    match open::absolute(journal) {
        Ok(journal) => Ok((Place::of(&journal).look()?, mark::born(&journal))),
        // Whatever is wrong with the path is said of the journal.
        Err(_) => Ok((Traces::NONE, None)),
    }
}

/// Judges a journal that was just opened by the mark beside it, and begins its recovery where it may have missed something.
pub(super) fn take_place(
    c: &mut Chained,
    path: &Path,
    place: Place,
    born: Option<u64>,
) -> Result<Verdict, Error> {
    let verdict = {
        // Held throughout: of two processes that open it at once, one finds what the other has made of it.
        let mut held = place.hold()?;
        let traces = held.traces()?;
        let (verdict, found) = look(c, &traces, born)?;
        match verdict {
            Verdict::Current => {
                if let Some(marked) = with_orders(&traces, &found) {
                    held.write(marked, true)?;
                }
            }
            Verdict::Fresh => {
                let kept = payers_kept(&traces, &found);
                first_mark(c, &mut held, marked(c, born, kept, &traces.mark)?)?;
            }
            Verdict::Behind(cause) | Verdict::Copy(cause) => {
                assert_whole(c, path)?;
                let missing = Missing::of(c, cause, &traces, &found)?;
                begin(c, &missing)?;
                let kept = payers_kept(&traces, &found);
                held.write(marked(c, born, kept, &traces.mark)?, true)?;
            }
        }
        verdict
    };
    c.follow(Beside {
        place,
        journal: name(c)?,
        born,
        epoch: epoch(c)?,
        orders: orders(c)?,
    });
    Ok(verdict)
}

/// Judges a journal by what was read before beside it.
// In this order: what a run beside it writes meanwhile can only bring the journal further.
pub(super) fn look(
    c: &Connection,
    traces: &Traces,
    born: Option<u64>,
) -> Result<(Verdict, Found), Error> {
    let positions = match &traces.mark {
        Mark::Written(marked) => &marked.positions[..],
        Mark::Missing | Mark::Unreadable => &[],
    };
    let heads = positions.iter().map(|position| {
        let found: Option<Option<[u8; 32]>> = c
            .prepare_cached("select hash from evidence where evidence_id = ?1 and batch_id = ?2")?
            .query_row([position.evidence_id, position.batch_id], |row| row.get(0))
            .optional()?;
        Ok(found.flatten())
    });
    let found = Found {
        journal: name(c)?,
        born,
        was_marked: has(c, "marked")?,
        is_backup: has(c, "backup")?,
        epoch: epoch(c)?,
        evidence: c
            .prepare_cached("select coalesce(max(evidence_id), 0) from evidence")?
            .query_row([], |row| row.get(0))?,
        orders: orders(c)?,
        given: given_orders(c, 0)?,
        heads: heads.collect::<Result<_, Error>>()?,
    };
    Ok((judge(traces, &found), found))
}

/// Returns what the journal calls itself.
pub(super) fn name(c: &Connection) -> Result<JournalId, Error> {
    c.query_row("select value from meta where key = 'journal'", [], |row| {
        row.get(0)
    })
    .optional()?
    .ok_or_else(|| corrupt("a journal without a name"))
}

fn has(c: &Connection, key: &str) -> Result<bool, Error> {
    Ok(c.query_row(
        "select exists (select 1 from meta where key = ?1)",
        [key],
        |row| row.get(0),
    )?)
}

/// Returns the epoch of the last run; 0: there was none.
pub(super) fn epoch(c: &Connection) -> Result<i64, Error> {
    let found: Option<i64> = c
        .query_row("select value from meta where key = 'epoch'", [], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(found.unwrap_or(0))
}

/// Refuses a journal whose pages do not fit together: of a copy that was made half way, nothing can be told.
fn assert_whole(c: &Connection, path: &Path) -> Result<(), Error> {
    let said: String = c.query_row("pragma integrity_check(1)", [], |row| row.get(0))?;
    match said.as_str() {
        "ok" => Ok(()),
        _ => Err(Error::Damaged {
            path: path.into(),
            what: "its pages are not of one time".into(),
        }),
    }
}

pub(super) fn batches(c: &Connection) -> Result<Vec<i64>, Error> {
    let mut statement = c.prepare("select batch_id from batch order by batch_id")?;
    let found = statement.query_map([], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// What of a batch is presumed posted.
#[derive(Clone, Copy)]
pub(super) enum Reach {
    /// What is ready, and was not presumed posted before.
    Unasked,
    /// What is ready.
    Ready,
    /// That, and what the gateway had before our first post: by order alone, as it may be somebody else's.
    Taken,
}

/// Gives whatever is ready of a batch back to asking, as what was asked before was asked at the wrong account.
pub(super) fn ask_anew(c: &Chained, batch_id: i64, now: Timestamp) -> Result<u64, Error> {
    presume(c, batch_id, Reach::Ready, now)
}

/// Presumes posted whatever is ready of a batch; returns how many payments.
pub(super) fn presume(
    c: &Chained,
    batch_id: i64,
    reach: Reach,
    now: Timestamp,
) -> Result<u64, Error> {
    begin_all(c, batch_id)?;
    c.flush()?;
    presume_unpriced(c, batch_id, now)?;
    // All of it is asked about first now.
    open_all(c, batch_id, HeldFor::Taken)?;
    let before = "and not exists (select 1 from evidence e indexed by evidence_by_payment where e.seq = l.seq and e.event = 21)";
    let which = match reach {
        Reach::Unasked => format!("l.state = 0 {before}"),
        Reach::Ready => "l.state = 0".to_owned(),
        Reach::Taken => "(l.state = 0 or l.known = 2 and l.state in (2, 8))".to_owned(),
    };
    let sql = format!(
        "select l.seq from life l where l.batch_id = ?1 and {which} and l.seq > ?2 order by l.seq limit ?3"
    );
    // What was edited in the file stays as it is: its claim compares it with its evidence, and tells.
    let edited = edited(c, batch_id)?;
    each(c, batch_id, &sql, |c, seq| {
        if edited.contains(&seq) {
            return Ok(false);
        }
        let mut subject = subject(c, seq)?;
        let from = subject.moved.from;
        if !is_presumed(&subject.moved.life) {
            return Ok(false);
        }
        subject.moved.life = fold(
            &subject.moved.life,
            Fact::PresumedPosted,
            now,
            &Policy::default(),
        );
        // Asked about at once: if it was posted, that is long past.
        subject.moved.life.due_at = Some(Timestamp::from_millis(0));
        move_by(c, seq, subject, from, PRESUMED_POSTED, None, now)?;
        Ok(true)
    })
}

/// Presumes posted what waits for its amount: its bill may have told it before, and then it was posted.
fn presume_unpriced(c: &Chained, batch_id: i64, now: Timestamp) -> Result<(), Error> {
    let sql = "select i.seq from instruction i where i.batch_id = ?1 and i.amount is null and i.seq > ?2
             and not exists (select 1 from life l where l.seq = i.seq)
             and not exists (select 1 from evidence e indexed by evidence_by_payment where e.seq = i.seq and e.event = 21)
         order by i.seq limit ?3";
    each(c, batch_id, sql, |c, seq| {
        c.append(&Evidence {
            batch_id,
            seq,
            at: now,
            kind: (PRESUMED_POSTED, None, None),
            ..Evidence::default()
        })?;
        Ok(true)
    })?;
    Ok(())
}

/// Makes ready again what only the presumption made doubtful; returns how many payments.
fn release(c: &Chained, batch_id: i64, reason: &str, now: Timestamp) -> Result<u64, Error> {
    c.mark(batch_id);
    c.acted_because(batch_id, now, "recover --nothing-ran-since", reason)?;
    let detail = json!({"reason": reason}).to_string();
    c.flush()?;
    let sql = "select l.seq from life l where l.batch_id = ?1 and l.state = 2 and l.attempts = 0 and l.seq > ?2 order by l.seq limit ?3";
    each(c, batch_id, sql, |c, seq| {
        let mut subject = subject(c, seq)?;
        let from = subject.moved.from;
        // A callback, or any status reply but "not found".
        let spoken_of: bool = c
            .prepare_cached(
                "select exists (select 1 from evidence indexed by evidence_by_payment
                     where seq = ?1 and (event in (5, 8, 20) or event between 70 and 79 or event = 6 and class <> 7))",
            )?
            .query_row([seq], |row| row.get(0))?;
        if !may_be_released(&subject.moved.life, spoken_of) {
            return Ok(false);
        }
        subject.moved.life = fold(&subject.moved.life, Fact::Released, now, &Policy::default());
        move_by(c, seq, subject, from, RELEASED, Some(&detail), now)?;
        Ok(true)
    })
}

/// Does something with payments of a batch, a page at a time; returns how many it was done with.
fn each(
    c: &Chained,
    batch_id: i64,
    sql: &str,
    mut work: impl FnMut(&Chained, i64) -> Result<bool, Error>,
) -> Result<u64, Error> {
    let (mut after, mut done) = (0, 0);
    loop {
        let seqs: Vec<i64> = c
            .prepare_cached(sql)?
            .query_map([batch_id, after, PAGE], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let Some(last) = seqs.last() else {
            return Ok(done);
        };
        after = *last;
        for seq in seqs {
            done += u64::from(work(c, seq)?);
        }
    }
}

fn move_by(
    c: &Chained,
    seq: i64,
    subject: super::subject::Subject,
    from: State,
    kind: i64,
    detail: Option<&str>,
    at: Timestamp,
) -> Result<(), Error> {
    save_life(c, seq, &subject.moved.life, true)?;
    c.append(&Evidence {
        batch_id: subject.batch_id,
        seq,
        at,
        kind: (kind, None, None),
        detail,
        ..Evidence::default()
    })?;
    c.remember(&subject);
    c.moved(&subject, from)?;
    Ok(())
}

/// Returns the recovery that is not declared done.
pub(super) fn open_recovery(c: &Connection) -> Result<Option<Recovery>, Error> {
    let found: Option<(i64, i64)> = c
        .prepare_cached("select begun_at, cause from recovery where done_at is null order by recovery_id desc limit 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((begun_at, number)) = found else {
        return Ok(None);
    };
    let cause = Cause::ALL.into_iter().find(|(known, _)| *known == number);
    let (_, cause) = cause.ok_or_else(|| corrupt("a recovery for no reason"))?;
    Ok(Some(Recovery {
        since: Timestamp::from_millis(begun_at),
        cause,
    }))
}

/// Returns whether a payment was there when it was noticed, once, that the journal may have missed something.
pub(super) fn was_there_when_noticed(c: &Connection, seq: i64) -> Result<bool, Error> {
    // By a person's word, nothing had been missed.
    Ok(c.prepare_cached(
        "select exists (select 1 from recovery where newest_seq >= ?1 and reason is null)",
    )?
    .query_row([seq], |row| row.get(0))?)
}

fn end_recovery(c: &Chained, reason: Option<&str>, now: Timestamp) -> Result<(), Error> {
    for batch_id in batches(c)? {
        c.mark(batch_id);
        c.acted(batch_id, now, "recover --done", Value::Null)?;
    }
    c.execute(
        "update recovery set done_at = ?1, reason = ?2 where done_at is null",
        params![now.as_millis(), reason],
    )?;
    until_done::let_go(c)?;
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
    recoveries::tell(c, RECOVERY_DONE, detail, now)
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
