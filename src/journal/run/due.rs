//! When a run has something to do next.

use std::ops::ControlFlow;

use super::open_lanes::{OpenLane, counted, is_signed, open_lanes};
use super::posting_terms::{PostingTerms, waiting_in_lane, waits_for_document, waits_for_word};
use super::restart::ASKED_ABOUT;
use super::restart::bring_back;
use crate::domain::{BatchId, LaneId, PaymentId, Timestamp};
use crate::journal::codec::values::{NEVER, stamp};
use crate::journal::limits::waiting::is_full;
use crate::journal::payments::unstarted::has_fresh;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Due, Error, RunToken};
use crate::ledger::calendar::Gate;
use crate::ledger::confirmation::Bound;
use crate::ledger::schedule::may_leave;
use crate::lifecycle::State;
use crate::store::tables::{inquiry, life, limited};
use crate::store::{Read, Reads, Scan};

/// So many payments of a lane that are due first are looked at for one that does not wait for the time that its row names.
// Beyond them such a one is due later than all of these.
const NEXT_MAX: usize = 1_000;

/// When the next payments of a lane may be posted.
#[derive(Default)]
struct NextPost {
    at: Option<Timestamp>,
    /// Of those that wait for the time of their rows.
    scheduled: Option<Timestamp>,
    /// Of those that wait for a limit.
    limited: Option<Timestamp>,
}

