//! A journal that may have missed something: noticed when it is opened, presumed posted, asked, and declared done.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use super::chain::{Beside, Chained, Evidence};
use super::evidence::subject;
use super::fresh::begin_all;
use super::held::open_all;
use super::open;
use super::orders::{lost_orders, orders};
use super::payers;
use super::presumed::presumptions;
use super::row::{PRESUMED_POSTED, RECOVERY_BEGAN, RECOVERY_DONE, RELEASED, corrupt, save_life};
use super::run::known_batch;
use super::turns::Manner;
use super::{Journal, Reader};
use crate::domain::{BatchName, Timestamp};
use crate::journal::mark::{self, Held, Place};
use crate::journal::{Error, Missed, Recovery};
use crate::ledger::HeldFor;
use crate::ledger::payer::Payers;
use crate::ledger::recovery::{
    Cause, Found, JournalId, Mark, Marked, OrdersLost, Told, Traces, Verdict, is_presumed, judge,
    may_be_done, may_be_released, orders_lost, payers_kept, told, with_orders,
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

    /// Gives what is ready of a batch back to asking, as if an earlier journal had posted it; returns how many payments.
    ///
    /// With `once`, payments that were presumed before are left alone: they have been asked about.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn presume_posted(
        &self,
        batch: BatchName,
        once: bool,
        now: Timestamp,
    ) -> Result<u64, Error> {
        self.ask(Manner::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            c.mark(batch_id);
            c.acted(batch_id, now, "recover --presume-posted", Value::Null)?;
            let reach = if once { Reach::Unasked } else { Reach::Taken };
            presume(c, batch_id, reach, now)
        })
        .await
    }

    /// Declares the recovery done: from now on, what is loaded is posted first.
    ///
    /// # Errors
    /// [`Error::NoRecovery`], [`Error::Unasked`].
    pub async fn recovered(&self, now: Timestamp) -> Result<(), Error> {
        self.ask(Manner::Alone, move |c| {
            use crate::ledger::recovery::NotDone;
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

    /// Takes a person's word that nothing has run since the copy was made: what only the presumption made doubtful is ready
    /// again, of one batch or of all; for all, the recovery is done. Returns how many payments.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], [`Error::NoRecovery`].
    pub async fn nothing_ran_since(
        &self,
        batch: Option<BatchName>,
        reason: String,
        now: Timestamp,
    ) -> Result<u64, Error> {
        self.ask(Manner::Alone, move |c| {
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
                first_mark(c, &mut held, marked(c, born, kept)?)?;
            }
            Verdict::Behind(cause) | Verdict::Copy(cause) => {
                assert_whole(c, path)?;
                let missed = Missing {
                    cause,
                    known: found.orders,
                    lost: orders_lost(&traces, &found),
                    told: told(&traces, &found, &payers::on_record(c)?),
                };
                begin(c, &missed)?;
                let kept = payers_kept(&traces, &found);
                held.write(marked(c, born, kept)?, true)?;
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
        heads: heads.collect::<Result<_, Error>>()?,
    };
    Ok((judge(traces, &found), found))
}

/// Returns what the journal calls itself.
fn name(c: &Connection) -> Result<JournalId, Error> {
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
fn epoch(c: &Connection) -> Result<i64, Error> {
    let found: Option<i64> = c
        .query_row("select value from meta where key = 'epoch'", [], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(found.unwrap_or(0))
}

fn marked(c: &Connection, born: Option<u64>, payers: Payers) -> Result<Marked, Error> {
    Ok(Marked {
        journal: name(c)?,
        born,
        epoch: epoch(c)?,
        orders: orders(c)?,
        positions: Vec::new(),
        payers,
    })
}

/// Gives a journal its first mark, and then notes that it has one.
// In this order: a crash between the two leaves a mark that fits, where the other one would leave a journal that has lost its mark.
fn first_mark(c: &Connection, held: &mut Held<'_>, marked: Marked) -> Result<(), Error> {
    held.write(marked, true)?;
    c.execute(
        "insert into meta (key, value) values ('marked', 1) on conflict do nothing",
        [],
    )?;
    // Into the file itself, so that it is known there even without its log. Nobody who reads it is waited for.
    let patience: i64 = c.query_row("pragma busy_timeout", [], |row| row.get(0))?;
    c.execute_batch("pragma busy_timeout = 0")?;
    let _ = c.execute_batch("pragma wal_checkpoint(truncate)");
    c.execute_batch(&format!("pragma busy_timeout = {patience}"))?;
    Ok(())
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

/// What shows when it is noticed that a journal may have missed something.
struct Missing {
    cause: Cause,
    /// Orders of people that are on record.
    known: u64,
    /// Orders that are not.
    lost: OrdersLost,
    told: Told,
}

/// Begins a recovery: the journal gets a new name, and all that is ready is presumed posted.
fn begin(c: &mut Chained, missing: &Missing) -> Result<(), Error> {
    c.prepare_cached("begin immediate")?.execute([])?;
    let done = c
        .begin()
        .and_then(|()| noticed(c, missing))
        .and_then(|()| c.save());
    if let Err(error) = done {
        c.forget();
        let _ = c.execute_batch("rollback");
        return Err(error);
    }
    c.prepare_cached("commit")?.execute([])?;
    Ok(())
}

fn noticed(c: &Chained, missing: &Missing) -> Result<(), Error> {
    let Missing { cause, lost, .. } = missing;
    // SQLite's clock: who opens a journal brings none along, and no wait rests on it, as the next run begins all of them anew.
    let now: i64 = c.query_row(
        "select cast(unixepoch('subsec') * 1000 as integer)",
        [],
        |row| row.get(0),
    )?;
    let now = Timestamp::from_millis(now);
    c.execute(
        "update meta set value = randomblob(16) where key = 'journal'",
        [],
    )?;
    c.execute("delete from meta where key = 'backup'", [])?;
    c.execute(
        "insert into meta (key, value) values ('marked', 1) on conflict do nothing",
        [],
    )?;
    c.execute(
        "insert into recovery (begun_at, cause, newest_seq, newest_evidence, orders_lost, orders_unknown)
         select ?1, ?2, coalesce(max(seq), 0), (select coalesce(max(evidence_id), 0) from evidence), ?3, ?4 from instruction",
        params![
            now.as_millis(),
            cause.number(),
            i64::try_from(lost.count).unwrap_or(i64::MAX),
            lost.unknown
        ],
    )?;
    payers::told(c, &missing.told)?;
    if lost.count > 0 {
        // Counted from here on, so that the next copy of now does not miss them once more.
        let both = missing.known.saturating_add(lost.count);
        let both = i64::try_from(both).unwrap_or(i64::MAX);
        c.execute(
            "insert into meta (key, value) values ('orders', ?1) on conflict do update set value = ?1",
            [both],
        )?;
    }
    let mut detail = json!({"cause": cause.sentence()});
    if lost.count > 0 {
        detail["orders_lost"] = lost.count.into();
    }
    let detail = detail.to_string();
    for batch_id in batches(c)? {
        note(c, batch_id, RECOVERY_BEGAN, Some(&detail), now)?;
        presume(c, batch_id, Reach::Ready, now)?;
    }
    Ok(())
}

pub(super) fn batches(c: &Connection) -> Result<Vec<i64>, Error> {
    let mut statement = c.prepare("select batch_id from batch order by batch_id")?;
    let found = statement.query_map([], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Appends a note about a batch as a whole.
pub(super) fn note(
    c: &Chained,
    batch_id: i64,
    kind: i64,
    detail: Option<&str>,
    at: Timestamp,
) -> Result<(), Error> {
    c.append(&Evidence {
        batch_id,
        at,
        kind: (kind, None, None),
        detail,
        ..Evidence::default()
    })
}

/// What of a batch is presumed posted.
#[derive(Clone, Copy)]
enum Reach {
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
fn presume(c: &Chained, batch_id: i64, reach: Reach, now: Timestamp) -> Result<u64, Error> {
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
    each(c, batch_id, &sql, |c, seq| {
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
    subject: super::evidence::Subject,
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
    let detail = reason.map(|reason| json!({"nothing ran since": reason}).to_string());
    for batch_id in batches(c)? {
        c.mark(batch_id);
        c.acted(batch_id, now, "recover --done", Value::Null)?;
        note(c, batch_id, RECOVERY_DONE, detail.as_deref(), now)?;
    }
    c.execute(
        "update recovery set done_at = ?1, reason = ?2 where done_at is null",
        params![now.as_millis(), reason],
    )?;
    if let Some(reason) = reason {
        // Nobody gave an order either, but for those that are known of.
        c.execute(
            "update recovery set orders_reason = ?1 where orders_lost = 0 and orders_unknown = 1 and orders_reason is null",
            [reason],
        )?;
    }
    Ok(())
}
