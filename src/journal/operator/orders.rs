//! What an operator may order.

use serde_json::{Value, json};

use super::names::rows_named;
use super::pages::Pages;
use super::recorded::{acted_on, assert_as_recorded, stood, worth};
use super::retriable::not_allowed;
use super::retriable::why_not;
use super::retry::replace;
use super::withdrawal::{self, is_unsent, is_withdrawable};
use crate::domain::{BatchId, BatchName, LaneId, PaymentId, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::{id_of, known_batch, scheme_in_use};
use crate::journal::codec::values::{batch_id, corrupt, service_of};
use crate::journal::limits::failures::opened;
use crate::journal::payments::event::write_event;
use crate::journal::payments::generations;
use crate::journal::payments::inquiries::is_open_to_decision;
use crate::journal::payments::shown::note_open;
use crate::journal::payments::unstarted::begin_all;
use crate::journal::preflight::unpriced::{withdraw, withdraw_all, without_amount};
use crate::journal::recovery::lost_orders::Touched;
use crate::journal::session::expected::{expect, in_turn};
use crate::journal::session::members::{of_row, states};
use crate::journal::session::payments::subject;
use crate::journal::session::subject::Subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Cancelled, Decision, Error, Lane, Transition};
use crate::ledger::HeldFor;
use crate::ledger::generations::may_be_retried;
use crate::ledger::names::PaymentName;
use crate::lifecycle::{Event, Policy, State, StepContext, step};
use crate::store::tables::{held_lane, life, service};
use crate::store::{Read, Reads, Scan, Writes, shape};

impl Journal {
    /// Opens a held lane by the name of its service; `None` when it was not held.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn resume_lane(
        &self,
        batch: BatchName,
        service: String,
        now: Timestamp,
    ) -> Result<Option<Lane>, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            resume_lane(c, &batch, &service, c.time(now)?)
        })
        .await
    }

    /// Records an operator's decision about a payment.
    ///
    /// # Errors
    /// [`Error::UnknownPayment`], [`Error::TwoPayments`], [`Error::NotAllowed`].
    pub async fn decide(
        &self,
        batch: BatchName,
        id: PaymentName,
        decision: Decision,
        moment: StepContext,
    ) -> Result<Transition, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            decide(c, &batch, &id, &decision, c.moment(moment)?)
        })
        .await
    }

    /// Withdraws one payment, or every payment of the batch that was never posted; returns how many. None: an earlier journal
    /// may have posted it, and it is withdrawn once the gateway does not know it.
    ///
    /// # Errors
    /// [`Error::UnknownPayment`], [`Error::TwoPayments`], [`Error::NotAllowed`].
    pub async fn cancel(
        &self,
        batch: BatchName,
        id: Option<PaymentName>,
        moment: StepContext,
    ) -> Result<u64, Error> {
        self.cancel_because(batch, id, None, moment).await
    }

    /// The same with the reason, which is kept as evidence.
    ///
    /// # Errors
    /// As [`Journal::cancel`].
    pub async fn cancel_because(
        &self,
        batch: BatchName,
        id: Option<PaymentName>,
        reason: Option<String>,
        moment: StepContext,
    ) -> Result<u64, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            let moment = c.moment(moment)?;
            cancel(c, &batch, id.as_ref(), reason.as_deref(), moment)
        })
        .await
    }
}

/// Finds the payment that a person names; of several generations the newest.
fn find_in(c: &dyn Read, batch: &BatchName, name: &PaymentName) -> Result<PaymentId, Error> {
    let rows = rows_named(c, (batch, known_batch(c, batch)?), name)?;
    Ok(rows[0])
}

/// Records an operator's decision.
pub(in crate::journal) fn decide(
    c: &WriteSession,
    batch: &BatchName,
    id: &PaymentName,
    decision: &Decision,
    moment: StepContext,
) -> Result<Transition, Error> {
    let seq = find_in(c, batch, id)?;
    refuse_without_amount(c, seq)?;
    let event = if decision.paid {
        Event::DecidedPaid
    } else {
        Event::DecidedFailed
    };
    let detail = json!({"reason": decision.reason, "evidence": decision.evidence}).to_string();
    let moved = order(c, seq, event, Some(&detail), moment)?;
    let what = if decision.paid { "paid" } else { "failed" };
    let stood = stood(&moved);
    acted_on(c, seq, ("resolve", what), (None, stood), moment)?;
    Ok(moved)
}

/// Refuses a decision about a row without an amount.
pub(in crate::journal) fn refuse_without_amount(c: &dyn Read, seq: PaymentId) -> Result<(), Error> {
    let why = "it has no amount, so it was never posted: cancel it instead";
    match without_amount(c, seq)? {
        Some(state) => Err(not_allowed(c, seq, state, why)?),
        None => Ok(()),
    }
}

