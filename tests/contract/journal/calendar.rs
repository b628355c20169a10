//! The dates of a batch and the hours of a service: nothing is handed out outside of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use disburse::domain::{ServiceCode, Timestamp, WireZone};
use disburse::journal::{
    DatesOrder, Due, Error, LoadPlan, LoadRefusal, Loaded, RunTerms, RunToken,
};
use disburse::ledger::calendar::{BatchDates, Calendar, OpeningHours};

use crate::proof::assert_sound;
use crate::support::*;

fn dates(from: Option<i64>, until: Option<i64>) -> BatchDates {
    BatchDates {
        not_before: from.map(at),
        not_after: until.map(at),
    }
}

fn order(before: BatchDates, after: BatchDates) -> DatesOrder {
    DatesOrder {
        before,
        after,
        reason: "the bank asked for it".into(),
    }
}

/// A calendar in which the service of all rows is open in that minute of the first load that has this number, and the next one.
fn open_from_minute(minute: i64) -> Arc<Calendar> {
    let clock = |minute: i64| WireZone::utc().format(at(minute * 60))[11..16].to_owned();
    let text = format!("Mon-Sun {}-{}", clock(minute), clock(minute + 2));
    let hours = OpeningHours::parse(&text, WireZone::utc(), Arc::default()).unwrap();
    let service: ServiceCode = row(1).service;
    Arc::new(Calendar::new(BTreeMap::from([(service, hours)])))
}

async fn taken(world: &World, calendar: Arc<Calendar>, secs: i64) -> RunToken {
    let terms = RunTerms {
        calendar,
        ..terms(secs)
    };
    let policy = Arc::clone(&world.policy);
    let acquired = world.journal.acquire(batch(), terms, policy).await;
    acquired.unwrap().token
}

async fn due(world: &World, token: RunToken, secs: i64) -> Due {
    world.journal.due(token, at(secs)).await.unwrap()
}

fn closes(minute: i64) -> Option<Timestamp> {
    let first = at(0).as_millis().div_euclid(60_000);
    Some(Timestamp::from_millis((first + minute) * 60_000))
}

#[tokio::test]
async fn a_closed_service_hands_out_nothing_and_says_when_it_opens() {
    let world = World::new();
    world.load_new(plan(), vec![row(1), row(2), row(3)]).await;
    let calendar = open_from_minute(5);
    let token = taken(&world, Arc::clone(&calendar), 1).await;
    assert!(world.claim(token, 10, 1).await.is_empty());
    let found = due(&world, token, 1).await;
    assert_eq!(
        (found.post, found.scheduled, found.over),
        (None, closes(5), false)
    );
    let claims = world.claim(token, 1, 5 * 60).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].leave_by, closes(7), "it closes two minutes later");
    // A payment whose life has begun is kept to the hours as well.
    let unsent = vec![finding(claims[0].seq, disburse::lifecycle::Event::Unsent)];
    world.record(unsent, 5 * 60 + 1).await;
    assert!(world.claim(token, 10, 7 * 60).await.is_empty());
    assert!(due(&world, token, 7 * 60).await.post.is_none());
    // Another run, and another calendar: it is the one in force that counts.
    let token = taken(&world, Arc::default(), 8 * 60).await;
    let claims = world.claim(token, 10, 8 * 60).await;
    assert_eq!(claims.len(), 3);
    assert!(claims.iter().all(|claim| claim.leave_by.is_none()));
    world.assert_adds_up();
    assert_sound(&world);
}

