//! Callbacks: stored once, applied once, never trusted beyond what they prove.

use disburse::domain::PayerTransactionId;
use disburse::journal::{CallbackNote, Received};
use disburse::lifecycle::{Class, Event, Policy, SettleOn, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

async fn acknowledged() -> (World, PayerTransactionId, i64) {
    acknowledged_under(policy()).await
}

async fn acknowledged_under(policy: Policy) -> (World, PayerTransactionId, i64) {
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
        CallbackNote {
            amount: Some("1.01".into()),
            digest: [1; 32],
            ..paid()
        },
        CallbackNote {
            amount: Some("much".into()),
            digest: [2; 32],
            ..paid()
        },
        CallbackNote {
            event: None,
            digest: [3; 32],
            ..paid()
        },
    ];
    for note in notes {
        assert_eq!(
            world.callback(note.clone(), 10).await,
            Received::Stored(None)
        );
        assert_eq!(world.callback(note, 10).await, Received::Repeat);
    }
    assert_eq!(world.count(State::Acknowledged), 1);
    let reader = world.reader();
    let trail = reader.snapshot(&batch()).unwrap().trail(seq).unwrap();
    let noted: Vec<_> = trail[2..]
        .iter()
        .map(|entry| entry.anomaly.as_deref().unwrap())
        .collect();
    assert_eq!(
        noted,
        [
            "the callback names another amount",
            "the callback names another amount",
            "not a callback about this payment"
        ]
    );
    drop(reader);
    // The right amount, however it is written.
    let right = CallbackNote {
        amount: Some("1".into()),
        digest: [4; 32],
        ..paid()
    };
    let received = world.callback(right, 11).await;
    assert_eq!(state_after(&received), Some(State::Paid));
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
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
async fn no_payment_gathers_more_than_64_callbacks() {
    let (world, id, _) = acknowledged().await;
    for digest in 0..64 {
        let received = world
            .callback(note(id, Class::Acknowledged, 139, digest), 10)
            .await;
        assert!(matches!(received, Received::Stored(_)), "{digest}");
    }
    let before = world.contents();
    let received = world.callback(note(id, Class::Paid, 140, 200), 11).await;
    assert_eq!(received, Received::TooMany);
    let repeat = world
        .callback(note(id, Class::Acknowledged, 139, 7), 11)
        .await;
    assert_eq!(
        repeat,
        Received::Repeat,
        "what is on record is acknowledged"
    );
    assert_eq!(world.contents(), before);
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
    let due = world.journal.due(token).await.unwrap();
    assert!(due.ask.is_some_and(|ask| ask <= at(11)), "{due:?}");
    world
        .record(vec![finding(seq, answer(Class::Paid, 140))], 12)
        .await;
    assert_eq!(world.count(State::Paid), 1);
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
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
    let again = disburse::journal::Journal::open(&world.path).unwrap();
    assert_eq!(again.callback_key().await.unwrap(), key);
    assert_ne!(World::new().journal.callback_key().await.unwrap(), key);
}
