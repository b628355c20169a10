//! Payments that may have left: what was not found long ago is asked about before it is posted again.

use disburse::domain::PaymentId;
use disburse::journal::{Claim, Clearance};
use disburse::lifecycle::{Class, Event, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

/// A journal whose one payment was lost, and was not found twice by 120 s.
async fn vanished() -> (World, Claim) {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 9, 1).await.remove(0);
    let not_found = answer(Class::NotFound, 143);
    for (event, secs) in [(Event::Lost, 2), (not_found, 70), (not_found, 120)] {
        world.record(vec![finding(claim.seq, event)], secs).await;
    }
    assert_eq!(world.count(State::Ready), 1);
    (world, claim)
}

async fn not_found_twice(world: &World, seq: PaymentId, secs: i64) {
    assert_eq!(world.count(State::InDoubt), 1);
    for secs in [secs, secs + 20] {
        let not_found = answer(Class::NotFound, 143);
        world.record(vec![finding(seq, not_found)], secs).await;
    }
    assert_eq!(world.count(State::Ready), 1);
}

pub(super) fn assert_proven(world: &World) {
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    let reader = world.reader();
    let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
    assert!(proof.is_sound(), "{:#?}", proof.findings);
}

#[tokio::test]
async fn what_was_not_found_long_ago_is_asked_about_at_its_claim() {
    let (world, claim) = vanished().await;
    let token = world.acquire(121).await.token;
    // It waited for its turn for longer than "not found" is worth anything.
    let policy = std::sync::Arc::clone(&world.policy);
    let claimed = world.journal.claim(token, 9, at(181), policy).await;
    let (claims, due, altered) = claimed.unwrap();
    assert!(claims.is_empty() && altered.is_none());
    assert_eq!((due.post, due.ask), (None, Some(at(181))));
    not_found_twice(&world, claim.seq, 190).await;
    let claimed = world.claim(token, 9, 211).await;
    assert_eq!(claimed.len(), 1, "it was asked about just now");
    assert_eq!(world.find("EMP-1").life.exposures, 1, "no further post");
    assert_proven(&world);
}

#[tokio::test]
async fn what_was_not_found_just_now_is_posted_at_once() {
    let (world, _) = vanished().await;
    let token = world.acquire(150).await.token;
    assert_eq!(world.claim(token, 9, 180).await.len(), 1);
}

#[tokio::test]
async fn a_claim_that_slept_is_withheld_and_asked_about_again() {
    let (world, claim) = vanished().await;
    let token = world.acquire(121).await.token;
    assert!(world.claim(token, 9, 130).await[0].looked_at_last);
    // It waited for its turn; then the machine slept, and the first copy may have come to the gateway meanwhile.
    for (secs, expected) in [(179, Clearance::Leaves), (181, Clearance::Withheld)] {
        let policy = std::sync::Arc::clone(&world.policy);
        let looked = world
            .journal
            .clearances(token, vec![claim.seq], at(secs), policy)
            .await;
        assert_eq!(looked.unwrap(), [(claim.seq, expected)], "{secs}");
    }
    world
        .record(vec![finding(claim.seq, Event::Unsent)], 181)
        .await;
    assert!(world.claim(token, 9, 200).await.is_empty());
    not_found_twice(&world, claim.seq, 210).await;
    assert_eq!(world.claim(token, 9, 231).await.len(), 1);
    assert_eq!(world.find("EMP-1").life.exposures, 1, "no further post");
    assert_proven(&world);
}

#[tokio::test]
async fn a_repeat_that_waited_for_float_is_asked_about_when_a_run_begins() {
    let (world, claim) = vanished().await;
    let token = world.acquire(130).await.token;
    assert_eq!(world.claim(token, 9, 131).await.len(), 1);
    let no_float = reply(Class::NoFloat, 230);
    world.record(vec![finding(claim.seq, no_float)], 132).await;
    assert_eq!(world.count(State::Ready), 1);
    // A day later.
    let token = world.acquire(90_000).await.token;
    assert!(world.claim(token, 9, 90_001).await.is_empty());
    let questions = world
        .journal
        .questions(token, 9, at(90_002), at(90_060))
        .await;
    assert_eq!(questions.unwrap().0[0].seq, claim.seq);
    not_found_twice(&world, claim.seq, 90_010).await;
    assert_eq!(world.claim(token, 9, 90_031).await.len(), 1);
    assert_proven(&world);
    // What never left waits as long as it likes.
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 9, 1).await.remove(0);
    world.record(vec![finding(claim.seq, no_float)], 2).await;
    let token = world.acquire(90_000).await.token;
    assert_eq!(world.claim(token, 9, 90_001).await.len(), 1);
}

#[tokio::test]
async fn a_clock_that_was_ahead_once_does_not_keep_a_payment_from_its_post() {
    let (world, claim) = vanished().await;
    // By the clock of another process the next answer comes a year later.
    let token = world.acquire(90_000).await.token;
    for secs in [31_000_000, 90_020, 90_040] {
        let not_found = answer(Class::NotFound, 143);
        world
            .record(vec![finding(claim.seq, not_found)], secs)
            .await;
    }
    assert_eq!(world.claim(token, 9, 90_050).await.len(), 1);
}