#[tokio::test]
async fn a_batch_is_handed_out_between_its_dates_whoever_changes_them_while_it_runs() {
    let world = World::new();
    let with_dates = LoadPlan {
        dates: dates(Some(50), Some(100)),
        ..plan()
    };
    world
        .load_new(with_dates, vec![row(1), row(2), row(3)])
        .await;
    let token = world.acquire(1).await.token;
    assert!(world.claim(token, 1, 49).await.is_empty());
    assert_eq!(due(&world, token, 49).await.scheduled, Some(at(50)));
    let claims = world.claim(token, 1, 50).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(claims[0].leave_by, Some(at(100)));
    assert!(world.claim(token, 1, 100).await.is_empty());
    let found = due(&world, token, 100).await;
    assert_eq!(
        (found.post, found.scheduled, found.over),
        (None, None, true)
    );
    // Beside the run, somebody gives it more time.
    let later = dates(Some(50), Some(200));
    let ordered = order(dates(Some(50), Some(100)), later);
    world
        .journal
        .schedule(batch(), ordered, at(110))
        .await
        .unwrap();
    assert_eq!(world.claim(token, 1, 110).await.len(), 1);
    // And takes it away again.
    let ordered = order(later, dates(Some(500), None));
    world
        .journal
        .schedule(batch(), ordered, at(120))
        .await
        .unwrap();
    assert!(world.claim(token, 1, 121).await.is_empty());
    assert_eq!(due(&world, token, 121).await.scheduled, Some(at(500)));
    let standing = world.journal.standing(batch()).await.unwrap();
    assert_eq!(standing.dates, dates(Some(500), None));
    world.assert_adds_up();
    assert_sound(&world);
}

#[tokio::test]
async fn dates_that_were_not_shown_are_not_changed() {
    let world = World::new();
    world.load_new(plan(), vec![row(1)]).await;
    let none = BatchDates::default();
    let shown = order(dates(Some(1), None), dates(Some(2), None));
    let refused = world.journal.schedule(batch(), shown, at(5)).await;
    assert!(
        matches!(refused, Err(Error::DatesChanged { .. })),
        "{refused:?}"
    );
    let rows = |world: &World| {
        let reader = world.reader();
        reader
            .snapshot(&batch())
            .unwrap()
            .standing()
            .unwrap()
            .evidence
            .length
    };
    let before = rows(&world);
    world
        .journal
        .schedule(batch(), order(none, none), at(5))
        .await
        .unwrap();
    assert_eq!(
        rows(&world),
        before,
        "nothing is recorded where nothing changes"
    );
    let ordered = order(none, dates(Some(9), None));
    world
        .journal
        .schedule(batch(), ordered, at(5))
        .await
        .unwrap();
    assert!(rows(&world) > before);
    assert_sound(&world);
}

#[tokio::test]
async fn the_file_comes_again_with_the_dates_of_its_batch_or_with_none() {
    let world = World::new();
    let from = |secs| LoadPlan {
        dates: dates(Some(secs), None),
        ..plan()
    };
    world.load_new(from(50), vec![row(1)]).await;
    for (again, fits) in [(plan(), true), (from(50), true), (from(51), false)] {
        match world.load(again, vec![row(1)]).await {
            Loaded::AlreadyLoaded(_) => assert!(fits),
            Loaded::Refused(LoadRefusal::OtherDates(on_record)) => {
                assert!(!fits);
                assert_eq!(on_record, dates(Some(50), None));
            }
            other => panic!("{other:?}"),
        }
    }
    // Those that it was loaded with are taken whatever was ordered since, and change nothing.
    for ordered in [dates(Some(60), None), BatchDates::default()] {
        let before = world.journal.standing(batch()).await.unwrap().dates;
        let order = order(before, ordered);
        world.journal.schedule(batch(), order, at(5)).await.unwrap();
        for again in [50, 60, 51] {
            let loaded = world.load(from(again), vec![row(1)]).await;
            let fits = again == 50 || dates(Some(again), None) == ordered;
            assert_eq!(matches!(loaded, Loaded::AlreadyLoaded(_)), fits, "{again}");
            let standing = world.journal.standing(batch()).await.unwrap();
            assert_eq!(standing.dates, ordered);
        }
    }
}

#[tokio::test]
async fn dates_that_were_ordered_are_not_those_of_the_load() {
    let world = World::new();
    world.load_new(plan(), vec![row(1)]).await;
    let first = dates(Some(50), None);
    for (before, after) in [
        (BatchDates::default(), first),
        (first, dates(Some(60), None)),
    ] {
        world
            .journal
            .schedule(batch(), order(before, after), at(5))
            .await
            .unwrap();
    }
    let again = LoadPlan {
        dates: first,
        ..plan()
    };
    let refused = world.load(again, vec![row(1)]).await;
    assert!(
        matches!(refused, Loaded::Refused(LoadRefusal::OtherDates(_))),
        "{refused:?}"
    );
}
