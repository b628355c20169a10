//! An order that replies are read in another way: what the earlier reading called failed or not found is asked about once more.

use std::sync::Arc;

use disburse::domain::{BatchName, PayerTransactionId, PaymentId};
use disburse::journal::{Home, LoadPlan, LoadRefusal, Loaded, RepeatPlan, RunTerms, RunToken};
use disburse::lifecycle::{Class, Event, State};

use super::stale::assert_proven;
use crate::support::*;

fn mended(accepts_reading: bool) -> Home {
    Home {
        reading: "mended".into(),
        accepts_reading,
        ..home()
    }
}

/// A journal whose one payment was lost.
async fn lost() -> (World, PaymentId) {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let seq = world.claim(token, 9, 1).await[0].seq;
    world.record(vec![finding(seq, Event::Lost)], 2).await;
    (world, seq)
}

async fn acquire(world: &World, secs: i64) -> RunToken {
    let terms = RunTerms {
        home: mended(false),
        ..terms(secs)
    };
    let policy = Arc::clone(&world.policy);
    let acquired = world.journal.acquire(batch(), terms, policy).await;
    acquired.unwrap().token
}

async fn accept(world: &World, secs: i64) {
    let journal = &world.journal;
    journal.pin(batch(), mended(true), at(secs)).await.unwrap();
}

async fn asked(world: &World, secs: i64) -> Vec<PayerTransactionId> {
    let token = acquire(world, secs).await;
    let asked = world.journal.questions(token, 9, at(secs), at(secs + 60));
    asked.await.unwrap().0.iter().map(|q| q.id).collect()
}

#[tokio::test]
async fn a_failure_is_asked_about_again_before_anything_is_paid_on_its_word() {
    let (world, seq) = lost().await;
    let id = world.identifiers()[0];
    world
        .record(vec![finding(seq, answer(Class::Failed, 141))], 4)
        .await;
    accept(&world, 5).await;
    assert_eq!(world.standing().doubtful, 1);
    assert_proven(&world);
    assert_eq!(asked(&world, 6).await, [id]);
    // It says so in the new reading, too.
    world
        .record(vec![finding(seq, answer(Class::Failed, 141))], 7)
        .await;
    assert_eq!(world.standing().doubtful, 0);
    assert_proven(&world);
}

#[tokio::test]
async fn a_retry_waits_until_the_failure_is_confirmed_in_the_new_reading() {
    let (world, seq) = lost().await;
    let id = world.identifiers()[0];
    world
        .record(vec![finding(seq, answer(Class::Failed, 141))], 4)
        .await;
    world.journal.retry(batch(), None, at(5)).await.unwrap();
    accept(&world, 6).await;
    let token = acquire(&world, 7).await;
    assert!(world.claim(token, 9, 7).await.is_empty());
    assert_eq!(asked(&world, 8).await, [id]);
    assert_proven(&world);
    world
        .record(vec![finding(seq, answer(Class::Failed, 141))], 9)
        .await;
    let token = acquire(&world, 10).await;
    assert_eq!(world.claim(token, 9, 10).await.len(), 1);
    assert_proven(&world);
}

#[tokio::test]
async fn what_was_not_found_in_the_old_reading_is_asked_about_before_it_is_posted_again() {
    let (world, seq) = lost().await;
    let not_found = answer(Class::NotFound, 143);
    for secs in [70, 120] {
        world.record(vec![finding(seq, not_found)], secs).await;
    }
    assert_eq!(world.count(State::Ready), 1);
    accept(&world, 121).await;
    assert_eq!(world.count(State::Ready), 0, "it is in doubt again");
    let token = acquire(&world, 122).await;
    assert!(world.claim(token, 9, 122).await.is_empty());
    assert_eq!(asked(&world, 123).await, [world.identifiers()[0]]);
    assert_proven(&world);
}

#[tokio::test]
async fn a_like_row_elsewhere_is_not_excused_by_a_failure_that_another_reading_found() {
    let (world, seq) = lost().await;
    world
        .record(vec![finding(seq, answer(Class::Failed, 141))], 4)
        .await;
    let again = |name: &str, reading: &str| LoadPlan {
        batch: BatchName::parse(name).unwrap(),
        source: format!("{name}.csv"),
        now: at(100),
        repeats: Some(RepeatPlan {
            reading: Some(reading.to_owned()),
            ..RepeatPlan::default()
        }),
        ..plan()
    };
    let refused = world.load(again("again", "mended"), rows(1..=1)).await;
    assert!(
        matches!(
            refused,
            Loaded::Refused(LoadRefusal::BadRows {
                repeats: Some(_),
                ..
            })
        ),
        "{refused:?}"
    );
    let loaded = world.load(again("once", "document"), rows(1..=1)).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
}
