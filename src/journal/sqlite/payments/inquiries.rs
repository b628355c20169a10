//! What is asked about earlier generations before a retry of their row leaves. The rule is in [`crate::ledger::failure`].

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use crate::domain::{BatchId, EvidenceId, PaymentId, Timestamp};
use crate::journal::sqlite::codec::catalog::id_of;
use crate::journal::sqlite::codec::events::{
    NOTED_CALLBACK, OTHER_ANSWER, OTHER_CALLBACK, OTHER_REPLY, READING_ACCEPTED, REPLACED, class_of,
};
use crate::journal::sqlite::codec::values::NEVER;
use crate::journal::sqlite::codec::values::{corrupt, state_number};
use crate::journal::sqlite::recovery::noticed::open_recovery;
use crate::journal::sqlite::recovery::until_done;
use crate::journal::sqlite::session::members::{Member, of_row, split};
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{Doubt, Error, Standing, WAITING_SHOWN, Waiting, WaitsFor};
use crate::ledger::decisions;
use crate::ledger::failure::{Mark, is_spoken_of, word};
use crate::ledger::generations::{self, Earlier, Order, Word, is_patient};
use crate::lifecycle::{Class, PaymentState, Policy, State, StepContext};

/// Kinds of evidence: the reply to a post, a status reply, a callback, and a decision that a payment failed.
const REPLIED: i64 = 5;
const ANSWERED: i64 = 6;
const CALLED: i64 = 8;
const DECIDED_FAILED: i64 = 10;

/// Returns who says where each earlier generation stands; `patience` where time counts.
pub(in crate::journal::sqlite) fn words(
    c: &Connection,
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
    c: &Connection,
    member: &Member,
    ordered: EvidenceId,
    patience: Option<(StepContext, &Policy)>,
) -> Result<(Word, bool), Error> {
    let life = &member.life;
    let (mut marks, could_ask) = marks(c, member.seq)?;
    let place = marks.partition_point(|(at, _)| *at <= ordered);
    marks.insert(place, (ordered, Mark::Ordered));
    let is_patient = |class| patience.is_some_and(|patience| waited(life, class, patience));
    let marks = marks.into_iter().map(|(_, mark)| mark);
    let found = word(marks, (life.known, life.code.is_some()), is_patient);
    let found = match found {
        // What the gateway has under its identifier is somebody else's: nothing that it says of it is about ours.
        Word::Person { .. } | Word::TakenBack if life.taken => Word::Both,
        found => found,
    };
    Ok((found, could_ask))
}

/// Returns whether a payment that has ended unpaid may be paid all the same: the gateway, or whoever calls back in its name, has
/// spoken of it otherwise since.
pub(in crate::journal::sqlite) fn is_taken_back(
    c: &Connection,
    member: &Member,
) -> Result<bool, Error> {
    match member.life.state {
        State::Failed => {
            let (word, _) = word_of(c, member, EvidenceId::NONE, None)?;
            Ok(word == Word::TakenBack)
        }
        State::Cancelled => {
            let (marks, _) = marks(c, member.seq)?;
            Ok(is_spoken_of(marks.into_iter().map(|(_, mark)| mark)))
        }
        _ => Ok(false),
    }
}

/// Returns whether the gateway had its time to end what it holds.
fn waited(life: &PaymentState, class: Class, (moment, policy): (StepContext, &Policy)) -> bool {
    let longest = match class {
        Class::Delivered => policy.delivered_give_up_after,
        _ => policy.give_up_after,
    };
    let began = life.posted_at.max(life.quarantine_from);
    began.is_some_and(|began| is_patient(moment.now.since(began), longest))
}

