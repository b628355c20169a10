//! Payments that an earlier journal may have posted: they are asked about before they are posted.

use crate::domain::{BatchId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::PRESUMED_POSTED;
use crate::journal::sqlite::codec::lives::save_life;
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::operator::withdrawal;
use crate::journal::sqlite::payments::unstarted::begin_all;
use crate::journal::sqlite::run::lanes::open_all;
use crate::journal::sqlite::session::payments::subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::sqlite::verify::checks::edited;
use crate::ledger::HeldFor;
use crate::ledger::recovery::is_presumed;
use crate::lifecycle::{Policy, RecordedEvent, State, StepContext, fold};

/// What of a batch is presumed posted.
#[derive(Clone, Copy)]
pub(in crate::journal::sqlite) enum Reach {
    /// What is ready or cancelled, and was not presumed posted before.
    Unasked,
    /// What is ready: the journal missed a part of its own life.
    Ready,
    /// That, and what is cancelled: another journal was in its place, to which nobody was cancelled.
    Cancelled,
    /// That, and what the gateway had before our first post: by order alone, as it may be somebody else's.
    Taken,
}

/// Gives whatever is ready of a batch back to asking, as what was asked before was asked at the wrong account.
pub(in crate::journal::sqlite) fn ask_anew(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<u64, Error> {
    presume(c, batch_id, Reach::Ready, now)
}

/// Presumes posted whatever is ready of a batch; returns how many payments.
pub(in crate::journal::sqlite) fn presume(
    c: &WriteSession,
    batch_id: BatchId,
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
        Reach::Unasked => format!("l.state in (0, 7) {before}"),
        Reach::Ready => "l.state = 0".to_owned(),
        Reach::Cancelled => "l.state in (0, 7)".to_owned(),
        Reach::Taken => "(l.state in (0, 7) or l.known = 2 and l.state in (2, 8))".to_owned(),
    };
    presume_those(c, batch_id, &which, now)
}

/// Gives back to asking what may have left and was not found since: "not found" was heard in a reading that counts no more.
pub(in crate::journal::sqlite) fn ask_exposed(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<u64, Error> {
    c.flush()?;
    presume_those(c, batch_id, "l.state = 0 and l.exposures > 0", now)
}

fn presume_those(
    c: &WriteSession,
    batch_id: BatchId,
    which: &str,
    now: Timestamp,
) -> Result<u64, Error> {
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
            RecordedEvent::PresumedPosted,
            now,
            &Policy::default(),
        );
        // Asked about at once: if it was posted, that is long past.
        subject.moved.life.due_at = Some(Timestamp::from_millis(0));
        move_by(c, seq, subject, from, PRESUMED_POSTED, None, now)?;
        if from == State::Cancelled {
            // It stays a person's decision: what the gateway does not have is cancelled again.
            withdrawal::order(c, seq, StepContext { now, jitter: 0 })?;
        }
        Ok(true)
    })
}

/// Presumes posted what waits for its amount: its bill may have told it before, and then it was posted.
pub(in crate::journal::sqlite) fn presume_unpriced(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<(), Error> {
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

/// Does something with payments of a batch, a page at a time; returns how many it was done with.
pub(in crate::journal::sqlite) fn each(
    c: &WriteSession,
    batch_id: BatchId,
    sql: &str,
    mut work: impl FnMut(&WriteSession, PaymentId) -> Result<bool, Error>,
) -> Result<u64, Error> {
    let (mut after, mut done) = (PaymentId::NONE, 0);
    loop {
        let seqs: Vec<PaymentId> = c
            .prepare_cached(sql)?
            .query_map((batch_id, after, PAGE), |row| row.get(0))?
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

pub(in crate::journal::sqlite) fn move_by(
    c: &WriteSession,
    seq: PaymentId,
    subject: crate::journal::sqlite::session::subject::Subject,
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

/// Payments that are moved at a time.
pub(in crate::journal::sqlite) const PAGE: i64 = 1000;
