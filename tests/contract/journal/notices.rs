//! Notices in the journal: made once, kept until they are taken, handed out one at a time.

use std::time::Duration;

use disburse::domain::Timestamp;
use disburse::journal::{NewNotice, NextNotice};
use disburse::ledger::notices::{Condition, NoticeKind};

use crate::support::*;

const LEASE: Duration = Duration::from_secs(120);

fn so(kind: NoticeKind, figure: u64) -> NewNotice {
    NewNotice {
        condition: Condition {
            kind,
            subject: String::new(),
            figure,
        },
        data: format!("{{\"figure\":{figure}}}"),
    }
}

async fn make(world: &World, is_open: bool, so: Vec<NewNotice>, secs: i64) -> usize {
    let made = world.journal.make_notices(batch(), is_open, so, at(secs));
    made.await.unwrap()
}

async fn next(world: &World, at_once: bool, secs: i64) -> NextNotice {
    world
        .journal
        .next_notice(at_once, at(secs), LEASE)
        .await
        .unwrap()
}

/// Takes the next notice, which must be there; returns its id and its text.
async fn handed(world: &World, secs: i64) -> (String, String) {
    match next(world, false, secs).await {
        NextNotice::Deliver { id, body, .. } => (id, body),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_told_is_told_once_while_it_stands_and_again_when_it_comes_back() {
    let world = World::loaded(1).await;
    let conflict = || vec![so(NoticeKind::Conflict, 1)];
    assert_eq!(make(&world, true, conflict(), 0).await, 1);
    assert_eq!(make(&world, true, conflict(), 5).await, 0);
    assert_eq!(make(&world, true, vec![], 10).await, 0);
    assert_eq!(
        make(&world, true, conflict(), 20).await,
        0,
        "a moment later"
    );
    assert_eq!(make(&world, true, vec![], 30).await, 0);
    assert_eq!(make(&world, true, conflict(), 4_000).await, 1);
    assert_eq!(world.reader().notices_waiting(9).unwrap().count, 2);
    let (first, _) = handed(&world, 5_000).await;
    world.journal.notice_delivered(first.clone()).await.unwrap();
    let (second, _) = handed(&world, 5_000).await;
    assert_ne!(
        first, second,
        "the second of its kind has a name of its own"
    );
    world.journal.notice_delivered(second).await.unwrap();
    assert_eq!(next(&world, true, 5_000).await, NextNotice::Nothing);
}

#[tokio::test]
async fn the_end_of_a_batch_is_told_where_it_was_seen_open() {
    let world = World::loaded(1).await;
    let finished = || vec![so(NoticeKind::Finished, 1)];
    assert_eq!(make(&world, false, finished(), 0).await, 0, "long ago");
    assert_eq!(make(&world, true, vec![], 10).await, 0);
    let watched = world.reader().batches_to_watch().unwrap();
    assert_eq!(watched, [batch()]);
    assert_eq!(make(&world, false, finished(), 20).await, 1);
    assert_eq!(make(&world, false, finished(), 30).await, 0);
    // It is opened again, and ends again.
    assert_eq!(make(&world, true, vec![], 40).await, 0);
    assert_eq!(make(&world, false, finished(), 50).await, 1);
}

#[tokio::test]
async fn one_is_handed_out_at_a_time_the_oldest_first_and_to_one_only() {
    let world = World::loaded(1).await;
    let both = vec![so(NoticeKind::Conflict, 1), so(NoticeKind::Stopped, 1)];
    assert_eq!(make(&world, true, both, 0).await, 2);
    let (first, text) = handed(&world, 10).await;
    assert!(text.starts_with("{\"type\":\"conflict\","), "{text}");
    // It is under way, for whoever asks, and also for a person in a hurry.
    let leased = NextNotice::NotBefore(at(130));
    assert_eq!(next(&world, false, 11).await, leased);
    assert_eq!(next(&world, true, 11).await, leased);
    // Whoever had it was killed: the same again.
    assert_eq!(handed(&world, 130).await, (first.clone(), text.clone()));
    let due = at(200);
    let failed = world
        .journal
        .notice_failed(first.clone(), "HTTP 503".into(), due);
    failed.await.unwrap();
    assert_eq!(next(&world, false, 199).await, NextNotice::NotBefore(due));
    let waiting = world.reader().notices_waiting(1).unwrap();
    assert_eq!((waiting.count, waiting.first.len()), (2, 1));
    assert_eq!(waiting.first[0].trouble.as_deref(), Some("HTTP 503"));
    let expected = NextNotice::Deliver {
        id: first.clone(),
        body: text,
        attempts: 3,
    };
    assert_eq!(next(&world, true, 199).await, expected);
    world.journal.notice_delivered(first).await.unwrap();
    let (_, text) = handed(&world, 199).await;
    assert!(text.starts_with("{\"type\":\"stopped\","), "{text}");
}

#[tokio::test]
async fn no_more_than_a_thousand_wait_and_what_is_beyond_them_is_made_once_there_is_room() {
    let world = World::loaded(1).await;
    let lanes = |count: usize| {
        let lane = |number: usize| NewNotice {
            condition: Condition {
                kind: NoticeKind::LaneHeld,
                subject: format!("S{number:04}"),
                figure: 1,
            },
            data: "{}".to_owned(),
        };
        (0..count).map(lane).collect::<Vec<_>>()
    };
    assert_eq!(make(&world, true, lanes(1_002), 0).await, 1_000);
    assert_eq!(make(&world, true, lanes(1_002), 1).await, 0);
    let (id, _) = handed(&world, 2).await;
    world.journal.notice_delivered(id).await.unwrap();
    assert_eq!(make(&world, true, lanes(1_002), 3).await, 1);
    assert_eq!(world.reader().notices_waiting(9).unwrap().count, 1_000);
}

#[tokio::test]
async fn notices_are_no_evidence_and_change_no_payment() {
    let world = World::loaded(2).await;
    let before = world.standing();
    make(&world, true, vec![so(NoticeKind::Stopped, 1)], 0).await;
    assert_eq!(world.standing(), before);
    world.assert_adds_up();
    let _: Option<Timestamp> = world.reader().last_evidence_at().unwrap();
}