fn last(c: &Connection, seq: PaymentId, event: i64) -> Result<EvidenceId, Error> {
    let mut last = c.prepare_cached(
        "select coalesce(max(evidence_id), 0) from evidence indexed by evidence_by_payment where seq = ?1 and event = ?2",
    )?;
    Ok(last.query_row((seq, event), |row| row.get(0))?)
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

fn marks(c: &Connection, seq: PaymentId) -> Result<Marks, Error> {
    let mut statement = c.prepare_cached(
        "select e.evidence_id, e.event, e.class, coalesce(e.detail ->> 'although_accepted', 0),
             exists (select 1 from policy p where p.policy_id = e.policy_id and p.status_query = 1)
         from evidence e indexed by evidence_by_payment where e.seq = ?1 order by e.evidence_id",
    )?;
    let mut rows = statement.query([seq])?;
    let (mut marks, mut could_ask) = (Vec::new(), false);
    while let Some(row) = rows.next()? {
        could_ask |= row.get::<_, bool>(4)?;
        if let Some(mark) = mark_of(row.get(1)?, row.get(2)?, row.get(3)?)? {
            marks.push((row.get(0)?, mark));
        }
    }
    for at in noticed(c, seq)? {
        let place = marks.partition_point(|(known, _)| *known <= at);
        marks.insert(place, (at, Mark::Missed));
    }
    Ok((marks, could_ask))
}

/// The newest evidence whenever it was noticed that the journal may have missed something of a payment, or that what it was told
/// was read wrongly.
fn noticed(c: &Connection, seq: PaymentId) -> Result<Vec<EvidenceId>, Error> {
    // By a person's word, nothing had been missed.
    let mut statement = c.prepare_cached(&format!(
        "select newest_evidence from recovery where newest_seq >= ?1 and reason is null
         union
         select evidence_id from evidence indexed by about_batch
         where seq = 0 and event = {READING_ACCEPTED} and batch_id = (select batch_id from instruction where seq = ?1)
         order by 1"
    ))?;
    let found = statement.query_map([seq], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns what the newest generation of a row waits for, as far as the journal shows.
pub(in crate::journal::sqlite) fn waits_for(
    c: &Connection,
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
        (State::Failed, _) => WaitsFor::Answer(id),
        _ => WaitsFor::Decision(id),
    }))
}

/// Returns what is said of an ended payment that is asked about again, though nothing waits for the answer; `None` of any other.
pub(in crate::journal::sqlite) fn doubted(
    c: &Connection,
    seq: PaymentId,
    life: &PaymentState,
) -> Result<Option<WaitsFor>, Error> {
    let is_asked: bool = c
        .prepare_cached("select exists (select 1 from inquiry where seq = ?1 and alone = 1)")?
        .query_row([seq], |row| row.get(0))?;
    if !is_asked {
        return Ok(None);
    }
    Ok(Some(WaitsFor::Itself {
        code: life.code,
        withdrawn: life.state == State::Cancelled,
        said: doubt_of(c, seq)?,
    }))
}

/// Returns what was said last that makes doubtful that an ended payment was not paid, since the gateway said that it was not.
pub(in crate::journal::sqlite) fn doubt_of(c: &Connection, seq: PaymentId) -> Result<Doubt, Error> {
    let mut statement = c.prepare_cached(
        "select event, class, code from evidence indexed by evidence_by_payment where seq = ?1 order by evidence_id desc",
    )?;
    let mut rows = statement.query([seq])?;
    let mut said = Doubt::Missed;
    while let Some(row) = rows.next()? {
        let Some(mark) = mark_of(row.get(0)?, row.get(1)?, false)? else {
            continue;
        };
        if mark.says_failed() {
            break;
        }
        if mark.casts_doubt() {
            // Why it was asked tells more than an answer that says nothing.
            let is_vague = mark == Mark::Answer(Class::InDoubt);
            let code = || row.get::<_, Option<i32>>(2).map(Option::unwrap_or_default);
            said = match mark {
                Mark::Unreadable => Doubt::Unreadable,
                Mark::Otherwise(_) => Doubt::Otherwise(code()?),
                _ if is_vague && said != Doubt::Missed => continue,
                _ => Doubt::Code(code()?),
            };
            if !is_vague {
                break;
            }
        }
    }
    Ok(said)
}

