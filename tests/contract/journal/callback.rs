//! Callbacks: stored once, applied once, never trusted beyond what they prove.

use disburse::domain::{Member, PayerTransactionId, PaymentId};
use disburse::journal::{Finding, Heard, IncomingCallback, Location, Received};
use disburse::lifecycle::{Class, Event, PaymentState, Policy, SettleOn, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

async fn acknowledged() -> (World, PayerTransactionId, PaymentId) {
    acknowledged_under(policy()).await
}

async fn acknowledged_under(policy: Policy) -> (World, PayerTransactionId, PaymentId) {
    let world = World::with_policy(policy);
    world.load_new(plan(), rows(1..=1)).await;
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 1, 2).await.remove(0);
    let acknowledged = finding(claim.seq, reply(Class::Acknowledged, 139));
    world.record(vec![acknowledged], 3).await;
    (world, claim.payment.id, claim.seq)
}

fn state_after(received: &Received) -> Option<State> {
    match received {
        Received::Stored(moved) => moved.as_ref().map(|moved| moved.life.state),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_callback_is_stored_once_and_its_repeats_change_nothing() {
    let (world, id, _) = acknowledged().await;
    let paid = note(id, Class::Paid, 140, 1);
    let first = world.callback(paid.clone(), 10).await;
    assert_eq!(state_after(&first), Some(State::Paid));
    let before = world.contents();
    for secs in 11..15 {
        assert_eq!(world.callback(paid.clone(), secs).await, Received::Repeat);
    }
    assert_eq!(world.contents(), before);
    // Other bytes that say the same are evidence of their own, and move nothing.
    let again = world.callback(note(id, Class::Paid, 140, 2), 20).await;
    assert_eq!(state_after(&again), Some(State::Paid));
    assert_eq!(world.find("EMP-1").settled_at, Some(at(10)));
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn the_same_body_about_another_payment_is_not_a_repeat() {
    let world = World::loaded(2).await;
    let ids = world.identifiers();
    for id in ids {
        let received = world.callback(note(id, Class::Paid, 140, 1), 5).await;
        assert!(matches!(received, Received::Stored(Some(_))));
    }
}

#[tokio::test]
async fn a_callback_may_overtake_the_reply_to_its_post() {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 1, 2).await.remove(0);
    world
        .callback(note(claim.payment.id, Class::Paid, 140, 1), 3)
        .await;
    assert_eq!(world.count(State::Paid), 1);
    world
        .record(vec![finding(claim.seq, reply(Class::Acknowledged, 139))], 4)
        .await;
    assert_eq!(world.count(State::Paid), 1);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn contradicting_callbacks_make_a_conflict_and_overwrite_nothing() {
    let (world, id, seq) = acknowledged().await;
    world.callback(note(id, Class::Paid, 140, 1), 10).await;
    let received = world.callback(note(id, Class::Failed, 141, 2), 11).await;
    assert_eq!(state_after(&received), Some(State::Conflict));
    assert_eq!(world.find("EMP-1").life.code, Some(140));
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    let trail = snapshot.trail(seq).unwrap();
    let last = trail.last().unwrap();
    assert_eq!(
        last.anomaly.as_deref(),
        Some("final evidence contradicts earlier final evidence")
    );
    world.assert_adds_up();
}

#[tokio::test]
async fn words_that_are_not_about_the_outcome_do_not_move_a_payment() {
    for (class, code) in [
        (Class::NotFound, 143),
        (Class::Refused, 120),
        (Class::Duplicate, 229),
        (Class::NoFloat, 230),
        (Class::InDoubt, 104),
        (Class::Acknowledged, 139),
    ] {
        let (world, id, _) = acknowledged().await;
        let life = world.find("EMP-1").life;
        world.callback(note(id, class, code, 1), 10).await;
        assert_eq!(world.find("EMP-1").life, life, "{class:?}");
    }
}

#[tokio::test]
async fn a_callback_of_another_amount_or_about_something_else_is_kept_and_not_applied() {
    let (world, id, seq) = acknowledged().await;
    let paid = || note(id, Class::Paid, 140, 0);
    let notes = [
        IncomingCallback {
            said: naming(&[(Member::Amount, "1.01")]),
            digest: [1; 32],
            ..paid()
        },
        IncomingCallback {
            said: naming(&[(Member::Amount, "1"), (Member::Currency, "UGX")]),
            digest: [2; 32],
            ..paid()
        },
        IncomingCallback {
            said: naming(&[(Member::Msisdn, "0700000002")]),
            digest: [3; 32],
            ..paid()
        },
        IncomingCallback {
            event: None,
            digest: [4; 32],
            body: Some("{\"no\": 1}".into()),
            ..paid()
        },
    ];
    let before = world.find("EMP-1").life;
    for note in notes {
        let received = world.callback(note.clone(), 10).await;
        assert_eq!(state_after(&received), Some(State::Acknowledged));
        assert_eq!(world.callback(note, 10).await, Received::Repeat);
    }
    let life = world.find("EMP-1").life;
    assert_eq!(life.due_at, Some(at(10)), "the gateway is asked at once");
    let due_at = before.due_at;
    assert_eq!(
        PaymentState { due_at, ..life },
        before,
        "and nothing else is new"
    );
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    let trail = snapshot.trail(seq).unwrap();
    let noted: Vec<_> = trail[2..]
        .iter()
        .map(|entry| entry.anomaly.as_deref().unwrap())
        .collect();
    assert_eq!(
        noted,
        [
            "not believed: 140, it names the amount 1.01, ours is KES 1.00",
            "not believed: 140, it names the currency UGX, ours is KES",
            "not believed: 140, it names the number ******0002, ours is ********0001",
            "not a callback about this payment"
        ]
    );
    let body = trail[5].detail.as_deref().unwrap();
    assert_eq!(body, r#"{"body":"{\"no\": 1}"}"#);
    assert_eq!(snapshot.standing().unwrap().named_otherwise, 1);
    assert!(snapshot.prove(None).unwrap().findings.is_empty());
    drop(snapshot);
    drop(reader);
    let shown = world.find("EMP-1").named_otherwise.unwrap();
    assert_eq!(shown, noted_last(&noted));
    // The right values, however they are written, and what says nothing.
    let right = IncomingCallback {
        said: naming(&[
            (Member::Amount, "KES 1.000"),
            (Member::Msisdn, "0700 000 001"),
            (Member::Account, "2547****0001"),
            (Member::Currency, "much"),
        ]),
        digest: [5; 32],
        ..paid()
    };
    let received = world.callback(right, 11).await;
    assert_eq!(state_after(&received), Some(State::Paid));
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

/// Of those about another payment.
fn noted_last<'a>(noted: &[&'a str]) -> &'a str {
    noted[2]
}

#[tokio::test]
async fn a_reply_of_another_amount_loses_the_post_and_is_asked_about_at_once() {
    for (class, code) in [
        (Class::Acknowledged, 139),
        (Class::Paid, 140),
        (Class::Failed, 141),
        (Class::Refused, 120),
        (Class::NoFloat, 230),
        (Class::Delivered, 148),
    ] {
        let world = World::loaded(1).await;
        let token = world.acquire(1).await.token;
        let claim = world.claim(token, 1, 2).await.remove(0);
        let mut words = finding(claim.seq, reply(class, code));
        words.said = naming(&[(Member::Amount, "0.01")]);
        words.said.receipt_number = Some("QK1".into());
        let moved = world.record(vec![words], 3).await.remove(0);
        assert_eq!(moved.life.state, State::InDoubt, "{code}");
        assert_eq!(moved.heard, Heard::Other);
        let record = world.find("EMP-1");
        assert_eq!(record.life.due_at, Some(at(3)));
        assert_eq!(record.receipt_number, None, "that of another payment");
        assert!(record.named_otherwise.is_some());
        // It is known, and not: two "not found" after the quarantine let it be posted again.
        assert!(!record.life.known && record.life.is_exposed());
        world.assert_adds_up();
        assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    }
}

#[tokio::test]
async fn a_status_reply_about_one_shilling_settles_no_other_payment() {
    for state in [State::InDoubt, State::Acknowledged, State::Delivered] {
        for (class, code) in [
            (Class::Paid, 140),
            (Class::Failed, 141),
            (Class::NotFound, 143),
            (Class::Acknowledged, 139),
        ] {
            let world = World::loaded(1).await;
            let token = world.acquire(1).await.token;
            let claim = world.claim(token, 1, 2).await.remove(0);
            let event = match state {
                State::InDoubt => Event::Lost,
                State::Delivered => reply(Class::Delivered, 148),
                _ => reply(Class::Acknowledged, 139),
            };
            world.record(vec![finding(claim.seq, event)], 3).await;
            for secs in [100, 200] {
                let mut words = finding(claim.seq, answer(class, code));
                words.said = naming(&[(Member::Amount, "90,000.00"), (Member::Currency, "KES")]);
                let moved = world.record(vec![words], secs).await.remove(0);
                assert_eq!(moved.life.state, state, "{code}");
                assert_eq!(moved.heard, Heard::Other);
            }
            let record = world.find("EMP-1");
            assert_eq!(record.life.not_found, 0, "not even that it is not there");
            assert!(record.life.due_at.is_some_and(|at_| at_ > at(200)));
            // One that is about ours counts.
            let mut words = finding(claim.seq, answer(Class::Paid, 140));
            words.said = naming(&[(Member::Amount, "1.00"), (Member::Account, "254700000001")]);
            let moved = world.record(vec![words], 300).await.remove(0);
            assert_eq!((moved.life.state, moved.heard), (State::Paid, Heard::Ours));
            world.assert_adds_up();
            assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
            assert!(findings(&world).is_empty());
        }
    }
}

fn findings(world: &World) -> Vec<String> {
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    snapshot.prove(None).unwrap().findings
}

#[tokio::test]
async fn what_was_named_otherwise_cannot_be_taken_off_the_record() {
    let (world, id, _) = acknowledged().await;
    let other = IncomingCallback {
        said: naming(&[(Member::Amount, "1.01")]),
        ..note(id, Class::Paid, 140, 1)
    };
    world.callback(other, 10).await;
    assert!(findings(&world).is_empty());
    for change in [
        "update named_otherwise set words = 'all is well'",
        "update named_otherwise set seq = 99",
        "delete from named_otherwise",
    ] {
        let c = world.sql();
        c.execute_batch("savepoint before").unwrap();
        c.execute(change, []).unwrap();
        c.execute_batch("release before").unwrap();
        assert!(!findings(&world).is_empty(), "{change}");
    }
}

#[tokio::test]
async fn a_callback_about_an_unknown_payment_leaves_no_trace() {
    let (world, _, _) = acknowledged().await;
    let before = world.contents();
    let stranger = PayerTransactionId::parse("00000000000000000000000000").unwrap();
    let received = world
        .callback(note(stranger, Class::Paid, 140, 1), 10)
        .await;
    assert_eq!(received, Received::Unknown);
    assert_eq!(world.contents(), before);
    assert!(!world.journal.knows(stranger).await.unwrap());
    let known = world.identifiers()[0];
    assert!(world.journal.knows(known).await.unwrap());
}

#[tokio::test]
async fn no_payment_gathers_more_than_64_callbacks_and_one_that_counts_always_has_room() {
    let (world, id, _) = acknowledged().await;
    let junk = |digest| IncomingCallback {
        event: None,
        ..note(id, Class::Paid, 140, digest)
    };
    for digest in 0..8 {
        let received = world.callback(junk(digest), 10).await;
        assert!(matches!(received, Received::Stored(_)), "{digest}");
    }
    for digest in 8..64 {
        let pending = note(id, Class::Acknowledged, 139, digest);
        let received = world.callback(pending, 10).await;
        assert!(matches!(received, Received::Stored(_)), "{digest}");
    }
    let before = world.contents();
    assert_eq!(world.callback(junk(100), 11).await, Received::TooMany);
    let pending = note(id, Class::Acknowledged, 139, 101);
    assert_eq!(world.callback(pending, 11).await, Received::TooMany);
    assert_eq!(world.callback(junk(7), 11).await, Received::Repeat);
    let repeat = note(id, Class::Acknowledged, 139, 9);
    assert_eq!(world.callback(repeat, 11).await, Received::Repeat);
    assert_eq!(world.contents(), before, "none of them costs anything");
    let received = world.callback(note(id, Class::Paid, 140, 200), 12).await;
    assert_eq!(state_after(&received), Some(State::Paid));
    let received = world.callback(note(id, Class::Paid, 140, 201), 12).await;
    assert_eq!(received, Received::TooMany, "the same once more");
    let received = world.callback(note(id, Class::Failed, 141, 202), 13).await;
    assert_eq!(state_after(&received), Some(State::Conflict));
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn where_only_a_confirmed_status_settles_a_callback_hastens_the_question() {
    let confirmed = Policy {
        settle_on: SettleOn::Confirmed,
        ..policy()
    };
    let (world, id, seq) = acknowledged_under(confirmed).await;
    let received = world.callback(note(id, Class::Paid, 140, 1), 10).await;
    assert_eq!(state_after(&received), Some(State::Acknowledged));
    let token = world.acquire(11).await.token;
    let due = world.journal.due(token, at(11)).await.unwrap();
    assert!(due.ask.is_some_and(|ask| ask <= at(11)), "{due:?}");
    world
        .record(vec![finding(seq, answer(Class::Paid, 140))], 12)
        .await;
    assert_eq!(world.count(State::Paid), 1);
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn a_callback_by_a_clock_that_is_years_off_makes_nobody_wait() {
    const YEARS: i64 = 300_000_000;
    for settle_on in [SettleOn::Callback, SettleOn::Confirmed] {
        for (class, code) in [
            (Class::Delivered, 148),
            (Class::Acknowledged, 178),
            (Class::Paid, 140),
        ] {
            for listener in [YEARS, -YEARS] {
                let (world, id, _) = acknowledged_under(Policy {
                    settle_on,
                    ..policy()
                })
                .await;
                let token = world.acquire(11).await.token;
                // During the run, by a process beside it.
                let received = world.callback(note(id, class, code, 1), listener).await;
                if state_after(&received) == Some(State::Paid) {
                    continue;
                }
                let mut due = world.journal.due(token, at(12)).await.unwrap();
                // As soon as any question: the wall clock of the run alone counts.
                let longest = at(12 + 600);
                let mut asked = Vec::new();
                while asked.is_empty() {
                    let now = due.ask.expect("it is asked about").max(at(12));
                    assert!(now <= longest, "{settle_on:?} {code} {listener}: {now}");
                    let questions = world.journal.questions(token, 9, now, longest);
                    (asked, due) = questions.await.unwrap();
                }
                assert_eq!(asked.len(), 1, "{settle_on:?} {code} {listener}");
                assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
            }
        }
    }
}

#[tokio::test]
async fn a_callback_about_a_payment_that_was_never_posted_is_noted_as_such() {
    let world = World::loaded(1).await;
    let id = world.identifiers()[0];
    let received = world.callback(note(id, Class::Paid, 140, 1), 5).await;
    assert_eq!(
        state_after(&received),
        Some(State::Paid),
        "it is not posted now"
    );
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    let trail = snapshot.trail(world.find("EMP-1").seq).unwrap();
    assert!(matches!(trail[0].event, Some(Event::Callback(_))));
    assert!(trail[0].anomaly.as_ref().unwrap().contains("never posted"));
    world.assert_adds_up();
}

#[tokio::test]
async fn the_key_of_the_callback_addresses_is_made_once() {
    let world = World::new();
    let key = world.journal.callback_key().await.unwrap();
    assert_eq!(key.len(), 32);
    assert_ne!(key, vec![0; 32]);
    assert_eq!(world.journal.callback_key().await.unwrap(), key);
    let again = disburse::journal::Journal::open(&Location::from(&world.path)).unwrap();
    assert_eq!(again.callback_key().await.unwrap(), key);
    assert_ne!(World::new().journal.callback_key().await.unwrap(), key);
}

#[tokio::test]
async fn an_identifier_that_the_gateway_had_before_settles_only_by_our_amount_and_number() {
    let ours = || naming(&[(Member::Amount, "1.00"), (Member::Msisdn, "0700000001")]);
    let other = || naming(&[(Member::Amount, "2.00")]);
    type Words = (Event, disburse::domain::ResponseDetails);
    let paid = || answer(Class::Paid, 140);
    let cases: [(Vec<Words>, State); 6] = [
        (
            vec![(paid(), disburse::domain::ResponseDetails::default())],
            State::Conflict,
        ),
        (
            vec![(paid(), naming(&[(Member::Amount, "1.00")]))],
            State::Conflict,
        ),
        (vec![(paid(), other())], State::Conflict),
        (vec![(paid(), ours())], State::Paid),
        (vec![(answer(Class::Failed, 141), ours())], State::Failed),
        (
            vec![
                (answer(Class::Acknowledged, 139), ours()),
                (paid(), disburse::domain::ResponseDetails::default()),
            ],
            State::Paid,
        ),
    ];
    for (words, state) in cases {
        let world = World::loaded(1).await;
        let token = world.acquire(1).await.token;
        let claim = world.claim(token, 1, 2).await.remove(0);
        let duplicate = finding(claim.seq, reply(Class::Duplicate, 229));
        let moved = world.record(vec![duplicate], 3).await.remove(0);
        assert_eq!(
            (moved.life.state, moved.heard),
            (State::InDoubt, Heard::Taken)
        );
        // A callback at our address that names nothing settles nothing either.
        let called = world
            .callback(note(claim.payment.id, Class::Paid, 140, 1), 4)
            .await;
        assert_eq!(state_after(&called), Some(State::InDoubt));
        for (secs, (event, said)) in (5..).zip(words) {
            let finding = Finding {
                said,
                ..finding(claim.seq, event)
            };
            world.record(vec![finding], secs).await;
        }
        assert_eq!(world.find("EMP-1").life.state, state);
        world.assert_adds_up();
        assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
        assert!(findings(&world).is_empty(), "{:?}", findings(&world));
    }
}

#[tokio::test]
async fn an_identifier_that_the_gateway_had_before_is_left_to_a_person_where_nobody_can_be_asked() {
    let world = World::with_policy(Policy {
        status_query: false,
        ..policy()
    });
    world.load_new(plan(), rows(1..=1)).await;
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 1, 2).await.remove(0);
    let duplicate = finding(claim.seq, reply(Class::Duplicate, 229));
    let moved = world.record(vec![duplicate], 3).await.remove(0);
    assert_eq!(moved.life.state, State::Conflict);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    assert!(findings(&world).is_empty());
}
