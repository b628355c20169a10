//! The verbs of a run: take the batch, claim, ask, hold lanes.

use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;

use super::claim_started::claim_lane;
use super::claim_unstarted::claim_fresh;
use super::confirmed;
use super::dates::dates;
use super::expected;
use super::lanes::held_lanes;
use super::open_lanes::{OpenLane, counted, is_open, is_signed, open_lanes};
use super::pin::pin;
use super::rest::{What, disturb, last};
use super::restart::{ask_given_up, count_anew, doubt_anew, restart_waits};
use super::{quarantine, session_claims, sessions};
use crate::domain::{BatchId, BatchName, Epoch, PaymentId, ResponseDetails, Timestamp};
use crate::journal::approval::standing::approvals;
use crate::journal::codec::catalog::{epoch, known_batch};
use crate::journal::codec::facts::{fact, note, note_new};
use crate::journal::codec::values::{corrupt, stamp};
use crate::journal::limits::failures::stops;
use crate::journal::limits::in_force;
use crate::journal::limits::sift::begin_claim;
use crate::journal::limits::waiting::is_full;
use crate::journal::payments::apply::apply;
use crate::journal::payments::ask_stale;
use crate::journal::payments::generations;
use crate::journal::payments::watched;
use crate::journal::recovery::given_orders::lost_orders;
use crate::journal::recovery::on_chain;
use crate::journal::session::deferred_queries::DeferredQueries;
use crate::journal::session::expected::in_turn;
use crate::journal::session::fence::assert_current;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::session::watched_clock::{Seen, WatchedClock};
use crate::journal::{Acquired, Claim, Clearance, Closed, Error, Halt, RunTerms, RunToken};
use crate::ledger::Purpose;
use crate::ledger::calendar::Gate;
use crate::ledger::confirmation::{Bound, Confirmation};
use crate::ledger::recovery::{OrdersLost, held_back};
use crate::lifecycle::{Event, Policy, State, StepContext};
use crate::store::tables::{batch, life};
use crate::store::{Reads, Scan, Test, Write, Writes};

/// Takes a batch for a run.
pub(in crate::journal) fn acquire(
    c: &WriteSession,
    batch: &BatchName,
    terms: &RunTerms,
    policy: &Policy,
) -> Result<Acquired, Error> {
    c.mark(known_batch(c, batch)?);
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
    let (mut expired, mut was_set) = (0, false);
    if c.is_shared() {
        was_set = sessions::may_clock_have_been_set(c, batch_id, terms.now)?;
        expired = sessions::close_expired(c, batch_id, policy)?;
        sessions::begin(c, (batch_id, token.epoch), &terms.runner, policy)?;
        // By its own clock it records what it hears, and that may have begun long ago: somebody was asked something since.
        let shows = terms.shows.unwrap_or(terms.now);
        let mut clock = WatchedClock::begin(shows, c.counted(), policy);
        if clock.look(terms.now, c.turn()) != Seen::Right {
            let why = Closed::ClockSet;
            return Err(Error::SessionClosed { why });
        }
        c.watch_clock(token.epoch, clock);
    }
    let is_alone = !c.is_shared() || !sessions::are_others(c, token)?;
    quarantine::take(c, (batch_id, is_alone), &terms.home, policy)?;
    confirmed::record(c, batch_id, &confirmation, terms.now)?;
    c.begin_run(batch_id, confirmation.allowance(), &terms.calendar);
    #[cfg(test)]
    crate::journal::writer::simulated::acquiring();
    let moment = StepContext {
        now: terms.now,
        jitter: 0,
    };
    watched::ask_for_others(c, batch_id, moment, policy)?;
    let is_open = is_open(c, batch_id)?;
    if is_open {
        c.acted(batch_id, terms.now, "run", Value::Null)?;
    }
    in_force::begin(c, batch_id, terms.limits.as_ref(), is_open, terms.now)?;
    let confirmed = planted!(journal::confirmed_beside(token.confirmed, is_alone));
    let token = RunToken { confirmed, ..token };
    let abandoned = expired + wait_anew(c, batch_id, terms, policy, (is_alone, was_set))?;
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

/// Begins the waits of a batch anew that a run takes; returns how many payments an earlier one had under way.
fn wait_anew(
    c: &WriteSession,
    batch_id: BatchId,
    terms: &RunTerms,
    policy: &Policy,
    (is_alone, was_set): (bool, bool),
) -> Result<u64, Error> {
    // What other runs have under way, and what they wait for, is theirs.
    if is_alone {
        doubt_anew(c, batch_id, terms.now, policy)?;
        let abandoned = abandon(c, batch_id, terms.now, policy)?;
        restart_waits(c, batch_id, terms, policy)?;
        return Ok(abandoned);
    }
    c.forget_recent();
    if was_set {
        count_anew(c, batch_id, terms.now, policy)?;
    }
    ask_given_up(&**c, batch_id, terms.reach(), policy)?;
    Ok(0)
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
    for seq in in_turn(&**c, &seqs) {
        let mut subject = subject(c, seq?)?;
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

/// Payments of a lane that are posted again, and others that are claimed one by one, of which so many at most are claimed in one turn of a
/// store that others wait for: each costs several round trips, and a turn must end long before the lease does.
const AGAIN_MAX: usize = 128;

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
        let again = match c.is_shared() {
            true => share.min(AGAIN_MAX),
            false => share,
        };
        halt = claim_lane(c, lane, token.confirmed, again, now, policy, &mut claims)?;
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
    in_turn(&**c, seqs)
        .map(|seq| {
            let seq = seq?;
            Ok((seq, generations::clearance(c, seq, now, policy)?))
        })
        .collect()
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
