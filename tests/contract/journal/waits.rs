//! First questions, which the run remembers instead of the journal.

use std::collections::BTreeSet;
use std::sync::Arc;

use disburse::domain::PaymentId;
use disburse::journal::{Claim, Due, Journal, Location, RunToken};
use disburse::lifecycle::{Class, Event, State};

use crate::support::*;

/// Claims everything and has it acknowledged.
async fn acknowledged(world: &World, token: RunToken, secs: i64) -> Vec<Claim> {
    let mut claims = world.claim(token, 1000, secs).await;
    claims.sort_by_key(|claim| claim.seq);
    for block in claims.chunks(100) {
        let said = block
            .iter()
            .map(|claim| finding(claim.seq, reply(Class::Acknowledged, 139)));
        world.record(said.collect(), secs).await;
    }
    claims
}

/// The number of payments that stand in no queue.
fn aside(world: &World) -> i64 {
    world
        .sql()
        .query_row("select count(*) from life where queued = 0", [], |row| {
            row.get(0)
        })
        .unwrap()
}

/// Asks until nothing more is due; whom, and what is due then.
async fn ask_all(world: &World, token: RunToken, secs: i64) -> (Vec<PaymentId>, Due) {
    let mut asked = Vec::new();
    // More often than there are payments it asks in vain.
    for _ in 0..1000 {
        let questions = world.journal.questions(token, 64, at(secs), at(secs + 60));
        let (questions, due) = questions.await.unwrap();
        asked.extend(questions.iter().map(|question| question.seq));
        if due.ask.is_none_or(|ask| ask > at(secs)) {
            return (asked, due);
        }
    }
    panic!("something stays due at {secs}: {} were asked", asked.len());
}

#[tokio::test]
async fn what_is_acknowledged_is_asked_about_once_its_time_has_come() {
    let world = World::loaded(600).await;
    let token = world.acquire(1).await.token;
    let claims = acknowledged(&world, token, 2).await;
    assert_eq!(aside(&world), 600);
    // Some are settled before: by their callbacks.
    let mut open: BTreeSet<PaymentId> = claims.iter().map(|claim| claim.seq).collect();
    for claim in claims.iter().step_by(3) {
        world
            .callback(note(claim.payment.id, Class::Paid, 140, 1), 3)
            .await;
        open.remove(&claim.seq);
    }
    // The callback has five minutes, less a quarter at most.
    let (early, due) = ask_all(&world, token, 226).await;
    assert!(early.is_empty(), "{early:?}");
    assert!(due.ask.is_some_and(|ask| ask > at(226)), "{due:?}");
    let (asked, due) = ask_all(&world, token, 302).await;
    assert_eq!(asked.len(), open.len(), "each once");
    assert_eq!(asked.into_iter().collect::<BTreeSet<PaymentId>>(), open);
    assert_eq!(due.ask, Some(at(362)), "the leases");
    assert_eq!(aside(&world), 0);
    world.assert_adds_up();
}

#[tokio::test]
async fn what_a_run_that_broke_off_remembered_is_asked_about_by_the_next_one() {
    let year = 365 * 86_400;
    // The clock of the first run may have been a year ahead.
    for first in [2, year] {
        let mut world = World::loaded(600).await;
        let token = world.acquire(first).await.token;
        let claims = acknowledged(&world, token, first).await;
        assert_eq!(aside(&world), 600);
        world.journal = Journal::open_existing(&Location::from(&world.path)).unwrap();
        let token = world.acquire(100).await.token;
        let (asked, _) = ask_all(&world, token, 302).await;
        assert_eq!(asked.len(), 600, "each once");
        let asked: BTreeSet<PaymentId> = asked.into_iter().collect();
        assert!(claims.iter().all(|claim| asked.contains(&claim.seq)));
        assert_eq!(aside(&world), 0);
    }
}

#[tokio::test]
async fn only_the_run_that_asks_takes_a_payment_out_of_the_queue() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 4, 2).await;
    let said = |index: usize, event| vec![finding(claims[index].seq, event)];
    // Another process learns of it: nobody there remembers when to ask.
    let other = Journal::open_existing(&Location::from(&world.path)).unwrap();
    let told = said(0, reply(Class::Acknowledged, 139));
    let policy = Arc::clone(&world.policy);
    other.record(None, told, moment(3), policy).await.unwrap();
    assert_eq!(aside(&world), 0);
    // What is not merely acknowledged stands in the queue from the beginning.
    world.record(said(1, Event::Lost), 3).await;
    world.record(said(2, reply(Class::Delivered, 148)), 3).await;
    assert_eq!(aside(&world), 0);
    world
        .record(said(3, reply(Class::Acknowledged, 139)), 3)
        .await;
    assert_eq!(aside(&world), 1);
    // And so does what moves on.
    world
        .record(said(3, answer(Class::Acknowledged, 139)), 5)
        .await;
    assert_eq!(aside(&world), 0);
    let (asked, _) = ask_all(&world, token, 3600).await;
    assert_eq!(asked.len(), 4);
    assert_eq!(world.count(State::Acknowledged), 2);
}

#[tokio::test]
async fn nothing_but_what_is_acknowledged_can_stand_outside_the_queue() {
    let world = World::loaded(2).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 2, 2).await;
    world
        .record(vec![finding(claims[0].seq, Event::Lost)], 3)
        .await;
    for change in [
        "update life set queued = 0 where state = 2",
        "update life set queued = 0 where state = 1",
        "update life set queued = 2",
    ] {
        let refused = world.sql().execute(change, []).unwrap_err();
        assert!(refused.to_string().contains("CHECK"), "{change}: {refused}");
    }
}
