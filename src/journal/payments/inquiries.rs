//! What is asked about earlier generations before a retry of their row leaves. The rules are in [`crate::ledger::failure`] and
//! [`crate::ledger::inquiry`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::posted_elsewhere::moves;
use crate::domain::{BatchId, EvidenceId, LaneId, PaymentId, PolicyId, Timestamp};
use crate::journal::codec::catalog::id_of;
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{
    NOTED_CALLBACK, OTHER_ANSWER, OTHER_CALLBACK, OTHER_REPLY, READING_ACCEPTED, READING_TAKEN,
    REPLACED, class_of,
};
use crate::journal::codec::values::{NEVER, corrupt};
use crate::journal::recovery::noticed::open_recovery;
use crate::journal::recovery::until_done;
use crate::journal::run::destination::sent_elsewhere;
use crate::journal::session::members::{Member, of_row, split};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Doubt, Error, Standing, WAITING_SHOWN, Waiting, WaitsFor};
use crate::ledger::decisions;
use crate::ledger::failure::{Mark, is_spoken_of, word_about};
use crate::ledger::generations::{self, Earlier, Order, Word};
use crate::ledger::inquiry::{Asked, had_its_time, next_question};
use crate::lifecycle::{Class, PaymentState, Policy, State, StepContext};
use crate::store::tables::{
    evidence, inquiry, instruction, life, policy as policy_of, recovery, service,
};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

/// Kinds of evidence: the reply to a post, a status reply, a callback, and a decision that a payment failed.
const REPLIED: i64 = 5;
const ANSWERED: i64 = 6;
const CALLED: i64 = 8;
const DECIDED_FAILED: i64 = 10;

/// Returns who says where each earlier generation stands; `patience` where time counts.
pub(in crate::journal) fn words(
    c: &dyn Read,
    row: &[Member],
    patience: Option<(StepContext, &Policy)>,
) -> Result<Vec<Earlier>, Error> {
    let (_, earlier) = split(row)?;
    let ordered = match earlier.last() {
        Some(predecessor) => last(c, predecessor.seq, REPLACED)?,
        None => EvidenceId::NONE,
    };
    let mut words = Vec::with_capacity(earlier.len());
    for member in earlier {
        let state = member.life.state;
        let (word, could_ask) = match state {
            State::Failed => word_of(c, member, ordered, patience)?,
            _ => (Word::Gateway, true),
        };
        words.push(Earlier {
            state,
            word,
            could_ask,
        });
    }
    Ok(words)
}

/// Returns whose word the failure of a payment is, and whether it could ever be asked about. `ordered` is the evidence that
/// its newest generation was ordered.
fn word_of(
    c: &dyn Read,
    member: &Member,
    ordered: EvidenceId,
    patience: Option<(StepContext, &Policy)>,
) -> Result<(Word, bool), Error> {
    let life = &member.life;
    let (mut marks, could_ask) = marks(c, member.seq)?;
    let place = marks.partition_point(|(at, _)| *at <= ordered);
    marks.insert(place, (ordered, Mark::Ordered));
    let is_patient =
        |class| patience.is_some_and(|(moment, policy)| had_its_time(life, class, moment, policy));
    let marks = marks.into_iter().map(|(_, mark)| mark);
    Ok((word_about(life, marks, is_patient), could_ask))
}

/// Returns whether a payment that has ended unpaid may be paid all the same: the gateway, or whoever calls back in its name, has
/// spoken of it otherwise since.
pub(in crate::journal) fn is_taken_back(c: &dyn Read, member: &Member) -> Result<bool, Error> {
    match member.life.state {
        State::Failed => {
            let (word, _) = word_of(c, member, EvidenceId::NONE, None)?;
            Ok(word.is_taken_back())
        }
        State::Cancelled => {
            let (marks, _) = marks(c, member.seq)?;
            Ok(is_spoken_of(marks.into_iter().map(|(_, mark)| mark)))
        }
        _ => Ok(false),
    }
}

fn last(c: &dyn Read, seq: PaymentId, event: i64) -> Result<EvidenceId, Error> {
    let of_kind = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::is(&event))
        .descending();
    let last = c.value(&of_kind, evidence::evidence_id)?;
    Ok(last.unwrap_or(EvidenceId::NONE))
}