/// Returns every such payment of a batch.
pub(in crate::journal::sqlite) fn all_doubted(
    c: &Connection,
    batch_id: BatchId,
) -> Result<BTreeSet<PaymentId>, Error> {
    let mut statement = c.prepare("select seq from inquiry where batch_id = ?1 and alone = 1")?;
    let found = statement.query_map([batch_id], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the ended payments of a batch that are asked about again, the first of them and how many they are.
fn doubtful(c: &Connection, batch_id: BatchId) -> Result<(Vec<Waiting>, u64), Error> {
    const LISTED: &str =
        "from inquiry q indexed by inquiry_queue where q.batch_id = ?1 and q.alone = 1";
    let count: i64 = c
        .prepare_cached(&format!("select count(*) {LISTED}"))?
        .query_row([batch_id], |row| row.get(0))?;
    let mut found = Vec::new();
    if count == 0 {
        return Ok((found, 0));
    }
    let shown = i64::try_from(WAITING_SHOWN).unwrap_or(i64::MAX);
    let first: Vec<PaymentId> = c
        .prepare_cached(&format!("select q.seq {LISTED} order by q.seq limit ?2"))?
        .query_map((batch_id, shown), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for seq in first {
        let row = of_row(c, seq)?;
        let life = row.iter().find(|member| member.seq == seq);
        let life = life.ok_or_else(|| corrupt("a payment that is not in its row"))?;
        if let Some(waits_for) = doubted(c, seq, &life.life)? {
            let id = id_of(c, seq)?;
            found.push(Waiting { id, waits_for });
        }
    }
    Ok((found, count.unsigned_abs()))
}

/// Tells what of a batch is held back, or asked about again.
pub(in crate::journal::sqlite) fn tell_waiting(
    c: &Connection,
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

/// Returns the payments of a batch that are held back.
fn waiting(c: &Connection, batch_id: BatchId) -> Result<HeldBack, Error> {
    const HELD: &str = "from life indexed by post_queue
         where batch_id = ?1 and service_id in (select service_id from service) and state = 0 and due_at = ?2";
    let count: i64 = c
        .prepare_cached(&format!("select count(*) {HELD}"))?
        .query_row((batch_id, NEVER), |row| row.get(0))?;
    let mut held = HeldBack {
        count: count.unsigned_abs(),
        ..HeldBack::default()
    };
    if count == 0 {
        return Ok(held);
    }
    // Where a recovery is open, each of them may wait for its end; otherwise the first tell what there is to tell.
    let shown = match open_recovery(c)? {
        Some(_) => i64::MAX,
        None => i64::try_from(WAITING_SHOWN).unwrap_or(i64::MAX),
    };
    let seqs: Vec<PaymentId> = c
        .prepare_cached(&format!("select seq {HELD} order by seq limit ?3"))?
        .query_map((batch_id, NEVER, shown), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
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
pub(in crate::journal::sqlite) fn is_open_to_decision(
    c: &WriteSession,
    seq: PaymentId,
) -> Result<bool, Error> {
    c.flush()?;
    // What nothing has happened to yet has no life: nothing of it failed.
    let has_failed: bool = c
        .prepare_cached("select exists (select 1 from life where seq = ?1 and state = ?2)")?
        .query_row(params![seq, state_number(State::Failed)], |row| row.get(0))?;
    if !has_failed {
        return Ok(false);
    }
    let row = of_row(c, seq)?;
    let place = row.iter().position(|member| member.seq == seq);
    let place = place.ok_or_else(|| corrupt("a payment that is not in its row"))?;
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

/// Puts every earlier generation on the list that the gateway is to be asked about.
pub(in crate::journal::sqlite) fn ask(
    c: &WriteSession,
    batch_id: BatchId,
    row: &[Member],
    moment: StepContext,
    policy: &Policy,
) -> Result<(), Error> {
    let (_, earlier) = split(row)?;
    for (member, word) in earlier.iter().zip(words(c, row, Some((moment, policy)))?) {
        if matches!(word.word, Word::Person { .. } | Word::TakenBack) {
            c.prepare_cached(
                "insert into inquiry (seq, batch_id, due_at, since) values (?1, ?2, 0, ?3) on conflict do update set alone = 0",
            )?
            .execute(params![member.seq, batch_id, moment.now.as_millis()])?;
        } else {
            forget(c, std::slice::from_ref(member))?;
        }
    }
    Ok(())
}

/// Puts those of ended payments on the list that may be paid all the same, and takes the others off it. Nothing waits for them.
pub(in crate::journal::sqlite) fn doubt(
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
            c.prepare_cached(
                "insert into inquiry (seq, batch_id, due_at, since, alone) values (?1, ?2, ?3, ?4, 1)
                 on conflict do update set alone = 1",
            )?
            .execute(params![
                member.seq,
                batch_id,
                due_at,
                moment.now.as_millis()
            ])?;
        } else {
            forget(c, std::slice::from_ref(member))?;
        }
    }
    Ok(())
}

pub(in crate::journal::sqlite) fn forget(c: &Connection, members: &[Member]) -> Result<(), Error> {
    let mut delete = c.prepare_cached("delete from inquiry where seq = ?1")?;
    for member in members {
        delete.execute([member.seq])?;
    }
    Ok(())
}

/// So many answers that settle nothing are enough where nothing waits for another one.
const ALONE_MAX: u32 = 3;

/// Puts off the next question about a payment that was just asked about without an end. What was asked for long enough is left
/// to a person; the next run asks again.
pub(in crate::journal::sqlite) fn put_off(
    c: &WriteSession,
    seq: PaymentId,
    moment: StepContext,
    policy: &Policy,
) -> Result<(), Error> {
    let found: Option<(u32, i64, bool)> = c
        .prepare_cached(
            "update inquiry set queries = queries + 1 where seq = ?1 returning queries, since, alone",
        )?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((queries, since, alone)) = found else {
        return Ok(());
    };
    let asked_for = moment.now.since(Timestamp::from_millis(since));
    let enough = alone && queries >= ALONE_MAX || is_patient(asked_for, policy.give_up_after);
    let due_at = match enough {
        true => NEVER,
        false => policy.next_inquiry(queries, moment).as_millis(),
    };
    c.prepare_cached("update inquiry set due_at = ?2 where seq = ?1")?
        .execute((seq, due_at))?;
    Ok(())
}
