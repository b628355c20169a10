//! What begins anew when a run takes a batch: doubts and waits. The rules are [`Event::Abandoned`] and [`crate::ledger::due::Reach`].

use std::ops::ControlFlow;

use crate::domain::{BatchId, LaneId, PaymentId, Timestamp};
use crate::journal::codec::events::event_numbers;
use crate::journal::codec::values::NEVER;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, RunTerms};
use crate::ledger::due::Reach;
use crate::lifecycle::{Event, PaymentState, Policy, State, StepContext, step};
use crate::store::tables::{instruction, life, service};
use crate::store::{Field, Read, Reads, Scan, Write, Writes, shape};

/// Payments of a lane that are looked at before any of them is changed.
const PAGE: usize = 1000;

/// The payments of a batch in a state that are asked about, by the time when they are.
pub(super) fn asked_about<'a>(batch_id: &'a BatchId, state: &'a State) -> Scan<'a> {
    Scan::by(&life::ask_queue).at(batch_id).at(state)
}

/// Appends evidence that the doubts of an earlier run begin anew; [`restart_waits`] moves them accordingly.
// Without it the evidence would add up to a payment that is nearer to a second post than it is.
pub(in crate::journal) fn doubt_anew(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    planted_instead!(journal::waits_stand());
    c.each_row(
        &asked_about(&batch_id, &State::InDoubt),
        &[life::seq],
        |row| {
            c.append(&Evidence {
                batch_id,
                seq: row.get(0)?,
                at: now,
                kind: event_numbers(Event::Abandoned),
                policy: Some(policy),
                ..Evidence::default()
            })?;
            Ok::<_, Error>(ControlFlow::Continue(()))
        },
    )
}

shape! {
    /// What begins anew of a payment that was not asked about any more.
    struct AskedAnew of life { due_at: Timestamp, queries: u32 }
}
shape! {
    /// What begins anew of a payment in doubt.
    struct DoubtedAnew of life { quarantine_from: Option<Timestamp>, not_found: u8 }
}

