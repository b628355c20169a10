//! Verbs that arrive together share a transaction, and each still does its own work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use disburse::journal::{Journal, Kind, Location, Received};
use disburse::lifecycle::{Class, Event, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_verbs_of_many_tasks_at_once_all_take_effect() {
    let world = World::loaded(600).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 600, 2).await;
    let started = Instant::now();
    let mut tasks = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        let (journal, policy) = (world.journal.clone(), Arc::clone(&world.policy));
        let (seq, id) = (claim.seq, claim.payment.id);
        tasks.push(tokio::spawn(async move {
            match index % 3 {
                0 => {
                    let finding = finding(seq, reply(Class::Paid, 140));
                    let moves = journal.record(None, vec![finding], moment(3), policy).await;
                    assert_eq!(moves.unwrap()[0].life.state, State::Paid);
                }
                1 => {
                    let note = note(id, Class::Failed, 141, 1);
                    let received = journal.callback(note, moment(3), policy).await.unwrap();
                    assert!(matches!(received, Received::Stored(Some(_))));
                }
                _ => {
                    let finding = finding(seq, Event::Lost);
                    journal
                        .record(None, vec![finding], moment(3), policy)
                        .await
                        .unwrap();
                    journal.standing(batch()).await.unwrap();
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    for state in [State::Paid, State::Failed, State::InDoubt] {
        assert_eq!(world.count(state), 200, "{state:?}");
    }
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn more_verbs_than_the_queue_holds_wait_their_turn() {
    let world = World::loaded(1).await;
    let id = world.identifiers()[0];
    let tasks: Vec<_> = (0..4000)
        .map(|_| {
            let journal = world.journal.clone();
            tokio::spawn(async move { journal.knows(id).await.unwrap() })
        })
        .collect();
    for task in tasks {
        assert!(task.await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refusal_among_them_spoils_nothing() {
    let world = World::loaded(60).await;
    let token = world.acquire(1).await.token;
    let tasks: Vec<_> = (0..60)
        .map(|index| {
            let (journal, policy) = (world.journal.clone(), Arc::clone(&world.policy));
            tokio::spawn(async move {
                if index % 2 == 0 {
                    let error = journal
                        .cancel(batch(), Some(format!("none-{index}").into()), moment(2))
                        .await
                        .unwrap_err();
                    assert_eq!(error.kind(), Kind::Refused);
                    return Vec::new();
                }
                journal.claim(token, 2, at(2), policy).await.unwrap().0
            })
        })
        .collect();
    let mut seen = BTreeSet::new();
    for task in tasks {
        seen.extend(task.await.unwrap().iter().map(|claim| claim.seq));
    }
    assert_eq!(seen.len(), 60);
    world.assert_adds_up();
}

#[tokio::test]
async fn what_a_verb_did_is_on_disk_when_it_returns() {
    let world = World::loaded(20).await;
    let token = world.acquire(1).await.token;
    for done in 1..=20 {
        let claims = world.claim(token, 1, 2).await;
        // Another connection, as another process would have.
        let there: i64 = world
            .sql()
            .query_row("select count(*) from life where state = 1", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(there, done);
        assert_eq!(claims.len(), 1);
    }
}

#[tokio::test]
async fn what_another_process_wrote_is_read_and_not_taken_from_memory() {
    let world = World::loaded(2).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 2, 2).await;
    // A listener of its own, which settles one payment and hears of the other one twice.
    let listener = Journal::open_existing(&Location::from(&world.path)).unwrap();
    let heard = |digest, class, code, secs| {
        let id = claims[usize::from(digest != 1)].payment.id;
        let (note, policy) = (note(id, class, code, digest), Arc::clone(&world.policy));
        let listener = &listener;
        async move { listener.callback(note, moment(secs), policy).await.unwrap() }
    };
    let paid = heard(1, Class::Paid, 140, 3).await;
    assert!(matches!(paid, Received::Stored(Some(_))), "{paid:?}");
    heard(2, Class::Acknowledged, 139, 3).await;
    let moved = world
        .record(vec![finding(claims[0].seq, Event::Lost)], 4)
        .await;
    assert_eq!(
        (moved[0].from, moved[0].life.state),
        (State::Paid, State::Paid)
    );
    // The other way round: what this process wrote, the listener reads.
    world
        .record(vec![finding(claims[1].seq, answer(Class::Failed, 141))], 5)
        .await;
    // Said again after "failed" it is no repeat, however alike: it takes that word back. After that it is one.
    let again = heard(2, Class::Acknowledged, 139, 6).await;
    let Received::Stored(Some(again)) = again else {
        panic!("{again:?}");
    };
    assert_eq!(
        (again.from, again.life.state),
        (State::Failed, State::Failed)
    );
    let repeated = heard(2, Class::Acknowledged, 139, 6).await;
    assert!(matches!(repeated, Received::Repeat), "{repeated:?}");
    let late = heard(3, Class::Failed, 141, 6).await;
    let Received::Stored(Some(late)) = late else {
        panic!("{late:?}");
    };
    assert_eq!((late.from, late.life.state), (State::Failed, State::Failed));
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}
