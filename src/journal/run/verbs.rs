//! The verbs of a run: take the batch, claim, ask, hold lanes.

use std::ops::ControlFlow;

use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;

use super::claim_started::claim_lane;
use super::claim_unstarted::claim_fresh;
use super::confirmed;
use super::dates::dates;
use super::expected;
use super::lanes::held_lanes;
use super::pin::pin;
use super::posting_terms::{PostingTerms, waiting_in_lane, waits_for_document, waits_for_word};
use super::question::{question, question_about};
use super::rest::{What, disturb, last};
use super::restart::ASKED_ABOUT;
use super::restart::{ask_given_up, bring_back, doubt_anew, restart_waits};
use super::{session_claims, sessions};
use crate::domain::{
    BatchId, BatchName, Epoch, LaneId, PaymentId, ResponseDetails, ServiceCode, Timestamp,
};
use crate::journal::approval::standing::approvals;
use crate::journal::codec::catalog::{epoch, known_batch};
use crate::journal::codec::facts::{fact, note, note_new};
use crate::journal::codec::values::{NEVER, corrupt, stamp};
use crate::journal::limits::failures::stops;
use crate::journal::limits::in_force;
use crate::journal::limits::sift::begin_claim;
use crate::journal::limits::waiting::is_full;
use crate::journal::payments::apply::apply;
use crate::journal::payments::ask_stale;
use crate::journal::payments::generations;
use crate::journal::payments::unstarted::has_fresh;
use crate::journal::recovery::given_orders::lost_orders;
use crate::journal::recovery::on_chain;
use crate::journal::session::deferred_queries::DeferredQueries;
use crate::journal::session::fence::assert_current;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::session::watched_clock::WatchedClock;
use crate::journal::{Acquired, Claim, Clearance, Due, Error, Halt, Question, RunTerms, RunToken};
use crate::ledger::Purpose;
use crate::ledger::calendar::{BatchDates, Gate};
use crate::ledger::confirmation::{Bound, Confirmation};
use crate::ledger::recovery::{OrdersLost, held_back};
use crate::ledger::schedule::may_leave;
use crate::lifecycle::{Event, Policy, State, StepContext};
use crate::store::tables::{batch, held_lane, inquiry, life, limited, service, tally};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

/// Takes a batch for a run.
pub(in crate::journal) fn acquire(
    c: &WriteSession,
    batch: &BatchName,
    terms: &RunTerms,
    policy: &Policy,
) -> Result<Acquired, Error> {
    c.mark(known_batch(c, batch)?);
    let told = terms.now;
    let terms = &RunTerms {
        now: c.time(terms.now)?,
        ..terms.clone()
    };
    let (batch_id, last_claim_at) = pin(c, batch, &terms.home, terms.now)?;
    on_chain::assert_may_leave(c, batch_id)?;
    let lost = match Purpose::of_gateway(&terms.home.gateway) {
        // It moves nothing.
        Purpose::Rehearsal => OrdersLost::default(),
        Purpose::Gateway | Purpose::Unknown => lost_orders(c)?,
    };
    let confirmation = Confirmation {
        bound: held_back(terms.confirmation.bound, lost),
        ..terms.confirmation.clone()
    };
    let approved = approved(c, batch_id, terms)?;
    let token = RunToken {
        batch_id,
        epoch: planted!(journal::session_number(next_epoch(c)?, &**c, batch_id)),
        confirmed: confirmation.bound.least(approved),
        approved,
        dates: dates(c, batch_id)?,
    };
    c.mark_epoch(token.epoch);
    let expired = match c.is_shared() {
        true => {
            let closed = sessions::close_expired(c, batch_id, policy)?;
            sessions::begin(c, (batch_id, token.epoch), &terms.runner, policy)?;
            c.watch_clock(token.epoch, WatchedClock::begin(told, terms.now, policy));
            closed
        }
        false => 0,
    };
    confirmed::record(c, batch_id, &confirmation, terms.now)?;
    c.begin_run(batch_id, confirmation.allowance(), &terms.calendar);
    #[cfg(test)]
    crate::journal::writer::simulated::acquiring();
    let is_open = is_open(c, batch_id)?;
    if is_open {
        c.acted(batch_id, terms.now, "run", Value::Null)?;
    }
    in_force::begin(c, batch_id, terms.limits.as_ref(), is_open, terms.now)?;
    let is_alone = !c.is_shared() || !sessions::are_others(c, token)?;
    let mut abandoned = expired;
    let confirmed = planted!(journal::confirmed_beside(token.confirmed, is_alone));
    let token = RunToken { confirmed, ..token };
    // What other runs have under way, and what they wait for, is theirs.
    if is_alone {
        doubt_anew(c, batch_id, terms.now, policy)?;
        abandoned += abandon(c, batch_id, terms.now, policy)?;
        restart_waits(c, batch_id, terms, policy)?;
    } else {
        c.forget_recent();
        ask_given_up(&**c, batch_id, terms.reach(), policy)?;
    }
    ask_stale::ask_all_again(c, batch_id, terms.now, policy)?;
    generations::settle_all(c, batch_id, terms.now, policy)?;
    // Where several runs ask, each of them finds all that is to be asked in the queue.
    if !c.is_shared() {
        c.begin_waits(batch_id, first_questions(c, batch_id, terms)?);
    }
    Ok(Acquired {
        token,
        last_claim_at: stamp(last_claim_at),
        last_post: last(c, batch_id, What::Posts)?,
        last_question: last(c, batch_id, What::Questions)?,
        abandoned,
        held: held_lanes(c, batch_id)?,
    })
}