/// Carries out what a person orders about a payment, if its state allows it.
pub(in crate::journal) fn order(
    c: &WriteSession,
    seq: PaymentId,
    event: Event,
    detail: Option<&str>,
    moment: StepContext,
) -> Result<Transition, Error> {
    let mut subject = subject(c, seq)?;
    assert_as_recorded(c, (subject.batch_id, subject.moved.lane), seq)?;
    c.mark(subject.batch_id);
    let from = subject.moved.from;
    let failed_before = from == State::Failed
        && matches!(event, Event::DecidedPaid | Event::DecidedFailed)
        && is_open_to_decision(c, seq)?;
    if failed_before && event == Event::DecidedPaid {
        carry_out(c, &mut subject, Event::Reopened, None, true, moment)?;
    }
    carry_out(c, &mut subject, event, detail, failed_before, moment)?;
    subject.moved.from = from;
    generations::settle(c, &mut subject, moment, None)?;
    Ok(subject.moved)
}

/// What became of a payment that a statement shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) enum Noted {
    /// It was not paid here: it is in conflict from now on.
    Held,
    /// It is open here: the statement's word stands beside whatever the gateway says of it.
    Open,
    /// Nothing: it ended, or that was on record.
    Nothing,
}

/// Puts on record that the money of a payment has left by a statement, by where that stands now.
pub(in crate::journal) fn note_shown(
    c: &WriteSession,
    seq: PaymentId,
    detail: &str,
    moment: StepContext,
) -> Result<Noted, Error> {
    let now = subject(c, seq)?;
    if hold(c, seq, detail, moment)? {
        return Ok(Noted::Held);
    }
    c.mark(now.batch_id);
    Ok(match note_open(c, &now, detail, moment)? {
        true => Noted::Open,
        false => Noted::Nothing,
    })
}

/// Brings a payment into conflict that is not paid here, and that a statement shows paid; returns whether it did.
fn hold(
    c: &WriteSession,
    seq: PaymentId,
    detail: &str,
    moment: StepContext,
) -> Result<bool, Error> {
    let mut subject = subject(c, seq)?;
    let life = &subject.moved.life;
    let after = step(life, Event::ShownPaid, moment, &Policy::default());
    if after.life.state == life.state {
        return Ok(false);
    }
    assert_as_recorded(c, (subject.batch_id, subject.moved.lane), seq)?;
    c.mark(subject.batch_id);
    carry_out(
        c,
        &mut subject,
        Event::ShownPaid,
        Some(detail),
        true,
        moment,
    )?;
    generations::settle(c, &mut subject, moment, None)?;
    Ok(true)
}

/// Moves a payment by one order; `open`: what it failed of is open to a decision.
fn carry_out(
    c: &WriteSession,
    subject: &mut Subject,
    event: Event,
    detail: Option<&str>,
    open: bool,
    moment: StepContext,
) -> Result<(), Error> {
    let (seq, from) = (subject.moved.seq, subject.moved.life.state);
    // An order rests on the state alone: no wait of the policy enters into it.
    let after = step(&subject.moved.life, event, moment, &Policy::default());
    if !open && (after.anomaly.is_some() || after.life.state == from) {
        let why = match (event, from, subject.moved.life.attempts) {
            (Event::Withdrawn, State::InDoubt, 0) => {
                "the gateway knows it, so an earlier journal has posted it: let `disburse run` wait for its end"
            }
            (Event::Withdrawn, State::Ready, 1..) => {
                "it was posted once: `disburse resolve --failed` asks the gateway, and keeps it from being posted again"
            }
            _ => why_not(event, from),
        };
        return Err(not_allowed(c, seq, from.name(), why)?);
    }
    write_event(c, subject, after.life, event, detail, moment.now)?;
    c.moved(subject, from)
}

/// Withdraws what was never posted.
pub(in crate::journal) fn cancel(
    c: &WriteSession,
    batch: &BatchName,
    id: Option<&PaymentName>,
    reason: Option<&str>,
    moment: StepContext,
) -> Result<u64, Error> {
    if let Some(id) = id {
        let seq = find_in(c, batch, id)?;
        match without_amount(c, seq)? {
            Some("unpriced") => withdraw(c, seq, moment)?,
            Some(state) => {
                let why = why_not(Event::Withdrawn, State::Cancelled);
                return Err(not_allowed(c, seq, state, why)?);
            }
            // Of what may have been posted the gateway is asked first.
            None if withdrawal::order(c, seq, moment)? => {
                acted_on(c, seq, ("cancel", ""), (reason, String::new()), moment)?;
                return Ok(0);
            }
            None if is_open_failure(c, seq)? => {
                let closed = close(c, batch, seq, moment)?;
                acted_on(c, seq, ("cancel", ""), (reason, String::new()), moment)?;
                return Ok(u64::from(closed));
            }
            None => {
                order(c, seq, Event::Withdrawn, None, moment)?;
            }
        }
        acted_on(c, seq, ("cancel", ""), (reason, String::new()), moment)?;
        return Ok(1);
    }
    Ok(cancel_all(c, batch, reason, moment)?.withdrawn)
}

