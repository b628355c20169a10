//! Payments that an earlier journal may have posted: they are asked about before they are posted.

use std::ops::ControlFlow;

use crate::domain::{BatchId, PaymentId, ResponseDetails, Timestamp};
use crate::journal::Error;
use crate::journal::codec::events::PRESUMED_POSTED;
use crate::journal::codec::lives::save_life;
use crate::journal::codec::values::TAKEN;
use crate::journal::evidence::chain::Evidence;
use crate::journal::operator::on_record;
use crate::journal::operator::pages::{PAGE, Pages, Standing};
use crate::journal::operator::withdrawal;
use crate::journal::payments::answered::{ReadBy, was_answered};
use crate::journal::payments::apply::apply;
use crate::journal::payments::unstarted::begin_all;
use crate::journal::run::lanes::open_all;
use crate::journal::session::expected::in_turn;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::verify::checks::edited;
use crate::ledger::HeldFor;
use crate::ledger::recovery::is_presumed;
use crate::lifecycle::{Event, Policy, RecordedEvent, State, StepContext, fold};
use crate::store::tables::{instruction, life};
use crate::store::{Read, Reads, Scan};

/// What of a batch is presumed posted.
#[derive(Clone, Copy)]
pub(in crate::journal) enum Reach {
    /// What is ready or cancelled, and was not presumed posted before.
    Unasked,
    /// What is ready: the journal missed a part of its own life.
    Ready,
    /// That, and what is cancelled: another journal was in its place, to which nobody was cancelled.
    Cancelled,
    /// That, and what the gateway had before our first post: by order alone, as it may be somebody else's.
    Taken,
}

impl Reach {
    /// In which states such payments may stand.
    fn states(self) -> &'static [State] {
        match self {
            Self::Ready => &[State::Ready],
            Self::Unasked | Self::Cancelled => &[State::Ready, State::Cancelled],
            Self::Taken => &[
                State::Ready,
                State::Cancelled,
                State::InDoubt,
                State::Conflict,
            ],
        }
    }

    /// Returns whether a payment in such a state is one of them.
    fn has(self, c: &dyn Read, life: &Standing) -> Result<bool, Error> {
        Ok(match self {
            Self::Ready | Self::Cancelled => true,
            Self::Unasked => !on_record::has(c, life.seq, PRESUMED_POSTED)?,
            Self::Taken => {
                matches!(life.state, State::Ready | State::Cancelled) || life.known == TAKEN
            }
        })
    }
}

/// Gives whatever is ready of a batch back to asking, as what was asked before was asked at the wrong account.
pub(in crate::journal) fn ask_anew(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<u64, Error> {
    presume(c, batch_id, Reach::Ready, now)
}

/// Presumes posted whatever is ready of a batch; returns how many payments.
pub(in crate::journal) fn presume(
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
    let fits = |life: &Standing| reach.has(c, life);
    presume_those(c, batch_id, (reach.states(), &fits), now)
}

/// Gives back to asking what was called not found, or not executed, in a reading that counts no more: what is ready or was cancelled, and may
/// have left or was answered.
pub(in crate::journal) fn ask_unexecuted(
    c: &WriteSession,
    batch_id: BatchId,
    by: ReadBy,
    now: Timestamp,
) -> Result<(), Error> {
    c.flush()?;
    let answered = |life: &Standing| {
        let was_posted = life.attempts > 0 && life.exposures == 0;
        Ok(was_posted && was_answered(c, life.seq, by)?)
    };
    let pages = Pages::of(c, batch_id, &[State::Ready])?;
    // What was edited in the file stays as it is: its claim compares it with its evidence, and tells.
    let edited = edited(c, batch_id)?;
    each(
        c,
        |after| pages.behind(c, after, &answered),
        |c, seq| match edited.contains(&seq) {
            true => Ok(false),
            false => doubt(c, seq, now),
        },
    )?;
    let rests_on_it = |life: &Standing| {
        Ok(life.exposures > 0 || life.state == State::Cancelled && answered(life)?)
    };
    let states = &[State::Ready, State::Cancelled];
    presume_those(c, batch_id, (states, &rests_on_it), now).map(drop)
}

/// Takes a post for one whose reply was lost.
fn doubt(c: &WriteSession, seq: PaymentId, now: Timestamp) -> Result<bool, Error> {
    let mut subject = subject(c, seq)?;
    let from = subject.moved.from;
    let said = ResponseDetails {
        anomaly: Some("what its post was answered with is read in another way now".to_owned()),
        ..ResponseDetails::default()
    };
    let moment = StepContext { now, jitter: 0 };
    apply(
        c,
        &mut subject,
        Event::Lost,
        &said,
        moment,
        &Policy::default(),
    )?;
    c.moved(&subject, from)?;
    Ok(true)
}

/// Which payments: the states that they stand at, and what else has to be so.
type Which<'a> = (&'a [State], &'a dyn Fn(&Standing) -> Result<bool, Error>);

fn presume_those(
    c: &WriteSession,
    batch_id: BatchId,
    (states, fits): Which<'_>,
    now: Timestamp,
) -> Result<u64, Error> {
    let pages = Pages::of(c, batch_id, states)?;
    let next = |after| pages.behind(c, after, fits);
    // What was edited in the file stays as it is: its claim compares it with its evidence, and tells.
    let edited = edited(c, batch_id)?;
    each(c, next, |c, seq| {
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
pub(in crate::journal) fn presume_unpriced(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<(), Error> {
    let next = |after| unpriced_behind(c, batch_id, after);
    each(c, next, |c, seq| {
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

/// Returns the next rows of a batch that wait for their amounts, and were not presumed posted: no more than a page.
fn unpriced_behind(
    c: &dyn Read,
    batch_id: BatchId,
    after: PaymentId,
) -> Result<Vec<PaymentId>, Error> {
    let rows = Scan::by(&instruction::unpriced).at(&batch_id).after(&after);
    let mut page = Vec::new();
    c.each_row(&rows, &[instruction::seq], |row| {
        let seq = row.get(0)?;
        let has_ended = c.any(&Scan::of(&life::TABLE).at(&seq))?;
        if !has_ended && !on_record::has(c, seq, PRESUMED_POSTED)? {
            page.push(seq);
        }
        Ok::<_, Error>(match page.len() < PAGE {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(page)
}

/// Does something with payments, a page at a time: `next` returns those behind one. Returns how many it was done with.
pub(in crate::journal) fn each(
    c: &WriteSession,
    next: impl Fn(PaymentId) -> Result<Vec<PaymentId>, Error>,
    mut work: impl FnMut(&WriteSession, PaymentId) -> Result<bool, Error>,
) -> Result<u64, Error> {
    let (mut after, mut done) = (PaymentId::NONE, 0);
    loop {
        let seqs = next(after)?;
        let Some(last) = seqs.last() else {
            return Ok(done);
        };
        after = *last;
        for seq in in_turn(&**c, &seqs) {
            done += u64::from(work(c, seq?)?);
        }
    }
}

pub(in crate::journal) fn move_by(
    c: &WriteSession,
    seq: PaymentId,
    subject: crate::journal::session::subject::Subject,
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