/// Counts one more run.
fn next_epoch(c: &dyn Write) -> Result<Epoch, Error> {
    let next = Epoch::new(epoch(c)?.get() + 1);
    note(c, "epoch", &next)?;
    Ok(next)
}

/// Returns how far the signatures of a batch reach; over everything where no rule asks for any.
fn approved(c: &WriteSession, batch_id: BatchId, terms: &RunTerms) -> Result<Bound, Error> {
    planted_instead!(journal::approved());
    c.flush()?;
    let found = approvals(
        c,
        batch_id,
        terms.approval.clone(),
        Some(&terms.home.target()),
    )?;
    Ok(found.bound.unwrap_or(Bound::EVERYTHING))
}

/// The states in which payments have ended.
const ENDED: [i64; 4] = [5, 6, 7, 8];

/// Returns whether a run has anything to do: one that finds all ended leaves no trace, so that its report is the same again.
fn is_open(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let counted = Scan::of(&tally::TABLE)
        .at(&batch_id)
        .only(tally::count, Test::at_least(&1_i64));
    // By their numbers: rows without an amount are counted under one that is no state of a life.
    let states: Vec<i64> = c.values(&counted, tally::state)?;
    Ok(states.iter().any(|state| !ENDED.contains(state))
        || c.any(&Scan::by(&inquiry::inquiry_queue).at(&batch_id))?)
}

/// What a batch has in a state.
fn counted<'a>(batch_id: &'a BatchId, state: &'a State) -> Scan<'a> {
    Scan::of(&tally::TABLE)
        .at(batch_id)
        .only(tally::state, Test::is(state))
        .only(tally::count, Test::at_least(&1_i64))
}

/// Turns intents without an outcome into doubts: their bytes may have left.
// Found by a look at every life: few payments are under way at a time, and only a run that broke off leaves some.
pub(in crate::journal) fn abandon(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
    policy: &Policy,
) -> Result<u64, Error> {
    c.write_tallies()?;
    if !c.any(&counted(&batch_id, &State::Posting))? {
        return Ok(0);
    }
    let under_way = Scan::of(&life::TABLE)
        .only(life::batch_id, Test::is(&batch_id))
        .only(life::state, Test::is(&State::Posting));
    let seqs: Vec<PaymentId> = c.values(&under_way, life::seq)?;
    for seq in &seqs {
        let mut subject = subject(c, *seq)?;
        let moment = StepContext { now, jitter: 0 };
        apply(
            c,
            &mut subject,
            Event::Abandoned,
            &ResponseDetails::default(),
            moment,
            policy,
        )?;
        c.moved(&subject, State::Posting)?;
        generations::settle(c, &mut subject, moment, Some(policy))?;
    }
    Ok(seqs.len() as u64)
}

/// The same for a run: of what it has claimed itself where others may be under way, and of runs that are not heard of any more.
pub(in crate::journal) fn abandon_own(
    c: &WriteSession,
    token: RunToken,
    now: Timestamp,
    policy: &Policy,
) -> Result<u64, Error> {
    assert_current(c, token)?;
    if !c.is_shared() {
        return abandon(c, token.batch_id, now, policy);
    }
    let own = sessions::abandon(c, token, policy)?;
    Ok(own + sessions::close_expired(c, token.batch_id, policy)?)
}

