//! A journal that fails stops for good, and says so.

use std::sync::Arc;
use std::time::Duration;

use disburse::domain::{LaneId, PaymentId};
use disburse::journal::{DatesOrder, Error, Journal, Kind, Location};
use disburse::ledger::calendar::BatchDates;
use disburse::lifecycle::{Class, Event, State};

use crate::support::*;

fn is_latched<T: std::fmt::Debug>(outcome: Result<T, Error>, verb: &str) {
    let error = outcome.expect_err(verb);
    assert!(
        matches!(&error, Error::Poisoned { cause } if cause.to_string().contains("evidence")),
        "{verb}: {error}"
    );
    assert_eq!(error.kind(), Kind::Fault, "{verb}");
}

#[tokio::test]
async fn after_a_fault_every_verb_says_that_the_journal_has_stopped() {
    let world = World::loaded(3).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 1, 2).await;
    let (seq, id) = (claims[0].seq, claims[0].payment.id);
    // Another program's doing.
    world.sql().execute_batch("drop table evidence").unwrap();
    let journal = &world.journal;
    let policy = || Arc::clone(&world.policy);
    let lost = || vec![finding(seq, Event::Lost)];
    let error = journal
        .record(None, lost(), moment(3), policy())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Storage { .. }), "{error}");
    assert_eq!(error.kind(), Kind::Fault);
    let posting: i64 = world
        .sql()
        .query_row("select sum(count) from tally where state = 1", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(posting, 1, "nothing of it was kept");
    is_latched(
        journal.record(None, lost(), moment(4), policy()).await,
        "record",
    );
    is_latched(journal.claim(token, 1, at(4), policy()).await, "claim");
    is_latched(journal.questions(token, 1, at(4), at(9)).await, "questions");
    is_latched(journal.due(token, at(10)).await, "due");
    is_latched(journal.standing(batch()).await, "standing");
    is_latched(journal.knows(id).await, "knows");
    is_latched(journal.callback_key().await, "callback_key");
    is_latched(
        journal.acquire(batch(), terms(4), policy()).await,
        "acquire",
    );
    is_latched(
        journal
            .hold_lane(token, LaneId::new(1), String::new(), at(4))
            .await,
        "hold_lane",
    );
    is_latched(
        journal.reopen_lane(token, LaneId::new(1)).await,
        "reopen_lane",
    );
    is_latched(
        journal.resume_lane(batch(), "B2C".into(), at(4)).await,
        "resume_lane",
    );
    let order = DatesOrder {
        before: BatchDates::default(),
        after: BatchDates::default(),
        reason: "none".into(),
    };
    is_latched(journal.schedule(batch(), order, at(4)).await, "schedule");
    is_latched(journal.approvals(batch(), None, None).await, "approvals");
    is_latched(journal.cancel(batch(), None, moment(4)).await, "cancel");
    is_latched(journal.retry(batch(), None, at(4)).await, "retry");
    let paid = note(id, Class::Paid, 140, 1);
    is_latched(
        journal.callback(paid, moment(4), policy()).await,
        "callback",
    );
    let (sender, receiver) = std::sync::mpsc::channel();
    drop(sender);
    is_latched(journal.load(plan(), receiver).await, "load");
    // Mending the file does not open it again: what was lost meanwhile is not known.
    let schema = include_str!("../../../schema.sql");
    let from = schema.find("create table evidence").unwrap();
    let length = schema[from..].find("\n) strict;").unwrap();
    world
        .sql()
        .execute_batch(&schema[from..=from + length + "\n) strict".len()])
        .unwrap();
    is_latched(journal.due(token, at(10)).await, "due, mended");
}

#[tokio::test]
async fn the_fault_of_one_verb_takes_its_whole_group_with_it() {
    let world = World::loaded(40).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 40, 2).await;
    world
        .sql()
        .execute_batch(
            "create trigger full before insert on evidence when new.event = 3
             begin select raise(abort, 'evidence: no space'); end",
        )
        .unwrap();
    let tasks: Vec<_> = claims
        .iter()
        .enumerate()
        .map(|(index, claim)| {
            let (journal, policy, seq) =
                (world.journal.clone(), Arc::clone(&world.policy), claim.seq);
            let event = if index == 20 {
                Event::Lost
            } else {
                reply(Class::Paid, 140)
            };
            tokio::spawn(async move {
                let findings = vec![finding(seq, event)];
                journal
                    .record(None, findings, moment(3), policy)
                    .await
                    .is_ok()
            })
        })
        .collect();
    let mut told = 0;
    for task in tasks {
        told += u64::from(task.await.unwrap());
    }
    // Whoever was told "recorded" finds it recorded, and nobody else does.
    assert_eq!(world.count(State::Paid), told);
    assert_eq!(world.count(State::Posting), 40 - told);
    world.assert_adds_up();
}

#[tokio::test]
async fn a_second_writer_waits_for_the_first() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    let other = world.sql();
    other.execute_batch("begin immediate").unwrap();
    let (journal, policy) = (world.journal.clone(), Arc::clone(&world.policy));
    let waiting = tokio::spawn(async move { journal.claim(token, 4, at(2), policy).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!waiting.is_finished(), "it waits rather than fails");
    assert_eq!(world.count(State::Ready), 4);
    other.execute_batch("commit").unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().0.len(), 4);
}

#[tokio::test]
async fn two_journals_on_one_file_take_turns() {
    let world = World::loaded(50).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 50, 2).await;
    let second = Journal::open(&Location::from(&world.path)).unwrap();
    let tasks: Vec<_> = claims
        .iter()
        .enumerate()
        .map(|(index, claim)| {
            let journal = if index % 2 == 0 {
                world.journal.clone()
            } else {
                second.clone()
            };
            let (policy, note) = (
                Arc::clone(&world.policy),
                note(claim.payment.id, Class::Paid, 140, 1),
            );
            tokio::spawn(async move { journal.callback(note, moment(3), policy).await.unwrap() })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(world.count(State::Paid), 50);
    world.assert_adds_up();
}

#[tokio::test]
async fn a_damaged_row_is_a_fault_and_no_guess() {
    let world = World::loaded(2).await;
    let token = world.acquire(1).await.token;
    world.claim(token, 1, 1).await;
    let c = world.sql();
    c.execute_batch(
        "pragma ignore_check_constraints = on; update life set state = 42 where seq = 1",
    )
    .unwrap();
    let policy = Arc::clone(&world.policy);
    let outcome = world
        .journal
        .record(
            None,
            vec![finding(PaymentId::new(1), Event::Lost)],
            moment(2),
            policy,
        )
        .await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert_eq!(error.kind(), Kind::Fault);
    assert!(world.journal.due(token, at(10)).await.is_err());
}
