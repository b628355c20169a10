//! The verbs of a run: take the batch, claim, ask, hold lanes.

use rusqlite::{Connection, params};
use serde_json::Value;

use super::claim_started::{claim_lane, covered};
use super::claim_unstarted::claim_fresh;
use super::confirmed;
use super::dates::dates;
use super::lanes::held_lanes;
use super::pin::pin;
use super::rest::{What, disturb, last};
use super::restart::ASKED_ABOUT;
use super::restart::{bring_back, doubt_anew, restart_waits};
use crate::domain::{
    BatchId, BatchName, LaneId, PaymentId, ResponseDetails, ServiceCode, Timestamp,
};
use crate::journal::sqlite::approval::standing::approvals;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::NEVER;
use crate::journal::sqlite::codec::values::{
    corrupt, country_of, identifier_of, service_of, stamp,
};
use crate::journal::sqlite::limits::failures::stops;
use crate::journal::sqlite::limits::in_force;
use crate::journal::sqlite::limits::sift::begin_claim;
use crate::journal::sqlite::limits::waiting::is_full;
use crate::journal::sqlite::payments::apply::apply;
use crate::journal::sqlite::payments::ask_stale;
use crate::journal::sqlite::payments::generations;
use crate::journal::sqlite::payments::unstarted::has_fresh;
use crate::journal::sqlite::preflight::documents::DOCUMENT_IS_THERE;
use crate::journal::sqlite::recovery::given_orders::lost_orders;
use crate::journal::sqlite::recovery::on_chain;
use crate::journal::sqlite::session::deferred_queries::DeferredQueries;
use crate::journal::sqlite::session::fence::{assert_current, epoch};
use crate::journal::sqlite::session::payments::subject;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{Acquired, Claim, Clearance, Due, Error, Halt, Question, RunTerms, RunToken};
use crate::ledger::Purpose;
use crate::ledger::calendar::{BatchDates, Gate};
use crate::ledger::confirmation::{Bound, Confirmation};
use crate::ledger::recovery::{OrdersLost, held_back};
use crate::ledger::schedule::may_leave;
use crate::lifecycle::{Event, Policy, State, StepContext};

/// Takes a batch for a run.
pub(in crate::journal::sqlite) fn acquire(
    c: &WriteSession,
    batch: &BatchName,
    terms: &RunTerms,
    policy: &Policy,
) -> Result<Acquired, Error> {
    c.mark(known_batch(c, batch)?);
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
    c.execute(
        "insert into meta (key, value) values ('epoch', 1) on conflict do update set value = value + 1",
        [],
    )?;
    let token = RunToken {
        batch_id,
        epoch: epoch(c)?,
        confirmed: confirmation.bound.least(approved),
        approved,
        dates: dates(c, batch_id)?,
    };
    c.mark_epoch(token.epoch);
    confirmed::record(c, batch_id, &confirmation, terms.now)?;
    c.begin_run(batch_id, confirmation.allowance(), &terms.calendar);
    #[cfg(test)]
    crate::journal::sqlite::writer::simulated::acquiring();
    #[cfg(test)]
    if crate::seeded_bugs::SeededBug::WaitsOutliveTheClock.is_active() {
        c.begin_waits(batch_id, first_questions(c, batch_id, terms)?);
        return Ok(Acquired {
            token,
            last_claim_at: stamp(last_claim_at),
            last_post: last(c, batch_id, What::Posts)?,
            last_question: last(c, batch_id, What::Questions)?,
            abandoned: abandon(c, batch_id, terms.now, policy)?,
            held: held_lanes(c, batch_id)?,
        });
    }
    let is_open = is_open(c, batch_id)?;
    if is_open {
        c.acted(batch_id, terms.now, "run", Value::Null)?;
    }
    in_force::begin(c, batch_id, terms.limits.as_ref(), is_open, terms.now)?;
    doubt_anew(c, batch_id, terms.now, policy)?;
    let abandoned = abandon(c, batch_id, terms.now, policy)?;
    restart_waits(c, batch_id, terms, policy)?;
    ask_stale::ask_all_again(c, batch_id, terms.now, policy)?;
    generations::settle_all(c, batch_id, terms.now, policy)?;
    c.begin_waits(batch_id, first_questions(c, batch_id, terms)?);
    Ok(Acquired {
        token,
        last_claim_at: stamp(last_claim_at),
        last_post: last(c, batch_id, What::Posts)?,
        last_question: last(c, batch_id, What::Questions)?,
        abandoned,
        held: held_lanes(c, batch_id)?,
    })
}