shape! {
    /// What was recorded of a payment.
    struct Recorded of evidence {
        evidence_id: EvidenceId, event: i64, class: Option<i64>, detail: Option<String>, policy_id: Option<PolicyId>,
    }
}

impl Recorded {
    /// Returns whether a person decided with a second word that a payment failed which may have been accepted.
    fn expressly(&self) -> Result<bool, Error> {
        Ok(parsed(self.detail.as_deref())?["although_accepted"] == true)
    }
}

/// Returns whether evidence was recorded under a policy by which the gateway could be asked.
fn could_ask(
    c: &dyn Read,
    policy_id: Option<PolicyId>,
    known: &mut BTreeMap<PolicyId, bool>,
) -> Result<bool, Error> {
    let Some(id) = policy_id else {
        return Ok(false);
    };
    if let Some(could_ask) = known.get(&id) {
        return Ok(*could_ask);
    }
    let asks = Scan::of(&policy_of::TABLE)
        .at(&id)
        .only(policy_of::status_query, Test::is(&true));
    let could_ask = c.any(&asks)?;
    known.insert(id, could_ask);
    Ok(could_ask)
}

/// What is on record of an ended payment, by its evidence, and whether any of it was recorded when the gateway could be asked.
type Marks = (Vec<(EvidenceId, Mark)>, bool);

/// Returns what evidence of a kind and a class says of an ended payment; `expressly`: the second word of a person.
fn mark_of(kind: i64, class: Option<i64>, expressly: bool) -> Result<Option<Mark>, Error> {
    let class = || class.map(class_of).transpose();
    Ok(match kind {
        REPLIED => class()?.map(Mark::Reply),
        ANSWERED => class()?.map(Mark::Answer),
        CALLED => class()?.map(Mark::Callback),
        OTHER_REPLY | OTHER_ANSWER | OTHER_CALLBACK => class()?.map(Mark::Otherwise),
        NOTED_CALLBACK => Some(Mark::Unreadable),
        DECIDED_FAILED => Some(Mark::Decided { expressly }),
        _ => None,
    })
}

fn marks(c: &dyn Read, seq: PaymentId) -> Result<Marks, Error> {
    let (mut marks, mut asked, mut policies) = (Vec::new(), false, BTreeMap::new());
    let of_payment = Scan::by(&evidence::evidence_by_payment).at(&seq);
    c.each(&of_payment, |row: Recorded| {
        asked = asked || could_ask(c, row.policy_id, &mut policies)?;
        let expressly = row.event == DECIDED_FAILED && row.expressly()?;
        if let Some(mark) = mark_of(row.event, row.class, expressly)? {
            marks.push((row.evidence_id, mark));
        }
        Ok::<_, Error>(())
    })?;
    let mut noted: Vec<_> = noticed(c, seq)?
        .into_iter()
        .map(|at| (at, Mark::Missed))
        .collect();
    let own = Scan::of(&instruction::TABLE).at(&seq);
    if let Some(batch_id) = c.value(&own, instruction::batch_id)? {
        let moves = moves(c, batch_id)?.into_iter().map(|(at, _)| at);
        let moved = sent_elsewhere(c, batch_id)?.into_iter().chain(moves);
        noted.extend(moved.map(|at| (at, Mark::Moved)));
    }
    for (at, mark) in noted {
        let place = marks.partition_point(|(known, _)| *known <= at);
        marks.insert(place, (at, mark));
    }
    Ok((marks, asked))
}

/// The newest evidence whenever it was noticed that the journal may have missed something of a payment, or that what it was told
/// was read wrongly.
fn noticed(c: &dyn Read, seq: PaymentId) -> Result<BTreeSet<EvidenceId>, Error> {
    // By a person's word, nothing had been missed.
    let missed = Scan::of(&recovery::TABLE)
        .only(recovery::newest_seq, Test::at_least(&seq))
        .only(recovery::reason, Test::Absent);
    let mut noticed: BTreeSet<EvidenceId> = BTreeSet::new();
    noticed.extend(c.values::<EvidenceId>(&missed, recovery::newest_evidence)?);
    let own = Scan::of(&instruction::TABLE).at(&seq);
    let batch_id: Option<BatchId> = c.value(&own, instruction::batch_id)?;
    if let Some(batch_id) = batch_id {
        // Before the first one of a batch nothing was heard, unless an earlier build has posted it.
        for kind in [READING_ACCEPTED, READING_TAKEN] {
            let read_anew = Scan::by(&evidence::about_batch).at(&kind).at(&batch_id);
            noticed.extend(c.values::<EvidenceId>(&read_anew, evidence::evidence_id)?);
        }
    }
    Ok(noticed)
}

