//! Evidence in, states out: a record moves payments exactly as the lifecycle says.

use disburse::domain::{GatewayTransactionId, PaymentId, ResponseDetails};
use disburse::journal::Finding;
use disburse::lifecycle::{Class, Event, PaymentState, State, StepContext, step};

use crate::fold::{assert_evidence_adds_up, fold};
use crate::support::*;

/// Every event there is, with a code for those that carry one.
pub fn every_event() -> Vec<Event> {
    let mut events = vec![
        Event::Claimed,
        Event::Unsent,
        Event::Unauthorised,
        Event::Lost,
        Event::Abandoned,
        Event::NoAnswer,
        Event::DecidedPaid,
        Event::DecidedFailed,
        Event::Withdrawn,
        Event::Recognised,
        Event::NotOurs,
    ];
    for (code, (class, _)) in (100..).zip(Class::ALL) {
        let verdict = verdict(class, code);
        events.extend([
            Event::Reply(verdict),
            Event::Answer(verdict),
            Event::Callback(verdict),
        ]);
    }
    events
}

/// Evidence that brings a new payment to each state.
fn ways() -> [(State, Vec<Event>); 9] {
    let claimed = |then: &[Event]| [&[Event::Claimed], then].concat();
    [
        (State::Ready, vec![]),
        (State::Posting, claimed(&[])),
        (State::InDoubt, claimed(&[Event::Lost])),
        (
            State::Acknowledged,
            claimed(&[reply(Class::Acknowledged, 139)]),
        ),
        (State::Delivered, claimed(&[reply(Class::Delivered, 148)])),
        (State::Paid, claimed(&[reply(Class::Paid, 140)])),
        (State::Failed, claimed(&[reply(Class::Refused, 120)])),
        (State::Cancelled, vec![Event::Withdrawn]),
        (
            State::Conflict,
            claimed(&[reply(Class::Paid, 140), answer(Class::Failed, 141)]),
        ),
    ]
}

#[tokio::test]
async fn every_event_in_every_state_moves_as_the_lifecycle_says() {
    let events = every_event();
    let ways = ways();
    let world = World::loaded((events.len() * ways.len()) as u64).await;
    let seqs: Vec<PaymentId> = world.payments().iter().map(|record| record.seq).collect();
    let mut targets = seqs.iter();
    let (mut cases, mut preparation, mut group) = (Vec::new(), Vec::new(), Vec::new());
    for (state, way) in &ways {
        for event in &events {
            let seq = *targets.next().unwrap();
            preparation.extend(way.iter().map(|event| finding(seq, *event)));
            group.push(finding(seq, *event));
            cases.push((seq, *state, *event));
        }
    }
    world.record(preparation, 5).await;
    let before: Vec<PaymentState> = world.payments().iter().map(|record| record.life).collect();
    let moves = world.record(group, 400).await;
    let after = world.payments();
    for (index, (seq, state, event)) in cases.into_iter().enumerate() {
        let case = format!("{state:?} {event:?}");
        assert_eq!(before[index].state, state, "{case}");
        let moved = &moves[index];
        assert_eq!((moved.seq, moved.from), (seq, state), "{case}");
        // The journal spreads the jitter over a group; a due time is compared with its bounds.
        let by = |jitter| {
            let now = at(400);
            step(
                &before[index],
                event,
                StepContext { now, jitter },
                &world.policy,
            )
        };
        let (slow, quick) = (by(0), by(255));
        let due = moved.life.due_at;
        assert!(
            quick.life.due_at <= due && due <= slow.life.due_at,
            "{case}: {due:?}"
        );
        let expected = PaymentState {
            due_at: due,
            ..slow.life
        };
        assert_eq!(moved.life, expected, "{case}");
        assert_eq!(after[index].life, expected, "{case}: what is stored");
        let trail = trail(&world, seq);
        let last = trail.last().unwrap();
        assert_eq!(last.event, Some(event), "{case}");
        let anomaly = slow.anomaly.map(|anomaly| anomaly.to_string());
        assert_eq!(last.anomaly, anomaly, "{case}");
        assert_eq!(
            fold(&trail, &world.policy).state,
            moved.life.state,
            "{case}: folded"
        );
    }
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

fn trail(world: &World, seq: PaymentId) -> Vec<disburse::journal::HistoryEntry> {
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    snapshot.trail(seq).unwrap()
}

#[tokio::test]
async fn findings_about_one_payment_in_one_group_are_applied_in_order() {
    let world = World::loaded(2).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 2, 2).await;
    let (one, two) = (claims[0].seq, claims[1].seq);
    let moves = world
        .record(
            vec![
                finding(one, Event::Lost),
                finding(two, reply(Class::Acknowledged, 139)),
                finding(one, answer(Class::Acknowledged, 139)),
                finding(one, answer(Class::Paid, 140)),
                finding(two, Event::NoAnswer),
                finding(one, answer(Class::Failed, 141)),
            ],
            3,
        )
        .await;
    let states: Vec<_> = moves
        .iter()
        .map(|moved| (moved.seq, moved.from, moved.life.state))
        .collect();
    assert_eq!(
        states,
        [
            (one, State::Posting, State::InDoubt),
            (two, State::Posting, State::Acknowledged),
            (one, State::InDoubt, State::Acknowledged),
            (one, State::Acknowledged, State::Paid),
            (two, State::Acknowledged, State::Acknowledged),
            (one, State::Paid, State::Conflict),
        ]
    );
    assert_eq!(trail(&world, one).len(), 5);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn a_second_post_follows_only_not_found_twice_after_the_quarantine() {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let seq = world.claim(token, 1, 2).await[0].seq;
    world.record(vec![finding(seq, Event::Lost)], 2).await;
    let not_found = answer(Class::NotFound, 143);
    for (secs, event, state) in [
        (12, not_found, State::InDoubt),
        (30, not_found, State::InDoubt),
        (61, not_found, State::InDoubt),
        (62, not_found, State::InDoubt),
        // An answer between them breaks the count.
        (63, answer(Class::InDoubt, 104), State::InDoubt),
        (64, not_found, State::InDoubt),
        (65, not_found, State::Ready),
    ] {
        world.record(vec![finding(seq, event)], secs).await;
        assert_eq!(world.count(state), 1, "after {secs} s");
        let claimable = world.count(State::Ready);
        if claimable == 0 {
            assert!(world.claim(token, 1, secs).await.is_empty());
        }
    }
    let again = world.claim(token, 1, 66).await;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].payment.received_at, at(0), "the same bytes");
    assert_eq!(world.find("EMP-1").life.attempts, 2);
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn the_application_id_of_a_delivery_stays_when_the_receipt_of_the_settlement_comes() {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let seq = world.claim(token, 1, 2).await[0].seq;
    let receipt = |number: &str| ResponseDetails {
        receipt_number: Some(number.into()),
        ..ResponseDetails::default()
    };
    for (event, number) in [
        (reply(Class::Delivered, 148), "APP1"),
        (answer(Class::Delivered, 148), "APP2"),
        (answer(Class::Paid, 140), "QK1"),
    ] {
        let said = receipt(number);
        let found = Finding {
            said,
            ..finding(seq, event)
        };
        world.record(vec![found], 9).await;
    }
    let record = world.find("EMP-1");
    assert_eq!(record.application_id.as_deref(), Some("APP1"));
    assert_eq!(record.receipt_number.as_deref(), Some("QK1"));
}

