//! Whatever happens in whatever order: every row is in one bucket, and the evidence adds up to the state.

use std::sync::Arc;

use disburse::domain::{LaneId, Member, PaymentId, ResponseDetails};
use disburse::journal::{Decision, IncomingCallback, LoadPlan, RunToken};
use disburse::lifecycle::{Class, Event};
use proptest::prelude::*;

use super::record::every_event;
use crate::fold::assert_evidence_adds_up;
use crate::support::*;

const ROWS: u64 = 5;

#[derive(Clone, Debug)]
enum Act {
    Restart,
    Claim(usize),
    Ask(usize),
    /// Events about payments, in one group.
    Record(Vec<(u8, Event)>),
    /// Which payment, what it says, which body; with another amount.
    Callback(u8, Class, u8, bool),
    Decide(u8, bool),
    Cancel(Option<u8>),
    Retry,
    HoldLane,
    OpenLane,
    Amend(u64),
}

fn event() -> impl Strategy<Value = Event> {
    // An intent is recorded by a claim alone.
    let events: Vec<Event> = every_event()
        .into_iter()
        .filter(|event| *event != Event::Claimed)
        .collect();
    prop::sample::select(events)
}

fn class() -> impl Strategy<Value = Class> {
    prop::sample::select(Class::ALL.map(|(class, _)| class).to_vec())
}

fn act() -> impl Strategy<Value = Act> {
    let events = prop::collection::vec((any::<u8>(), event()), 1..6);
    prop_oneof![
        1 => Just(Act::Restart),
        4 => (1_usize..6).prop_map(Act::Claim),
        1 => (1_usize..6).prop_map(Act::Ask),
        6 => events.prop_map(Act::Record),
        3 => (any::<u8>(), class(), 0_u8..4, prop::bool::weighted(0.2))
            .prop_map(|(which, class, body, other)| Act::Callback(which, class, body, other)),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(which, paid)| Act::Decide(which, paid)),
        1 => prop::option::of(any::<u8>()).prop_map(Act::Cancel),
        2 => Just(Act::Retry),
        1 => Just(Act::HoldLane),
        1 => Just(Act::OpenLane),
        1 => (6_u64..9).prop_map(Act::Amend),
    ]
}

/// The identifiers and numbers of every payment, earlier generations included.
fn everything(world: &World) -> Vec<(PaymentId, String)> {
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    let references: Vec<String> = world
        .payments()
        .iter()
        .map(|record| {
            let reference = record.payment.instruction.reference.as_ref();
            reference.unwrap().to_string()
        })
        .collect();
    references
        .iter()
        .flat_map(|reference| snapshot.find(reference.as_str()).unwrap())
        .map(|record| (record.seq, record.payment.id.to_string()))
        .collect()
}

async fn perform(world: &World, act: &Act, token: &mut RunToken, secs: i64) {
    let all = everything(world);
    let pick = |which: u8| &all[usize::from(which) % all.len()];
    let policy = || Arc::clone(&world.policy);
    match act {
        Act::Restart => *token = world.acquire(secs).await.token,
        Act::Claim(limit) => drop(world.claim(*token, *limit, secs).await),
        Act::Ask(limit) => {
            let asked = world
                .journal
                .questions(*token, *limit, at(secs), at(secs + 60));
            asked.await.unwrap();
        }
        Act::Record(events) => {
            let findings = events
                .iter()
                .map(|(which, event)| finding(pick(*which).0, *event));
            world.record(findings.collect(), secs).await;
        }
        Act::Callback(which, class, body, other_amount) => {
            let id = disburse::domain::PayerTransactionId::parse(&pick(*which).1).unwrap();
            let note = IncomingCallback {
                said: match other_amount {
                    true => naming(&[(Member::Amount, "0.01")]),
                    false => ResponseDetails::default(),
                },
                ..note(id, *class, 100, *body)
            };
            let received = world.journal.callback(note, moment(secs), policy()).await;
            received.unwrap();
        }
        Act::Decide(which, paid) => {
            let decision = Decision {
                paid: *paid,
                reason: "r".into(),
                evidence: "e".into(),
            };
            let id = pick(*which).1.clone();
            let decided = world
                .journal
                .decide(batch(), id.into(), decision, moment(secs));
            refused_or(decided.await);
        }
        Act::Cancel(which) => {
            let id = which.map(|which| pick(which).1.clone());
            refused_or(
                world
                    .journal
                    .cancel(batch(), id.map(Into::into), moment(secs))
                    .await,
            );
        }
        Act::Retry => drop(world.journal.retry(batch(), None, at(secs)).await.unwrap()),
        Act::HoldLane => {
            let held = world
                .journal
                .hold_lane(*token, LaneId::new(1), "float".into(), at(secs));
            held.await.unwrap();
        }
        Act::OpenLane => {
            let opened = world.journal.resume_lane(batch(), "B2C".into(), at(secs));
            opened.await.unwrap();
        }
        Act::Amend(upto) => {
            let amend = LoadPlan {
                amend: true,
                now: at(secs),
                ..plan()
            };
            world.load(amend, rows(1..=*upto)).await;
        }
    }
}

fn refused_or<T: std::fmt::Debug>(outcome: Result<T, disburse::journal::Error>) {
    if let Err(error) = outcome {
        assert_eq!(error.kind(), disburse::journal::Kind::Refused, "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_row_stays_in_one_bucket_and_the_evidence_adds_up(
        acts in prop::collection::vec((act(), 0_i64..50), 1..30)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::loaded(ROWS).await;
            let mut token = world.acquire(1).await.token;
            let mut secs = 2;
            for (act, pause) in &acts {
                secs += pause;
                perform(&world, act, &mut token, secs).await;
                world.assert_adds_up();
            }
            let payments = everything(&world).len();
            let compared = assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
            assert_eq!(compared, payments);
            // Whatever happened, only what is ready and of an open lane can be claimed. A retry waits where an earlier generation may
            // have been paid, or where the gateway has yet to be asked about one that a person decided: a run holds it.
            token = world.acquire(secs).await.token;
            let ready = "select count(*) from instruction i left join life l on l.seq = i.seq
                 where i.amount is not null and (l.seq is null or l.state = 0 and l.due_at < ?1)";
            let ready: i64 = world.sql().query_row(ready, [i64::MAX], |row| row.get(0)).unwrap();
            let ready = ready.unsigned_abs();
            let open = world.standing().held.is_empty();
            let claimed = world.claim(token, 100, secs + 100_000).await.len() as u64;
            assert_eq!(claimed, if open { ready } else { 0 });
            let over_paid = "select count(*) from life l join life n on n.seq = l.replaced_by where n.state = 1 and l.state <> 6";
            let over_paid: i64 = world.sql().query_row(over_paid, [], |row| row.get(0)).unwrap();
            assert_eq!(over_paid, 0, "a retry leaves only over proven failures");
        });
    }
}
