//! The decisions of a run, one situation per test; the time is passed in.

use std::sync::Arc;

use super::*;
use crate::domain::{
    Amount, Country, Currency, Instruction, LaneId, Money, Msisdn, PayerTransactionId, Payment,
    PaymentId, Rate, ServiceCode,
};
use crate::journal::{ChainHead, Heard, Lane, StandingRow};
use crate::ledger::HeldFor;
use crate::ledger::calendar::BatchDates;

mod balances;
mod endings;
mod limits;
mod pace;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_000_000_000 + millis)
}

fn limits() -> Limits {
    let rate = |n| Rate::per_second(n).unwrap();
    Limits {
        rate: rate(10),
        query_rate: rate(4),
        shared_rate: false,
        concurrency: 3,
        packets: 1,
        breaker_losses: 2,
        breaker_pause: Duration::from_secs(5),
        lane_retry_after: None,
        float_poll: None,
        max_wait: Duration::from_secs(600),
        no_wait: false,
        wait_for_window: false,
        callbacks: true,
    }
}

fn money() -> Money {
    Money {
        amount: Amount::from_minor(100).unwrap(),
        currency: Currency::from_code("KES").unwrap(),
    }
}

/// The lane of most claims here.
const LANE: LaneId = LaneId::new(1);

fn service(lane: i64) -> ServiceCode {
    ServiceCode::parse(&format!("LANE-{lane}")).unwrap()
}

fn id(seq: i64) -> PayerTransactionId {
    PayerTransactionId::parse(&format!("{seq:026}")).unwrap()
}

fn claim(seq: i64, lane: i64) -> Claim {
    let msisdn = Msisdn::from_digits("254700000001").unwrap();
    Claim {
        looked_at_last: false,
        leave_by: None,
        support_document: None,
        seq: PaymentId::new(seq),
        lane: LaneId::new(lane),
        payment: Arc::new(Payment {
            id: id(seq),
            generation: 0,
            received_at: at(0),
            instruction: Instruction {
                line: 1,
                reference: None,
                service: service(lane),
                msisdn,
                account_number: "".into(),
                money: money(),
                country: Country::from_code("KE").unwrap(),
                narration: "".into(),
                customer_names: "".into(),
                invoice_number: "".into(),
                payment_mode: "".into(),
                hub_id: "".into(),
                extra: Vec::new(),
                document: None,
            },
        }),
    }
}

fn claims(seqs: std::ops::RangeInclusive<i64>) -> Vec<Claim> {
    seqs.map(|seq| claim(seq, 1)).collect()
}

fn questions(seqs: std::ops::RangeInclusive<i64>) -> Vec<Question> {
    seqs.map(|seq| Question {
        seq: PaymentId::new(seq),
        id: id(seq),
        gateway_transaction_id: None,
        country: Country::from_code("KE").unwrap(),
        until: at(0),
    })
    .collect()
}

fn moved(seq: i64, from: State, to: State, due_at: Option<Timestamp>) -> Transition {
    Transition {
        seq: PaymentId::new(seq),
        lane: LANE,
        from,
        life: PaymentState {
            state: to,
            due_at,
            ..PaymentState::NEW
        },
        money: money(),
        heard: Heard::Nothing,
    }
}

/// What the journal holds: states with their counts, and held lanes.
fn standing(states: &[(State, u64)], held: &[i64]) -> Box<Standing> {
    let rows = states.iter().map(|(state, count)| {
        let mut tally = Tally::default();
        for _ in 0..*count {
            tally.add(money());
        }
        StandingRow {
            service: service(1),
            state: *state,
            currency: money().currency,
            tally,
        }
    });
    Box::new(Standing {
        dates: BatchDates::default(),
        purpose: crate::ledger::Purpose::Gateway,
        rows: rows.collect(),
        unpriced: 0,
        rejected: Tally::default(),
        withdrawn: Tally::default(),
        skipped: 0,
        paid_twice: Vec::new(),
        undecided: Vec::new(),
        undecided_count: 0,
        waiting: Vec::new(),
        waiting_count: 0,
        until_done: 0,
        doubtful: 0,
        paid_twice_count: 0,
        loaded_anew: Vec::new(),
        named_otherwise: 0,
        evidence: ChainHead::default(),
        destination: None,
        gateway: None,
        account: None,
        held: held
            .iter()
            .map(|lane| Lane {
                id: LaneId::new(*lane),
                service: service(*lane),
                held_for: HeldFor::Float,
            })
            .collect(),
    })
}