/// Returns how far the signatures of a batch reach; over everything where no rule asks for any.
fn approved(c: &WriteSession, batch_id: BatchId, terms: &RunTerms) -> Result<Bound, Error> {
    #[cfg(test)]
    if crate::seeded_bugs::SeededBug::ApprovalUnbounded.is_active() {
        return Ok(Bound::EVERYTHING);
    }
    c.flush()?;
    let found = approvals(
        c,
        batch_id,
        terms.approval.clone(),
        Some(&terms.home.target()),
    )?;
    Ok(found.bound.unwrap_or(Bound::EVERYTHING))
}

/// Returns whether a run has anything to do: one that finds all ended leaves no trace, so that its report is the same again.
fn is_open(c: &Connection, batch_id: BatchId) -> Result<bool, Error> {
    Ok(c.prepare_cached(
        "select exists (select 1 from tally where batch_id = ?1 and count > 0 and state not in (5, 6, 7, 8))
             or exists (select 1 from inquiry where batch_id = ?1)",
    )?
    .query_row([batch_id], |row| row.get(0))?)
}

/// Turns intents without an outcome into doubts: their bytes may have left.
// Found by a look at every life: few payments are under way at a time, and only a run that broke off leaves some.
pub(in crate::journal::sqlite) fn abandon(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
    policy: &Policy,
) -> Result<u64, Error> {
    c.write_tallies()?;
    let some: bool = c
        .prepare_cached(
            "select exists (select 1 from tally where batch_id = ?1 and state = 1 and count > 0)",
        )?
        .query_row([batch_id], |row| row.get(0))?;
    if !some {
        return Ok(0);
    }
    let seqs: Vec<PaymentId> = c
        .prepare("select seq from life not indexed where batch_id = ?1 and state = 1 order by seq")?
        .query_map([batch_id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in &seqs {
        let mut subject = subject(c, *seq)?;
        let moment = StepContext { now, jitter: 0 };
        apply(
            c,
            &mut subject,
            Event::Abandoned,
            &ResponseDetails::default(),
            None,
            moment,
            policy,
        )?;
        c.moved(&subject, State::Posting)?;
        generations::settle(c, &mut subject, moment, Some(policy))?;
    }
    Ok(seqs.len() as u64)
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
    let mut statement = c.prepare_cached(
        "select distinct service_id, code from tally t join service s using (service_id)
         where batch_id = ?1 and state = 0 and count > 0
         and not exists (select 1 from held_lane h where h.batch_id = ?1 and h.service_id = t.service_id)",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut lanes = Vec::new();
    while let Some(row) = rows.next()? {
        let service = service_of(&row.get::<_, String>(1)?)?;
        lanes.push(OpenLane {
            id: row.get(0)?,
            gate: c.gate((batch_id, dates), &service, now),
            service,
            dates,
        });
    }
    Ok(lanes)
}

/// Records the intent to post a block of payments; says, too, why nothing more may be claimed, where that is so.
pub(in crate::journal::sqlite) fn claim(
    c: &WriteSession,
    token: RunToken,
    limit: usize,
    now: Timestamp,
    policy: &Policy,
) -> Result<(Vec<Claim>, Option<Halt>), Error> {
    assert_current(c, token)?;
    on_chain::assert_may_leave(c, token.batch_id)?;
    c.mark(token.batch_id);
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
        let before = claims.len();
        halt = claim_lane(c, lane, token.confirmed, share, now, policy, &mut claims)?;
        if halt.is_some() {
            break;
        }
        let share = share - (claims.len() - before);
        if share > 0 && !is_full(c, token, lane.1)? {
            halt = claim_fresh(c, lane, token.confirmed, share, now, policy, &mut claims)?;
        }
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
        c.prepare_cached("update batch set last_claim_at = ?2 where batch_id = ?1")?
            .execute(params![token.batch_id, now.as_millis()])?;
    }
    Ok((claims, halt))
}

/// When the next payments of lane ?2 may be posted, before ?3, and the times that their rows name.
pub(in crate::journal::sqlite) fn next_in_lane() -> String {
    let covered = covered();
    format!(
        "select l.due_at, i.not_before, (select w.until from limited w where w.batch_id = ?1 and w.seq = l.seq) from life l indexed by post_queue cross join instruction i using (seq)
         where l.batch_id = ?1 and l.service_id = ?2 and l.state = 0 and l.due_at < ?3 and {DOCUMENT_IS_THERE} and {covered}
         order by l.due_at, seq limit ?4"
    )
}

/// Whether payments of lane ?2 wait that are due before ?3: for their documents, and for a confirmation.
// Asked only where nothing may be posted, so that the first rows it meets decide.
pub(in crate::journal::sqlite) fn waiting_in_lane() -> String {
    let covered = covered();
    let waiting = "select 1 from life l indexed by post_queue cross join instruction i using (seq)
         where l.batch_id = ?1 and l.service_id = ?2 and l.state = 0 and l.due_at < ?3";
    format!(
        "select exists ({waiting} and {covered} and not {DOCUMENT_IS_THERE} limit ?4), exists ({waiting} and not {covered} limit ?4)"
    )
}

/// Says of claims, just before they leave, whether they still may: evidence from elsewhere may have settled them, or paid an
/// earlier generation of their rows.
pub(in crate::journal::sqlite) fn clearances(
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

/// Payments that are to be asked about by ?2, the oldest first; no more than ?3.
// The index has them by state, so that the doubts are found among them: the first of each are merged. It is taken only
// where its own condition is repeated.
pub(in crate::journal::sqlite) fn due_questions() -> String {
    let of_state = |state| {
        format!(
            "select * from (select seq, due_at, gateway_transaction_id from life indexed by ask_queue
                 where batch_id = ?1 and state = {state} and state >= 2 and state <= 4 and queued = 1 and due_at <= ?2 order by due_at, seq limit ?3)"
        )
    };
    format!(
        "select seq, i.identifier, d.gateway_transaction_id, i.country from ({}) d cross join instruction i using (seq)
         order by d.due_at, seq limit ?3",
        ASKED_ABOUT.map(of_state).join(" union all ")
    )
}

/// When the next payment of state ?2 is to be asked about, before ?3.
pub(in crate::journal::sqlite) const NEXT_QUESTION: &str = "select min(due_at) from life indexed by ask_queue
     where batch_id = ?1 and state = ?2 and state >= 2 and state <= 4 and queued = 1 and due_at < ?3";

/// Payments that have ended, and are asked about all the same: those due by ?2, no more than ?3.
const DUE_INQUIRIES: &str = "select q.seq, i.identifier, l.gateway_transaction_id, i.country
     from inquiry q indexed by inquiry_queue cross join instruction i using (seq) cross join life l on l.seq = q.seq
     where q.batch_id = ?1 and q.due_at <= ?2 order by q.due_at, q.seq limit ?3";

/// Returns payments that are due to be asked about, and puts them off while they are.
pub(in crate::journal::sqlite) fn questions(
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
    let mut statement = c.prepare_cached(&due_questions())?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![token.batch_id, now.as_millis(), limit])?;
    let mut questions = Vec::new();
    while let Some(row) = rows.next()? {
        let identifier = row
            .get_ref(1)?
            .as_str()
            .map_err(|_| corrupt("an identifier"))?;
        questions.push(Question {
            seq: row.get(0)?,
            id: identifier_of(identifier)?,
            gateway_transaction_id: row.get(2)?,
            country: country_of(row.get_ref(3)?.as_str().map_err(|_| corrupt("a country"))?)?,
        });
    }
    let asked = questions.len();
    let room = limit - i64::try_from(asked).unwrap_or(limit);
    let mut inquiries = c.prepare_cached(DUE_INQUIRIES)?;
    let mut rows = inquiries.query(params![token.batch_id, now.as_millis(), room])?;
    while let Some(row) = rows.next()? {
        questions.push(Question {
            seq: row.get(0)?,
            id: identifier_of(&row.get::<_, String>(1)?)?,
            gateway_transaction_id: row.get(2)?,
            country: country_of(row.get_ref(3)?.as_str().map_err(|_| corrupt("a country"))?)?,
        });
    }
    drop(rows);
    if !questions.is_empty() {
        disturb(c, token.batch_id, What::Questions)?;
    }
    let mut put_off = c.prepare_cached("update inquiry set due_at = ?2 where seq = ?1")?;
    for question in &questions[asked..] {
        put_off.execute(params![question.seq, lease.as_millis()])?;
    }
    let mut put_off = c.prepare_cached("update life set due_at = ?2 where seq = ?1")?;
    for question in &questions[..asked] {
        put_off.execute(params![question.seq, lease.as_millis()])?;
        c.change_recent(question.seq, |subject| {
            subject.moved.life.due_at = Some(lease);
        });
    }
    Ok(questions)
}

/// So many payments of a lane that are due first are looked at for one that does not wait for the time that its row names.
// Beyond them such a one is due later than all of these.
const NEXT_MAX: i64 = 1_000;

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
    let Bound { instruction, bill } = confirmed;
    let mut statement = c.prepare_cached(&next_in_lane())?;
    let mut rows = statement.query((batch_id, lane, NEVER, NEXT_MAX, instruction, bill))?;
    let mut next = NextPost::default();
    while let Some(row) = rows.next()? {
        let (due_at, not_before): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
        let limited: Option<i64> = row.get(2)?;
        // What is due and names a later time, or is over a limit, is put off by the claim that meets it.
        let is_later = due_at > now.as_millis();
        let waits = is_later && !may_leave(stamp(not_before), now);
        match (limited.filter(|_| is_later), not_before.filter(|_| waits)) {
            (Some(at), _) => next.limited = earlier(next.limited, stamp(Some(at))),
            (None, Some(at)) => next.scheduled = earlier(next.scheduled, stamp(Some(at))),
            (None, None) => {
                next.at = stamp(Some(due_at));
                break;
            }
        }
    }
    Ok(next)
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    [a, b].into_iter().flatten().min()
}