/// Brings back the questions that a process beside the run has put off by a clock of its own, which is ahead of the run's:
/// nobody waits for a time that no wait of this run reaches. A clock that is behind makes a question due at once.
pub(in crate::journal) fn bring_back(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<(), Error> {
    let Some(reach) = c.waits(batch_id, |waits| waits.reach(now)) else {
        return Ok(());
    };
    let mut changed = 0;
    for state in ASKED_ABOUT {
        // The index knows at once that there are none.
        let beyond = asked_about(&batch_id, &state)
            .after(&reach.latest)
            .before(&NEVER);
        changed += c.set(&beyond, life::due_at, &reach.soon)?;
    }
    if changed > 0 {
        c.forget_recent();
    }
    Ok(())
}

/// Makes the posts of a lane that were put off due at once, or at the time that their rows name.
fn restart_posts(c: &WriteSession, batch_id: BatchId, lane: LaneId) -> Result<(), Error> {
    let of_lane = Scan::by(&life::post_queue).at(&batch_id).at(&lane);
    let put_off = of_lane.clone().after(&0_i64).before(&NEVER);
    // Most batches have no rows that name a time.
    if !c.any(&Scan::by(&instruction::scheduled).at(&batch_id))? {
        c.set(&put_off, life::due_at, &0_i64)?;
        return Ok(());
    }
    shape! {
        struct PutOff of life { due_at: i64, seq: PaymentId }
    }
    let (mut due_at, mut seq) = (0_i64, PaymentId::new(i64::MAX));
    loop {
        // Those whose time lies ahead are met there again, and have it already.
        let behind = vec![due_at.to_value(), seq.to_value()];
        let page = of_lane.clone().after_all(behind).before(&NEVER).limit(PAGE);
        let rows: Vec<PutOff> = c.list(&page)?;
        let Some(last) = rows.last() else {
            return Ok(());
        };
        let next = (last.due_at, last.seq);
        for row in &rows {
            let at = not_before(c, row.seq)?.max(0);
            if at != row.due_at {
                c.set(&Scan::of(&life::TABLE).at(&row.seq), life::due_at, &at)?;
            }
        }
        (due_at, seq) = next;
    }
}

/// Returns before when a row is not to be posted; 0 where it names no time.
fn not_before(c: &dyn Read, seq: PaymentId) -> Result<i64, Error> {
    let own = Scan::of(&instruction::TABLE).at(&seq);
    let named: Option<Option<i64>> = c.value(&own, instruction::not_before)?;
    Ok(named.flatten().unwrap_or(0))
}

/// Makes the first generations of a lane due at once that are never due: nobody wrote that but by an edit, as retries alone wait
/// for a word.
fn restart_never_due(c: &WriteSession, batch_id: BatchId, lane: LaneId) -> Result<(), Error> {
    let mut after = PaymentId::NONE;
    loop {
        let never = Scan::by(&life::post_queue)
            .at(&batch_id)
            .at(&lane)
            .at(&NEVER);
        let seqs: Vec<PaymentId> = c.values(&never.after(&after).limit(PAGE), life::seq)?;
        let Some(last) = seqs.last() else {
            return Ok(());
        };
        after = *last;
        for seq in seqs {
            let generation = c.value(
                &Scan::of(&instruction::TABLE).at(&seq),
                instruction::generation,
            )?;
            if generation == Some(0_i64) {
                c.set(&Scan::of(&life::TABLE).at(&seq), life::due_at, &0_i64)?;
            }
        }
    }
}

/// Begins the waits anew that rest on the wall clock of an earlier process: a clock that jumped must neither end a
/// quarantine early nor put off a question for ever.
pub(in crate::journal) fn restart_waits(
    c: &WriteSession,
    batch_id: BatchId,
    terms: &RunTerms,
    policy: &Policy,
) -> Result<(), Error> {
    planted_instead!(journal::waits_stand());
    c.forget_recent();
    restart_questions(c, batch_id, terms.reach(), terms.now, policy)?;
    let lanes: Vec<LaneId> = c.values(&Scan::of(&service::TABLE), service::service_id)?;
    for lane in lanes {
        restart_posts(c, batch_id, lane)?;
        restart_never_due(c, batch_id, lane)?;
    }
    Ok(())
}

/// Begins the quarantines of payments in doubt anew.
fn restart_doubts(
    c: &dyn Write,
    batch_id: BatchId,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    let in_doubt = PaymentState {
        state: State::InDoubt,
        ..PaymentState::NEW
    };
    let moment = StepContext { now, jitter: 0 };
    let anew = step(&in_doubt, Event::Abandoned, moment, policy).life;
    c.change(
        &asked_about(&batch_id, &State::InDoubt),
        &DoubtedAnew {
            quarantine_from: anew.quarantine_from,
            not_found: anew.not_found,
        },
    )?;
    Ok(())
}

/// The same of what the gateway is asked about.
fn restart_questions(
    c: &dyn Write,
    batch_id: BatchId,
    reach: Reach,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    restart_doubts(c, batch_id, now, policy)?;
    ask_given_up(c, batch_id, reach, policy)?;
    for state in ASKED_ABOUT {
        let beyond = asked_about(&batch_id, &state)
            .after(&reach.latest)
            .before(&NEVER);
        c.set(&beyond, life::due_at, &reach.soon)?;
    }
    Ok(())
}

/// Begins the waits of a batch anew whose times were counted by a clock that was set since: doubts wait their whole quarantine, and what is
/// asked about is asked about soon.
pub(in crate::journal) fn count_anew(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    doubt_anew(c, batch_id, now, policy)?;
    restart_doubts(&**c, batch_id, now, policy)?;
    for state in ASKED_ABOUT {
        let put_off = asked_about(&batch_id, &state).before(&NEVER);
        c.set(&put_off, life::due_at, &now)?;
    }
    let lanes: Vec<LaneId> = c.values(&Scan::of(&service::TABLE), service::service_id)?;
    for lane in lanes {
        restart_posts(c, batch_id, lane)?;
    }
    c.forget_recent();
    Ok(())
}

/// Begins to ask anew about what nobody asks about any more. That is no other run's, and a question moves no money: runs that are
/// started one after the other, and are never alone, would leave it for ever.
pub(in crate::journal) fn ask_given_up(
    c: &dyn Write,
    batch_id: BatchId,
    reach: Reach,
    policy: &Policy,
) -> Result<(), Error> {
    if let Some(due_at) = reach.question(None, policy.status_query) {
        for state in ASKED_ABOUT {
            let given_up = asked_about(&batch_id, &state).at(&NEVER);
            c.change(&given_up, &AskedAnew { due_at, queries: 0 })?;
        }
    }
    Ok(())
}

/// States that are asked about.
pub(in crate::journal) const ASKED_ABOUT: [State; 3] =
    [State::InDoubt, State::Acknowledged, State::Delivered];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::proven;
    use crate::store::memory::Memory;
    use std::time::Duration;

    shape! {
        struct Life of life {
            seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, exposures: u32, quarantine_from: Timestamp,
            not_found: u8, queries: u32, due_at: i64,
        }
    }

    const BATCH: BatchId = BatchId::new(1);

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1_000)
    }

    #[test]
    fn whatever_an_earlier_run_left_begins_anew_by_the_rules() {
        let (now, first, longest) = (at(1_000), Duration::from_secs(40), Duration::from_secs(600));
        let reach = Reach::of(now, longest, first);
        let dues = [0, 999_000, 1_600_000, 1_600_001, NEVER];
        for status_query in [true, false] {
            let policy = Policy {
                status_query,
                ..Policy::default()
            };
            let c = Memory::default();
            let cases = ASKED_ABOUT
                .iter()
                .flat_map(|state| dues.iter().map(move |due_at| (*state, *due_at)));
            let mut expected = Vec::new();
            for (seq, (state, due_at)) in (1..).map(PaymentId::new).zip(cases) {
                let row = Life {
                    seq,
                    batch_id: BATCH,
                    service_id: LaneId::new(1),
                    state,
                    exposures: 1,
                    quarantine_from: at(7),
                    not_found: 1,
                    queries: 5,
                    due_at,
                };
                c.insert(&row).unwrap();
                let life: Option<PaymentState> = c.first(&Scan::of(&life::TABLE).at(&seq)).unwrap();
                expected.push((seq, life.unwrap()));
            }
            restart_questions(&c, BATCH, reach, now, &policy).unwrap();
            for (seq, before) in expected {
                let life: Option<PaymentState> = c.first(&Scan::of(&life::TABLE).at(&seq)).unwrap();
                let life = life.unwrap();
                let moment = StepContext { now, jitter: 0 };
                let abandoned = step(&before, Event::Abandoned, moment, &policy).life;
                assert_eq!(proven(life), proven(abandoned), "{before:?}");
                let due_at = reach.question(before.due_at, status_query);
                assert_eq!(life.due_at, due_at, "{before:?} {status_query}");
            }
        }
    }
}