#[tokio::test]
async fn the_words_of_the_gateway_are_kept_and_silence_does_not_erase_them() {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let seq = world.claim(token, 1, 2).await[0].seq;
    let said = ResponseDetails {
        description: "posted".into(),
        gateway_transaction_id: Some(GatewayTransactionId::parse("77").unwrap()),
        receipt_number: Some("QK1".into()),
        receiver_narration: Some("token 1234".into()),
        http_status: Some(202),
        ..ResponseDetails::default()
    };
    world
        .record(
            vec![
                Finding {
                    said,
                    ..finding(seq, reply(Class::Acknowledged, 139))
                },
                finding(seq, Event::NoAnswer),
                finding(seq, answer(Class::Paid, 140)),
            ],
            9,
        )
        .await;
    let record = world.find("EMP-1");
    assert_eq!(record.gateway_transaction_id.as_deref(), Some("77"));
    assert_eq!(record.receipt_number.as_deref(), Some("QK1"));
    assert_eq!(record.receiver_narration.as_deref(), Some("token 1234"));
    assert_eq!(record.status_description.as_deref(), Some("posted"));
    assert_eq!(record.settled_at, Some(at(9)));
    let detail = trail(&world, seq)[1].detail.clone().unwrap();
    assert!(detail.contains("QK1") && detail.contains("202"), "{detail}");
}

#[tokio::test]
async fn evidence_and_instructions_cannot_be_changed_or_removed() {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    world.claim(token, 1, 2).await;
    let before = world.contents();
    let c = world.sql();
    for (sql, why) in [
        ("update evidence set event = 1", "append-only"),
        ("update evidence set at = at", "append-only"),
        ("delete from evidence", "append-only"),
        ("update instruction set amount = 1", "never changes"),
        ("update instruction set msisdn = '1'", "never changes"),
        ("delete from instruction", "never removed"),
        // The states and their columns keep each other honest.
        ("update life set state = 9", "CHECK"),
        ("update life set posted_at = null", "CHECK"),
        ("update life set state = 5, due_at = 0", "CHECK"),
        ("update instruction set amount = -1", "never changes"),
    ] {
        let error = c.execute(sql, []).unwrap_err().to_string();
        assert!(error.contains(why), "{sql}: {error}");
    }
    assert_eq!(world.contents(), before);
}
