//! Who did it: one row of evidence for each command that changed something.

use disburse::domain::{Actor, PaymentId};
use disburse::journal::{Decision, LoadPlan, Loaded};
use disburse::lifecycle::{Class, Event};

use crate::support::*;

fn ana() -> Actor {
    Actor::new("ana", "desk-7", None)
}

fn eva() -> Actor {
    Actor::new("root", "desk-2", Some("eva"))
}

/// What was done, to what, and by whom.
fn acts(world: &World) -> Vec<(String, Option<String>, String)> {
    let reader = world.reader();
    let acts = reader.snapshot(&batch()).unwrap().acts().unwrap();
    let told = acts
        .into_iter()
        .map(|act| (act.act, act.about, act.by.to_string()));
    told.collect()
}

#[tokio::test]
async fn every_order_has_the_name_of_who_gave_it_on_the_chain() {
    let mut world = World::new();
    world.journal = world.journal.clone().acting_as(ana());
    world.load_new(plan(), rows(1..=4)).await;
    let again = world.load(plan(), rows(1..=4)).await;
    assert!(matches!(again, Loaded::AlreadyLoaded(_)));
    world.acquire(1).await;
    world.journal = world.journal.clone().acting_as(eva());
    let seqs: Vec<PaymentId> = world.payments().iter().map(|record| record.seq).collect();
    let ids = world.identifiers();
    let failed = |seq| {
        [
            finding(seq, Event::Claimed),
            finding(seq, reply(Class::Refused, 120)),
        ]
    };
    world.record(failed(seqs[0]).into(), 2).await;
    world
        .record(
            vec![
                finding(seqs[1], Event::Claimed),
                finding(seqs[1], Event::Lost),
            ],
            3,
        )
        .await;
    let journal = &world.journal;
    assert_eq!(journal.retry(batch(), Some(999), at(4)).await.unwrap(), 0);
    assert_eq!(journal.retry(batch(), Some(120), at(4)).await.unwrap(), 1);
    let decision = Decision {
        paid: true,
        reason: "seen".into(),
        evidence: "statement".into(),
    };
    let decided = journal.decide(batch(), "EMP-2".into(), decision, moment(5));
    decided.await.unwrap();
    let one = journal.cancel(batch(), Some("EMP-3".into()), moment(6));
    assert_eq!(one.await.unwrap(), 1);
    let refused = journal.cancel(batch(), Some("EMP-3".into()), moment(6));
    refused.await.unwrap_err();
    // The retry and the last row.
    assert_eq!(journal.cancel(batch(), None, moment(7)).await.unwrap(), 2);
    assert_eq!(journal.cancel(batch(), None, moment(8)).await.unwrap(), 0);
    assert_eq!(
        journal
            .resume_lane(batch(), "B2C".into(), at(9))
            .await
            .unwrap(),
        None
    );
    // Nothing is left to do: this run is none.
    world.acquire(10).await;
    let by = |act: &str, about: Option<&str>, by: Actor| {
        (act.to_owned(), about.map(str::to_owned), by.to_string())
    };
    assert_eq!(
        acts(&world),
        [
            by("load", Some("payroll.csv"), ana()),
            by("run", None, ana()),
            by("retry", Some("code 120"), eva()),
            by("resolve", Some(ids[1].as_str()), eva()),
            by("cancel", Some(ids[2].as_str()), eva()),
            by("cancel", None, eva()),
        ]
    );
    world.assert_adds_up();
    let proof = world
        .reader()
        .snapshot(&batch())
        .unwrap()
        .prove(None)
        .unwrap();
    assert!(proof.is_sound(), "{:#?}", proof.findings);
}

#[tokio::test]
async fn what_is_refused_leaves_no_name() {
    let mut world = World::loaded(2).await;
    world.journal = world.journal.clone().acting_as(ana());
    let other = LoadPlan {
        expect_count: Some(9),
        amend: true,
        ..plan()
    };
    assert!(matches!(
        world.load(other, rows(1..=3)).await,
        Loaded::Refused(_)
    ));
    assert_eq!(acts(&world), []);
}

#[tokio::test]
async fn another_name_in_the_place_of_the_one_on_record_is_found() {
    let mut world = World::new();
    world.journal = world.journal.clone().acting_as(ana());
    world.load_new(plan(), rows(1..=2)).await;
    world
        .sql()
        .execute_batch(
            "drop trigger evidence_is_never_changed;
             update evidence set detail = replace(detail, 'ana', 'eva') where event = 40;
             create trigger evidence_is_never_changed before update on evidence when old.hash is not null
begin select raise(abort, 'evidence is append-only'); end;",
        )
        .unwrap();
    let proof = world
        .reader()
        .snapshot(&batch())
        .unwrap()
        .prove(None)
        .unwrap();
    assert!(!proof.is_sound());
}