/// Returns when the next post and the next question are due.
pub(in crate::journal::sqlite) fn due(
    c: &WriteSession,
    token: RunToken,
    now: Timestamp,
) -> Result<Due, Error> {
    bring_back(c, token.batch_id, now)?;
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

/// Looks when the next post of a lane is due that is open, and what its others wait for.
fn due_in_lane(
    c: &WriteSession,
    token: RunToken,
    open: &OpenLane,
    now: Timestamp,
    due: &mut Due,
) -> Result<(), Error> {
    let (lane, Bound { instruction, bill }) = (open.id, token.confirmed);
    if has_fresh(c, token.batch_id, lane, instruction)? {
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
    let wanted = (token.batch_id, lane, NEVER, 1, instruction, bill);
    let (for_document, for_word): (bool, bool) = c
        .prepare_cached(&waiting_in_lane())?
        .query_row(wanted, |row| Ok((row.get(0)?, row.get(1)?)))?;
    due.document |= for_document;
    let beyond = has_fresh(c, token.batch_id, lane, i64::MAX)?;
    due.unconfirmed |= for_word || beyond;
    due.unapproved |= (for_word || beyond) && waits_for_signatures(c, token, lane)?;
    Ok(())
}

/// Returns when the next question of a batch is due.
fn next_question(c: &WriteSession, batch_id: BatchId) -> Result<Option<i64>, Error> {
    let mut ask = c.waits(batch_id, |waits| waits.next()).flatten();
    let mut next_question = c.prepare_cached(NEXT_QUESTION)?;
    for state in ASKED_ABOUT {
        let found: Option<i64> =
            next_question.query_row(params![batch_id, state, NEVER], |row| row.get(0))?;
        ask = [ask, found].into_iter().flatten().min();
    }
    let inquiry: Option<i64> = c
        .prepare_cached(
            "select min(due_at) from inquiry indexed by inquiry_queue where batch_id = ?1 and due_at < ?2",
        )?
        .query_row((batch_id, NEVER), |row| row.get(0))?;
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
    let Bound { instruction, bill } = token.approved;
    if token.approved == Bound::EVERYTHING {
        return Ok(false);
    }
    let wanted = (token.batch_id, lane, NEVER, 1, instruction, bill);
    let begun: bool = c
        .prepare_cached(&waiting_in_lane())?
        .query_row(wanted, |row| row.get(1))?;
    Ok(begun
        || !has_fresh(c, token.batch_id, lane, instruction)?
            && has_fresh(c, token.batch_id, lane, i64::MAX)?)
}

/// Returns the key of the callback addresses.
pub(in crate::journal::sqlite) fn callback_key(c: &Connection) -> Result<Vec<u8>, Error> {
    // SQLite's generator is seeded by the operating system.
    c.execute(
        "insert into meta (key, value) values ('callback_key', randomblob(32)) on conflict do nothing",
        [],
    )?;
    Ok(c.query_row(
        "select value from meta where key = 'callback_key'",
        [],
        |row| row.get(0),
    )?)
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