fn is_open_failure(c: &WriteSession, seq: PaymentId) -> Result<bool, Error> {
    let members = of_row(c, seq)?;
    let is_newest = members.last().is_some_and(|newest| newest.seq == seq);
    Ok(is_newest && may_be_retried(&states(&members)))
}

shape! {
    /// The lane that a payment is in.
    struct InLane of life { batch_id: BatchId, service_id: LaneId }
}
shape! {
    /// Why a lane is held, and since when.
    struct Held of held_lane { reason: HeldFor, held_at: Timestamp }
}

/// Closes a proven failure that shall not be paid: its next generation is made and withdrawn in one, so that all that holds for a
/// retry that a person withdrew holds for it. Returns whether it is withdrawn; if not, the gateway is asked first.
fn close(
    c: &WriteSession,
    batch: &BatchName,
    seq: PaymentId,
    moment: StepContext,
) -> Result<bool, Error> {
    let place: Option<InLane> = c.first(&Scan::of(&life::TABLE).at(&seq))?;
    let place = place.ok_or_else(|| corrupt(format!("payment {seq} has no state")))?;
    let (batch_id, lane) = (place.batch_id, place.service_id);
    assert_as_recorded(c, (batch_id, lane), seq)?;
    c.mark(batch_id);
    let new = replace(
        c,
        &scheme_in_use(c, batch_id, batch)?,
        batch_id,
        seq,
        moment.now,
    )?;
    if withdrawal::order(c, new, moment)? {
        return Ok(false);
    }
    order(c, new, Event::Withdrawn, None, moment)?;
    Ok(true)
}

/// Withdraws what was never posted of a whole batch, and orders the same of what an earlier journal may have posted.
pub(in crate::journal) fn cancel_all(
    c: &WriteSession,
    batch: &BatchName,
    reason: Option<&str>,
    moment: StepContext,
) -> Result<Cancelled, Error> {
    let batch_number = known_batch(c, batch)?;
    c.mark(batch_number);
    let mut touched = Touched::default();
    let mut done = Cancelled {
        withdrawn: withdraw_all(c, batch_number, moment, touched.signed())?,
        ordered: 0,
    };
    begin_all(c, batch_number)?;
    for (state, is_order) in [(State::Ready, false), (State::InDoubt, true)] {
        let states = [state];
        let pages = Pages::of(c, batch_number, &states)?;
        let mut after = PaymentId::NONE;
        loop {
            c.flush()?;
            let seqs = pages.behind(c, after, |life| match is_order {
                true => is_withdrawable(c, life),
                false => Ok(is_unsent(life)),
            })?;
            let Some(last) = seqs.last() else { break };
            after = *last;
            expect(c, seqs.iter().copied())?;
            for seq in in_turn(&**c, &seqs) {
                let seq = seq?;
                if is_order {
                    if withdrawal::order(c, seq, moment)? {
                        done.ordered += 1;
                        touched.signed().add(id_of(c, seq)?.as_str());
                        worth(c, seq, touched.signed())?;
                    }
                } else {
                    order(c, seq, Event::Withdrawn, None, moment)?;
                    done.withdrawn += 1;
                    touched.signed().add(id_of(c, seq)?.as_str());
                    worth(c, seq, touched.signed())?;
                }
            }
        }
    }
    if done != Cancelled::default() {
        let place = (batch_number, moment.now);
        c.act_upon(place, "cancel", Value::Null, &touched, reason)?;
    }
    Ok(done)
}

/// Opens a held lane by the name of its service.
pub(in crate::journal) fn resume_lane(
    c: &WriteSession,
    batch: &BatchName,
    service: &str,
    now: Timestamp,
) -> Result<Option<Lane>, Error> {
    let Some(batch_number) = batch_id(c, batch.as_str())? else {
        return Err(Error::UnknownBatch {
            name: batch.to_string(),
        });
    };
    let coded = Scan::by(&service::by_code).at(&service);
    let Some(id) = c.value::<LaneId>(&coded, service::service_id)? else {
        return Ok(None);
    };
    let lane = Scan::of(&held_lane::TABLE).at(&batch_number).at(&id);
    let Some(held) = c.first::<Held>(&lane)? else {
        return Ok(None);
    };
    c.remove(&lane)?;
    let about = Value::from(service);
    let mut touched = Touched::about(&about);
    touched
        .signed()
        .tell(format!("held since {}", held.held_at));
    c.act_upon((batch_number, now), "resume-lane", about, &touched, None)?;
    if held.reason == HeldFor::Failures {
        opened(c, batch_number, id)?;
    }
    Ok(Some(Lane {
        id,
        service: service_of(service)?,
        held_for: held.reason,
    }))
}