/// Returns when the next payments of a lane may be posted.
fn next_post(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    confirmed: Bound,
    now: Timestamp,
) -> Result<NextPost, Error> {
    let mut next = NextPost::default();
    let mut looked_at = 0;
    let waiting = waiting_in_lane(&batch_id, &lane);
    c.each_row(&waiting, &[life::seq, life::due_at], |row| {
        let (seq, due_at): (PaymentId, i64) = (row.get(0)?, row.get(1)?);
        if !confirmed.covers(seq, None) {
            return Ok(ControlFlow::Continue(()));
        }
        let Some(terms) = PostingTerms::of(c, seq)? else {
            return Ok(ControlFlow::Continue(()));
        };
        if !terms.are_covered(c, confirmed)? || !terms.document_is_there(c)? {
            return Ok(ControlFlow::Continue(()));
        }
        looked_at += 1;
        // What is due and names a later time, or is over a limit, is put off by the claim that meets it.
        let is_later = due_at > now.as_millis();
        let waits = is_later && !may_leave(stamp(terms.not_before), now);
        let limited = match is_later {
            true => limited_until(c, batch_id, seq)?,
            false => None,
        };
        match (limited, stamp(terms.not_before.filter(|_| waits))) {
            (Some(at), _) => next.limited = earlier(next.limited, Some(at)),
            (None, Some(at)) => next.scheduled = earlier(next.scheduled, Some(at)),
            (None, None) => {
                next.at = stamp(Some(due_at));
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok::<_, Error>(match looked_at < NEXT_MAX {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(next)
}

/// Returns until when a limit keeps a payment from leaving.
fn limited_until(
    c: &dyn Read,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<Option<Timestamp>, Error> {
    let own = Scan::of(&limited::TABLE).at(&batch_id).at(&seq);
    Ok(c.value(&own, limited::until)?)
}

pub(super) fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    [a, b].into_iter().flatten().min()
}

/// Returns when the next post and the next question are due.
pub(in crate::journal) fn due(
    c: &WriteSession,
    token: RunToken,
    now: Timestamp,
) -> Result<Due, Error> {
    bring_back(c, token.batch_id, now)?;
    expect_due(c, token.batch_id)?;
    let mut due = Due::default();
    for open in open_lanes(c, token.batch_id, now)? {
        match open.gate {
            _ if !is_signed(token, open.dates) => due.unapproved = true,
            Gate::Open(_) if is_full(c, token, open.id)? => due.exposed = true,
            Gate::Open(_) => due_in_lane(c, token, &open, now, &mut due)?,
            Gate::Shut(at) => due.scheduled = earlier(due.scheduled, Some(at)),
            Gate::Over => due.over = true,
        }
    }
    due.ask = stamp(next_question(c, token.batch_id)?);
    Ok(due)
}

/// Tells the store what is looked at in any case: what the transaction has written goes before.
fn expect_due(c: &WriteSession, batch_id: BatchId) -> Result<(), Error> {
    if !c.is_shared() {
        return Ok(());
    }
    c.write_tallies()?;
    let mut wanted = vec![counted(&batch_id, &State::Ready), inquiries(&batch_id)];
    wanted.extend(ASKED_ABOUT.iter().map(|state| asked_of(&batch_id, state)));
    Ok(c.expect(&wanted)?)
}

/// Looks when the next post of a lane is due that is open, and what its others wait for.
fn due_in_lane(
    c: &WriteSession,
    token: RunToken,
    open: &OpenLane,
    now: Timestamp,
    due: &mut Due,
) -> Result<(), Error> {
    let lane = open.id;
    if has_fresh(c, token.batch_id, lane, token.confirmed.instruction)? {
        due.post = Some(Timestamp::from_millis(0));
        return Ok(());
    }
    let next = next_post(c, (token.batch_id, lane), token.confirmed, now)?;
    if let Some(later) = next.scheduled {
        let at = open.leaves_at(c, token.batch_id, later);
        due.over |= at.is_none();
        due.scheduled = earlier(due.scheduled, at);
    }
    due.limited = earlier(due.limited, next.limited);
    due.post = earlier(due.post, next.at);
    if next.at.is_some() {
        return Ok(());
    }
    let of_lane = (token.batch_id, lane);
    due.document |= waits_for_document(c, of_lane, token.confirmed)?;
    let for_word = waits_for_word(c, of_lane, token.confirmed)?;
    let beyond = has_fresh(c, token.batch_id, lane, PaymentId::AFTER_ALL)?;
    due.unconfirmed |= for_word || beyond;
    due.unapproved |= (for_word || beyond) && waits_for_signatures(c, token, lane)?;
    Ok(())
}

/// Payments in a state that are asked about, the first one.
fn asked_of<'s>(batch_id: &'s BatchId, state: &'s State) -> Scan<'s> {
    Scan::by(&life::ask_queue)
        .at(batch_id)
        .at(state)
        .before(&NEVER)
        .limit(1)
}

/// Payments that have ended, and are asked about all the same, the first one.
fn inquiries(batch_id: &BatchId) -> Scan<'_> {
    Scan::by(&inquiry::inquiry_queue)
        .at(batch_id)
        .before(&NEVER)
        .limit(1)
}

/// Returns when the next question of a batch is due.
fn next_question(c: &WriteSession, batch_id: BatchId) -> Result<Option<i64>, Error> {
    let mut ask = c.waits(batch_id, |waits| waits.next()).flatten();
    for state in ASKED_ABOUT {
        let found: Option<i64> = c.value(&asked_of(&batch_id, &state), life::due_at)?;
        ask = [ask, found].into_iter().flatten().min();
    }
    let inquiry: Option<i64> = c.value(&inquiries(&batch_id), inquiry::due_at)?;
    ask = [ask, inquiry].into_iter().flatten().min();
    Ok(ask)
}

/// Returns whether a payment of a lane, of which nothing may be posted, is beyond what was signed for.
fn waits_for_signatures(c: &WriteSession, token: RunToken, lane: LaneId) -> Result<bool, Error> {
    let instruction = token.approved.instruction;
    if token.approved == Bound::EVERYTHING {
        return Ok(false);
    }
    Ok(waits_for_word(c, (token.batch_id, lane), token.approved)?
        || !has_fresh(c, token.batch_id, lane, instruction)?
            && has_fresh(c, token.batch_id, lane, PaymentId::AFTER_ALL)?)
}