/// A lane of a batch that is not held and has something ready.
struct OpenLane {
    id: LaneId,
    service: ServiceCode,
    /// The dates of its batch.
    dates: BatchDates,
    /// Whether that may leave, by these dates and the hours of the service.
    gate: Gate,
}

impl OpenLane {
    /// Returns when what may leave at a time by itself may leave by dates and hours as well; `None`: never.
    fn leaves_at(&self, c: &WriteSession, batch_id: BatchId, at: Timestamp) -> Option<Timestamp> {
        match c.gate((batch_id, self.dates), &self.service, at) {
            Gate::Open(_) => Some(at),
            Gate::Shut(later) => Some(later),
            Gate::Over => None,
        }
    }
}

/// Lanes of a batch that are not held and have something ready, each with whether that may leave by the dates of the batch and the
/// hours of the service.
fn open_lanes(c: &WriteSession, batch_id: BatchId, now: Timestamp) -> Result<Vec<OpenLane>, Error> {
    c.write_tallies()?;
    let dates = dates(c, batch_id)?;
    // One that has several currencies is counted in each.
    let mut ids: Vec<LaneId> = c.values(&counted(&batch_id, &State::Ready), tally::service_id)?;
    ids.dedup();
    let mut lanes = Vec::new();
    for id in ids {
        if c.any(&Scan::of(&held_lane::TABLE).at(&batch_id).at(&id))? {
            continue;
        }
        let named = Scan::of(&service::TABLE).at(&id);
        let Some(service) = c.value::<ServiceCode>(&named, service::code)? else {
            continue;
        };
        lanes.push(OpenLane {
            id,
            gate: c.gate((batch_id, dates), &service, now),
            service,
            dates,
        });
    }
    Ok(lanes)
}

/// Records the intent to post a block of payments; says, too, why nothing more may be claimed, where that is so.
pub(in crate::journal) fn claim(
    c: &WriteSession,
    token: RunToken,
    limit: usize,
    now: Timestamp,
    policy: &Policy,
) -> Result<(Vec<Claim>, Option<Halt>), Error> {
    assert_current(c, token)?;
    on_chain::assert_may_leave(c, token.batch_id)?;
    c.mark(token.batch_id);
    if c.is_shared() {
        sessions::close_expired(c, token.batch_id, policy)?;
        session_claims::forget_done(c, token)?;
    }
    if !begin_claim(c, token.batch_id)? {
        // What was paid before is still being counted: the run comes back for the rest.
        return Ok((Vec::new(), None));
    }
    let mut claims = Vec::with_capacity(limit);
    let mut halt = None;
    let mut lanes = open_lanes(c, token.batch_id, now)?;
    lanes.retain(|lane| is_signed(token, lane.dates));
    lanes.retain(|lane| matches!(lane.gate, Gate::Open(_)));
    for (index, OpenLane { id: lane, gate, .. }) in lanes.iter().enumerate() {
        // Every lane gets its share of the block; what one leaves, the next may take.
        let share = (limit - claims.len()).div_ceil(lanes.len() - index);
        let lane = (token.batch_id, *lane);
        if stops(c, lane, now)? {
            continue;
        }
        expected::expect_claim(c, lane, token.confirmed, share, now)?;
        let before = claims.len();
        halt = claim_lane(c, lane, token.confirmed, share, now, policy, &mut claims)?;
        if halt.is_some() {
            session_claims::note(c, token, lane.1, (&claims[before..], &[]))?;
            break;
        }
        let started = claims.len();
        let share = share - (started - before);
        if share > 0 && !is_full(c, token, lane.1)? {
            halt = claim_fresh(c, lane, token.confirmed, share, now, policy, &mut claims)?;
        }
        let (singles, together) = claims[before..].split_at(started - before);
        session_claims::note(c, token, lane.1, (singles, together))?;
        if let Gate::Open(leave_by) = *gate {
            for claim in &mut claims[before..] {
                claim.leave_by = leave_by;
            }
        }
        if halt.is_some() {
            break;
        }
    }
    if !claims.is_empty() {
        disturb(c, token.batch_id, What::Posts)?;
        let own = Scan::of(&batch::TABLE).at(&token.batch_id);
        c.set(&own, batch::last_claim_at, &now)?;
    }
    Ok((claims, halt))
}