/// Returns what the newest generation of a row waits for, as far as the journal shows.
pub(in crate::journal) fn waits_for(
    c: &dyn Read,
    row: &[Member],
) -> Result<Option<WaitsFor>, Error> {
    let (newest, earlier) = split(row)?;
    let words = words(c, row, None)?;
    // Whether the next run can ask, its settings say.
    let can_ask = words.iter().any(|earlier| earlier.could_ask);
    let (Order::Wait(place) | Order::Ask(place)) =
        generations::order(&words, &newest.life, can_ask)
    else {
        return Ok(until_done::waits(c, newest.seq)?.then_some(WaitsFor::Recovered));
    };
    let id = id_of(c, earlier[place].seq)?;
    Ok(Some(match (words[place].state, words[place].word) {
        (State::Failed, Word::TakenBack) => WaitsFor::Again(id),
        (State::Failed, Word::Elsewhere { .. }) => WaitsFor::Elsewhere(id),
        (State::Failed, _) => WaitsFor::Answer(id),
        _ => WaitsFor::Decision(id),
    }))
}

/// Returns what is said of an ended payment that is asked about again, though nothing waits for the answer; `None` of any other.
pub(in crate::journal) fn doubted(
    c: &dyn Read,
    seq: PaymentId,
    life: &PaymentState,
) -> Result<Option<WaitsFor>, Error> {
    let asked = Scan::of(&inquiry::TABLE)
        .at(&seq)
        .only(inquiry::alone, Test::is(&true));
    if !c.any(&asked)? {
        return Ok(None);
    }
    Ok(Some(WaitsFor::Itself {
        code: life.code,
        withdrawn: life.state == State::Cancelled,
        said: doubt_of(c, seq)?,
    }))
}