const NOTHING: Due = Due {
    post: None,
    ask: None,
    document: false,
    unconfirmed: false,
    unapproved: false,
    scheduled: None,
    over: false,
    limited: None,
    exposed: false,
};

fn post_due(at: Timestamp) -> Due {
    Due {
        post: Some(at),
        ..NOTHING
    }
}

fn ask_due(at: Timestamp) -> Due {
    Due {
        ask: Some(at),
        ..NOTHING
    }
}

fn core(limits: Limits) -> Core {
    Core::new(limits, &standing(&[(State::Ready, 100)], &[]), at(0))
}

/// A core whose first claim and first fetch have been answered: the claims, and nothing due but what `due` says.
fn begun(limits: Limits, claims: Vec<Claim>, due: Due) -> Core {
    let mut core = core(limits);
    core.poll(at(0));
    core.tell(EngineInput::Claimed(claims, due), at(0));
    core.tell(EngineInput::Questions(Vec::new(), due), at(0));
    core
}

/// Posts as many as may go, and returns their numbers.
fn post_all(core: &mut Core, now: Timestamp) -> Vec<i64> {
    let mut seqs = Vec::new();
    loop {
        let count = core.next_post(now);
        if count == 0 {
            return seqs;
        }
        seqs.extend(core.take_post(count).iter().map(|claim| claim.seq.get()));
    }
}

fn ask_all(core: &mut Core, now: Timestamp) -> Vec<i64> {
    let mut seqs = Vec::new();
    loop {
        let count = core.next_query(now);
        if count == 0 {
            return seqs;
        }
        seqs.extend(
            core.take_query(count)
                .iter()
                .map(|question| question.seq.get()),
        );
    }
}

fn ended_posts(core: &mut Core, count: usize, health: &Health, now: Timestamp) {
    for _ in 0..count {
        core.tell(EngineInput::PostEnded(health.clone()), now);
    }
}

/// The numbers of the released claims among effects.
fn released(effects: &[Effect]) -> Vec<i64> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Release(claims) => Some(claims.iter().map(|claim| claim.seq.get())),
            _ => None,
        })
        .flatten()
        .collect()
}

fn claims_asked(effects: &[Effect]) -> Option<usize> {
    effects.iter().find_map(|effect| match effect {
        Effect::Claim(limit) => Some(*limit),
        _ => None,
    })
}

fn fetches_asked(effects: &[Effect]) -> Option<usize> {
    effects.iter().find_map(|effect| match effect {
        Effect::Fetch(limit) => Some(*limit),
        _ => None,
    })
}

fn looks(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Look))
}

/// The core has nothing to do now: it must want to be woken later, not at once.
#[track_caller]
fn assert_rests(core: &mut Core, now: Timestamp) {
    let effects = core.poll(now);
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!((core.next_post(now), core.next_query(now)), (0, 0));
    assert!(core.wake_at(now) > now, "a loop that never sleeps");
}

/// Answers looks until the core has come to rest or has ended.
fn settle(core: &mut Core, standing: &Standing, due: Due, now: Timestamp) {
    for _ in 0..5 {
        if !looks(&core.poll(now)) {
            return;
        }
        core.tell(EngineInput::Standing(Box::new(standing.clone()), due), now);
    }
    panic!("it looks again and again");
}

#[test]
fn a_payment_that_a_look_has_counted_where_it_is_now_is_not_counted_twice() {
    let mut core = core(limits());
    let seen = standing(&[(State::Acknowledged, 1), (State::Paid, 1)], &[]);
    core.tell(EngineInput::Standing(seen, Due::default()), at(0));
    let count = |core: &Core| core.view().0.values().map(|tally| tally.count).sum::<u64>();
    // The look was later than this move, which is told after it.
    let late = moved(1, State::Posting, State::Acknowledged, None);
    core.tell(EngineInput::Transition(vec![late]), at(1));
    assert_eq!(count(&core), 2);
    let next = moved(1, State::Acknowledged, State::Paid, None);
    core.tell(EngineInput::Transition(vec![next]), at(2));
    assert_eq!(count(&core), 2);
    assert_eq!(core.view().0[&State::Paid].count, 2);
}