/// Says of claims, just before they leave, whether they still may: evidence from elsewhere may have settled them, or paid an
/// earlier generation of their rows.
pub(in crate::journal) fn clearances(
    c: &WriteSession,
    token: RunToken,
    seqs: &[PaymentId],
    now: Timestamp,
    policy: &Policy,
) -> Result<Vec<(PaymentId, Clearance)>, Error> {
    assert_current(c, token)?;
    seqs.iter()
        .map(|seq| Ok((*seq, generations::clearance(c, *seq, now, policy)?)))
        .collect()
}

shape! {
    /// A payment that is to be asked about.
    struct DueQuestion of life { due_at: i64, seq: PaymentId, gateway_transaction_id: Option<String> }
}
/// Returns payments that are to be asked about by now, the oldest first.
// The index has them by state, so that the doubts are found among them: the first of each are merged.
fn due_questions(
    c: &dyn Read,
    batch_id: BatchId,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<Question>, Error> {
    let mut due: Vec<DueQuestion> = Vec::new();
    for state in ASKED_ABOUT {
        let by_now = Scan::by(&life::ask_queue)
            .at(&batch_id)
            .at(&state)
            .up_to(&now);
        due.extend(c.list(&by_now.limit(limit))?);
    }
    due.sort_unstable_by_key(|due| (due.due_at, due.seq));
    let mut questions = Vec::with_capacity(due.len().min(limit));
    for due in due {
        if questions.len() == limit {
            break;
        }
        questions.extend(question(c, due.seq, due.gateway_transaction_id)?);
    }
    Ok(questions)
}

/// Adds payments that have ended, and are asked about all the same, up to `limit` questions.
fn add_inquiries(
    c: &dyn Read,
    batch_id: BatchId,
    limit: usize,
    now: Timestamp,
    questions: &mut Vec<Question>,
) -> Result<(), Error> {
    if questions.len() >= limit {
        return Ok(());
    }
    let by_now = Scan::by(&inquiry::inquiry_queue).at(&batch_id).up_to(&now);
    c.each_row(&by_now, &[inquiry::seq], |row| {
        questions.extend(question_about(c, row.get(0)?)?);
        Ok::<_, Error>(match questions.len() < limit {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })
}

/// Returns payments that are due to be asked about, and puts them off while they are.
pub(in crate::journal) fn questions(
    c: &WriteSession,
    token: RunToken,
    limit: usize,
    now: Timestamp,
    lease: Timestamp,
) -> Result<Vec<Question>, Error> {
    assert_current(c, token)?;
    let joined = c.waits(token.batch_id, |waits| waits.join(c, now));
    if joined.transpose()? == Some(true) {
        c.forget_recent();
    }
    let mut questions = due_questions(c, token.batch_id, limit, now)?;
    let asked = questions.len();
    add_inquiries(c, token.batch_id, limit, now, &mut questions)?;
    if !questions.is_empty() {
        disturb(c, token.batch_id, What::Questions)?;
    }
    for question in &questions[asked..] {
        let own = Scan::of(&inquiry::TABLE).at(&question.seq);
        c.set(&own, inquiry::due_at, &lease)?;
    }
    for question in &questions[..asked] {
        let own = Scan::of(&life::TABLE).at(&question.seq);
        c.set(&own, life::due_at, &lease)?;
        c.change_recent(question.seq, |subject| {
            subject.moved.life.due_at = Some(lease);
        });
    }
    for question in &mut questions {
        question.until = lease;
    }
    Ok(questions)
}

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

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
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

/// Returns whether the dates of the batch are those that its signatures cover, where it needs any: who changes them beside a run
/// has not approved them.
fn is_signed(token: RunToken, dates: BatchDates) -> bool {
    token.approved == Bound::EVERYTHING || token.dates == dates
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

/// Returns the key of the callback addresses.
pub(in crate::journal) fn callback_key(c: &dyn Write) -> Result<Vec<u8>, Error> {
    let mut chance = [0; 32];
    SystemRandom::new()
        .fill(&mut chance)
        .map_err(|_| Error::Scratch {
            cause: "the system gives no random numbers".to_owned(),
        })?;
    note_new(c, "callback_key", &chance)?;
    fact(c, "callback_key")?.ok_or_else(|| corrupt("a journal without a key of its addresses"))
}

/// Begins to remember what the run of a batch is to ask.
fn first_questions(
    c: &WriteSession,
    batch_id: BatchId,
    terms: &RunTerms,
) -> Result<DeferredQueries, Error> {
    c.write_tallies()?;
    DeferredQueries::begin(c, batch_id, terms)
}