/// Returns what was said last that makes doubtful that an ended payment was not paid, since the gateway said that it was not.
pub(in crate::journal) fn doubt_of(c: &dyn Read, seq: PaymentId) -> Result<Doubt, Error> {
    let newest_first = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .descending();
    let mut said = Doubt::Missed;
    let columns = [evidence::event, evidence::class, evidence::code];
    c.each_row(&newest_first, &columns, |row| {
        let Some(mark) = mark_of(row.get(0)?, row.get(1)?, false)? else {
            return Ok(ControlFlow::Continue(()));
        };
        if mark.says_failed() {
            return Ok(ControlFlow::Break(()));
        }
        if mark.casts_doubt() {
            // Why it was asked tells more than an answer that says nothing.
            let is_vague = mark == Mark::Answer(Class::InDoubt);
            let code = || row.get::<Option<i32>>(2).map(Option::unwrap_or_default);
            said = match mark {
                Mark::Unreadable => Doubt::Unreadable,
                Mark::Otherwise(_) => Doubt::Otherwise(code()?),
                _ if is_vague && said != Doubt::Missed => said,
                _ => Doubt::Code(code()?),
            };
            if !is_vague {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(said)
}

/// The payments of a batch that have ended and are asked about again, though nothing waits for the answer, in their order.
fn alone(batch_id: &BatchId) -> Scan<'_> {
    Scan::of(&inquiry::TABLE)
        .only(inquiry::batch_id, Test::is(batch_id))
        .only(inquiry::alone, Test::is(&true))
}

/// Returns every such payment of a batch.
pub(in crate::journal) fn all_doubted(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<BTreeSet<PaymentId>, Error> {
    let found: Vec<PaymentId> = c.values(&alone(&batch_id), inquiry::seq)?;
    Ok(found.into_iter().collect())
}

/// Returns the ended payments of a batch that are asked about again, the first of them and how many they are.
fn doubtful(c: &dyn Read, batch_id: BatchId) -> Result<(Vec<Waiting>, u64), Error> {
    let queued = Scan::by(&inquiry::inquiry_queue)
        .at(&batch_id)
        .only(inquiry::alone, Test::is(&true));
    let count = c.count(&queued)?;
    let mut found = Vec::new();
    if count == 0 {
        return Ok((found, 0));
    }
    let first: Vec<PaymentId> = c.values(&alone(&batch_id).limit(WAITING_SHOWN), inquiry::seq)?;
    for seq in first {
        let row = of_row(c, seq)?;
        let life = row.iter().find(|member| member.seq == seq);
        let life = life.ok_or_else(|| corrupt("a payment that its row does not list"))?;
        if let Some(waits_for) = doubted(c, seq, &life.life)? {
            let id = id_of(c, seq)?;
            found.push(Waiting { id, waits_for });
        }
    }
    Ok((found, count))
}

/// Tells what of a batch is held back, or asked about again.
pub(in crate::journal) fn tell_waiting(
    c: &dyn Read,
    batch_id: BatchId,
    standing: &mut Standing,
) -> Result<(), Error> {
    let held = waiting(c, batch_id)?;
    let (asked_again, count) = doubtful(c, batch_id)?;
    standing.waiting = held.first;
    standing.waiting.extend(asked_again);
    standing.waiting_count = held.count + count;
    standing.until_done = held.until_done;
    standing.doubtful = count;
    Ok(())
}

/// Payments of a batch that are held back.
#[derive(Default)]
struct HeldBack {
    /// The first of them.
    first: Vec<Waiting>,
    /// How many they are.
    count: u64,
    /// How many of them wait for the end of a recovery.
    until_done: u64,
}

/// The payments of a lane that are held back, in their order.
fn held_in<'a>(batch_id: &'a BatchId, lane: &'a LaneId) -> Scan<'a> {
    Scan::by(&life::post_queue).at(batch_id).at(lane).at(&NEVER)
}

/// Returns the payments of a batch that are held back.
fn waiting(c: &dyn Read, batch_id: BatchId) -> Result<HeldBack, Error> {
    let lanes: Vec<LaneId> = c.values(&Scan::of(&service::TABLE), service::service_id)?;
    let mut held = HeldBack::default();
    for lane in &lanes {
        held.count += c.count(&held_in(&batch_id, lane))?;
    }
    if held.count == 0 {
        return Ok(held);
    }
    // Where a recovery is open, each of them may wait for its end; otherwise the first tell what there is to tell.
    let shown = match open_recovery(c)? {
        Some(_) => usize::MAX,
        None => WAITING_SHOWN,
    };
    let mut seqs: Vec<PaymentId> = Vec::new();
    for lane in &lanes {
        let first = held_in(&batch_id, lane).limit(shown);
        seqs.extend(c.values::<PaymentId>(&first, life::seq)?);
    }
    seqs.sort_unstable();
    seqs.truncate(shown);
    for seq in seqs {
        let Some(waits_for) = waits_for(c, &of_row(c, seq)?)? else {
            continue;
        };
        held.until_done += u64::from(waits_for == WaitsFor::Recovered);
        if held.first.len() < WAITING_SHOWN {
            held.first.push(Waiting {
                id: id_of(c, seq)?,
                waits_for,
            });
        }
    }
    Ok(held)
}

/// Returns whether a person may decide of a failed payment what became of it: a retry of its row waits for that, or the
/// gateway has spoken of it since it called it failed.
pub(in crate::journal) fn is_open_to_decision(
    c: &WriteSession,
    seq: PaymentId,
) -> Result<bool, Error> {
    c.flush()?;
    // What nothing has happened to yet has no life: nothing of it failed.
    let failed = Scan::of(&life::TABLE)
        .at(&seq)
        .only(life::state, Test::is(&State::Failed));
    if !c.any(&failed)? {
        return Ok(false);
    }
    let row = of_row(c, seq)?;
    let place = row.iter().position(|member| member.seq == seq);
    let place = place.ok_or_else(|| corrupt("a payment that its row does not list"))?;
    let member = &row[place];
    let (newest, earlier) = split(&row)?;
    let ordered = match earlier.last() {
        Some(predecessor) => last(c, predecessor.seq, REPLACED)?,
        None => EvidenceId::NONE,
    };
    let retried = place + 1 < row.len() && !newest.life.state.is_finished();
    let (word, _) = word_of(c, member, ordered, None)?;
    Ok(decisions::is_open(word, retried))
}

/// Returns whether a payment stands as failed by a person's word, and its batch was sent elsewhere since: what that person knew is out of date.
pub(in crate::journal) fn needs_a_new_word(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    let row = of_row(c, seq)?;
    let failed = row
        .iter()
        .find(|member| member.seq == seq && member.life.state == State::Failed);
    match failed {
        Some(member) => {
            let (word, _) = word_of(c, member, EvidenceId::NONE, None)?;
            Ok(matches!(word, Word::Elsewhere { .. }))
        }
        None => Ok(false),
    }
}

shape! {
    /// An ended payment that is asked about from now on.
    struct NewInquiry of inquiry { seq: PaymentId, batch_id: BatchId, due_at: i64, since: Timestamp, alone: bool }
}

/// Puts a payment on the list that the gateway is to be asked about. Of one that stands there, only whether a retry waits for the
/// answer becomes another.
fn inquire(c: &dyn Write, inquiry: &NewInquiry) -> Result<(), Error> {
    if !c.insert_new(inquiry)? {
        let own = Scan::of(&inquiry::TABLE).at(&inquiry.seq);
        c.set(&own, inquiry::alone, &inquiry.alone)?;
    }
    Ok(())
}

/// Puts every earlier generation on the list that the gateway is to be asked about.
pub(in crate::journal) fn ask(
    c: &WriteSession,
    batch_id: BatchId,
    row: &[Member],
    moment: StepContext,
    policy: &Policy,
) -> Result<(), Error> {
    let (_, earlier) = split(row)?;
    for (member, word) in earlier.iter().zip(words(c, row, Some((moment, policy)))?) {
        if word.word.is_asked_about() {
            inquire(
                c,
                &NewInquiry {
                    seq: member.seq,
                    batch_id,
                    due_at: 0,
                    since: moment.now,
                    alone: false,
                },
            )?;
        } else {
            forget(c, std::slice::from_ref(member))?;
        }
    }
    Ok(())
}

/// Puts those of ended payments on the list that may be paid all the same, and takes the others off it. Nothing waits for them.
pub(in crate::journal) fn doubt(
    c: &WriteSession,
    batch_id: BatchId,
    members: &[Member],
    moment: StepContext,
    policy: Option<&Policy>,
) -> Result<(), Error> {
    c.flush()?;
    // Where nobody can be asked, it is named all the same.
    let due_at = match policy {
        Some(policy) if !policy.status_query => NEVER,
        _ => 0,
    };
    for member in members {
        if is_taken_back(c, member)? {
            inquire(
                c,
                &NewInquiry {
                    seq: member.seq,
                    batch_id,
                    due_at,
                    since: moment.now,
                    alone: true,
                },
            )?;
        } else {
            forget(c, std::slice::from_ref(member))?;
        }
    }
    Ok(())
}

pub(in crate::journal) fn forget(c: &dyn Write, members: &[Member]) -> Result<(), Error> {
    for member in members {
        c.remove(&Scan::of(&inquiry::TABLE).at(&member.seq))?;
    }
    Ok(())
}

shape! {
    /// How often, and since when, an ended payment was asked about.
    struct Inquired of inquiry { queries: u32, since: Timestamp, alone: bool }
}
shape! {
    /// When it is asked about next.
    struct PutOff of inquiry { queries: u32, due_at: i64 }
}

/// Puts off the next question about a payment that was just asked about without an end. What was asked for long enough is left
/// to a person; the next run asks again.
pub(in crate::journal) fn put_off(
    c: &WriteSession,
    seq: PaymentId,
    moment: StepContext,
    policy: &Policy,
) -> Result<(), Error> {
    let own = Scan::of(&inquiry::TABLE).at(&seq);
    let Some(inquired) = c.first::<Inquired>(&own)? else {
        return Ok(());
    };
    let asked = Asked {
        queries: inquired.queries.saturating_add(1),
        since: inquired.since,
        alone: inquired.alone,
    };
    let due_at = next_question(asked, moment, policy).map_or(NEVER, Timestamp::as_millis);
    let queries = asked.queries;
    c.change(&own, &PutOff { queries, due_at })?;
    Ok(())
}
