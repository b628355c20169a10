//! What a monitoring system is told of the journal.

use disburse::domain::BatchName;
use disburse::journal::Figures;
use disburse::ledger::Purpose;
use disburse::lifecycle::{Event, State};

use crate::support::*;

fn figures(world: &World, batch: Option<&BatchName>) -> Figures {
    world.reader().figures(batch).unwrap()
}

fn count(figures: &Figures, state: State) -> u64 {
    let rows = figures.rows.iter().filter(|row| row.state == state);
    rows.map(|row| row.tally.count).sum()
}

#[tokio::test]
async fn states_doubts_and_held_services_are_told_as_they_are() {
    let world = World::loaded(3).await;
    let found = figures(&world, Some(&batch()));
    assert_eq!((count(&found, State::Ready), found.unfinished()), (3, 3));
    assert_eq!(found.oldest_doubt, None);
    assert!(found.held.iter().all(|held| held.batches == 0) && !found.held.is_empty());
    let token = world.acquire(10).await.token;
    let claims = world.claim(token, 2, 20).await;
    assert_eq!(claims.len(), 2);
    world
        .record(vec![finding(claims[0].seq, Event::Lost)], 21)
        .await;
    let later = figures(&world, Some(&batch()));
    assert_eq!(count(&later, State::InDoubt), 1);
    assert_eq!(count(&later, State::Posting), 1);
    assert_eq!(later.oldest_doubt, Some(at(20)), "since its post");
    assert!(later.evidence_rows > found.evidence_rows);
    let hold = world
        .journal
        .hold_lane(token, claims[1].lane, "no float (230)".into(), at(30));
    hold.await.unwrap();
    let held = figures(&world, None).held;
    assert_eq!(held.iter().map(|held| held.batches).sum::<u64>(), 1);
}

#[tokio::test]
async fn a_rehearsal_is_in_its_own_figures_alone() {
    let world = World::loaded(2).await;
    let mut rehearsal = other_batch("rehearsal", 1);
    rehearsal.purpose = Purpose::Rehearsal;
    rehearsal.repeats = None;
    let name = rehearsal.batch.clone();
    world.load_new(rehearsal, rows(1..=5)).await;
    assert_eq!(figures(&world, None).unfinished(), 2);
    assert_eq!(figures(&world, Some(&name)).unfinished(), 5);
    let unknown = BatchName::parse("nobody").unwrap();
    assert!(world.reader().figures(Some(&unknown)).is_err());
    // The connection is as it was: what was begun has ended.
    let reader = world.reader();
    assert!(reader.figures(Some(&unknown)).is_err());
    assert_eq!(reader.figures(None).unwrap().unfinished(), 2);
}
