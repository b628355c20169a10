//! Rows that name a time: none is handed out before it, and nothing keeps the others back.

use std::sync::Arc;

use disburse::domain::{Instruction, NOT_BEFORE};
use disburse::journal::{Due, Loaded, RunTerms};
use disburse::ledger::confirmation::{Answer, Confirmation};
use disburse::ledger::schedule::Scheduled;

use crate::proof::assert_sound;
use crate::support::*;

/// A row that is not posted before so many seconds after the first load.
fn not_before(n: u64, secs: i64) -> Instruction {
    Instruction {
        extra: vec![(NOT_BEFORE.to_owned(), at(secs).to_string())],
        ..row(n)
    }
}

fn named(claims: &[disburse::journal::Claim]) -> Vec<String> {
    let reference = |claim: &disburse::journal::Claim| {
        let reference = claim.payment.instruction.reference.as_ref();
        reference.unwrap().to_string()
    };
    claims.iter().map(reference).collect()
}

fn waits_until(secs: i64) -> Due {
    Due {
        scheduled: Some(at(secs)),
        ..Due::default()
    }
}

fn scheduled(world: &World, secs: i64) -> Scheduled {
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    snapshot.scheduled(at(secs)).unwrap()
}

#[tokio::test]
async fn a_row_is_handed_out_at_its_time_and_not_before() {
    let world = World::new();
    let rows = vec![
        row(1),
        not_before(2, 100),
        not_before(3, 50),
        not_before(4, -5),
    ];
    world.load_new(plan(), rows).await;
    assert_eq!(
        scheduled(&world, 0),
        Scheduled {
            count: 2,
            span: Some((at(50), at(100))),
        }
    );
    let token = world.acquire(1).await.token;
    assert_eq!(named(&world.claim(token, 10, 1).await), ["EMP-1", "EMP-4"]);
    assert_eq!(
        world.journal.due(token, at(10)).await.unwrap(),
        waits_until(50)
    );
    assert_eq!(named(&world.claim(token, 10, 49).await), [""; 0]);
    // Another run finds them as they were.
    let token = world.acquire(49).await.token;
    assert_eq!(named(&world.claim(token, 10, 49).await), [""; 0]);
    assert_eq!(
        world.journal.due(token, at(49)).await.unwrap().scheduled,
        Some(at(50))
    );
    assert_eq!(
        world.journal.due(token, at(50)).await.unwrap().post,
        Some(at(50))
    );
    assert_eq!(named(&world.claim(token, 10, 50).await), ["EMP-3"]);
    assert_eq!(scheduled(&world, 50).count, 1);
    assert_eq!(named(&world.claim(token, 10, 99).await), [""; 0]);
    assert_eq!(named(&world.claim(token, 10, 100).await), ["EMP-2"]);
    assert_eq!(scheduled(&world, 0), Scheduled::default());
    world.assert_adds_up();
    assert_sound(&world);
}

#[tokio::test]
async fn what_comes_due_while_a_run_is_at_work_was_confirmed_with_the_others() {
    let world = World::new();
    let rows = vec![row(1), not_before(2, 50), not_before(3, 50), row(4)];
    world.load_new(plan(), rows).await;
    let shown = world.journal.shown(batch()).await.unwrap();
    let terms = RunTerms {
        confirmation: Confirmation::of(shown.open(), shown.bound, Answer::Asked),
        ..terms(1)
    };
    let policy = Arc::clone(&world.policy);
    let acquired = world.journal.acquire(batch(), terms, policy).await;
    let token = acquired.unwrap().token;
    assert_eq!(named(&world.claim(token, 10, 1).await), ["EMP-1", "EMP-4"]);
    assert_eq!(named(&world.claim(token, 1, 50).await), ["EMP-2"]);
    assert_eq!(named(&world.claim(token, 1, 50).await), ["EMP-3"]);
    world.assert_adds_up();
    assert_sound(&world);
}

#[tokio::test]
async fn many_rows_that_wait_keep_none_back_that_is_due() {
    let world = World::new();
    let mut rows: Vec<_> = (1..=3_000).map(|n| not_before(n, 500)).collect();
    rows.push(row(3_001));
    rows.push(not_before(3_002, 20));
    world.load_new(plan(), rows).await;
    let token = world.acquire(1).await.token;
    let mut found = Vec::new();
    // As often as a run would ask: something is due as long as the journal says so.
    for _ in 0..1_000 {
        found.extend(named(&world.claim(token, 5, 1).await));
        if world
            .journal
            .due(token, at(1))
            .await
            .unwrap()
            .post
            .is_none()
        {
            break;
        }
    }
    assert_eq!(found, ["EMP-3001"]);
    assert_eq!(
        world.journal.due(token, at(1)).await.unwrap(),
        waits_until(20)
    );
    let token = world.acquire(20).await.token;
    assert_eq!(
        world.journal.due(token, at(20)).await.unwrap().post,
        Some(at(20))
    );
    assert_eq!(named(&world.claim(token, 5, 20).await), ["EMP-3002"]);
    assert_eq!(scheduled(&world, 20).count, 3_000);
    world.assert_adds_up();
    assert_sound(&world);
}

#[tokio::test]
async fn the_time_is_part_of_the_row() {
    let world = World::new();
    world.load_new(plan(), vec![not_before(1, 100)]).await;
    let again = world.load(plan(), vec![not_before(1, 100)]).await;
    assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
    for other in [not_before(1, 101), row(1)] {
        let loaded = world.load(plan(), vec![other]).await;
        assert!(matches!(loaded, Loaded::Refused(_)), "{loaded:?}");
    }
}
