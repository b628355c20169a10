//! What an operator may order: retries, decisions, withdrawals.

use disburse::domain::PaymentId;
use disburse::journal::{Decision, Error, Kind, Transition};
use disburse::lifecycle::{Class, Event, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

fn decision(paid: bool) -> Decision {
    Decision {
        paid,
        reason: "bank statement".into(),
        evidence: "ticket 7".into(),
    }
}

async fn decide(world: &World, id: &str, paid: bool) -> Result<Transition, Error> {
    let decided = world
        .journal
        .decide(batch(), id.into(), decision(paid), moment(900));
    decided.await
}

async fn cancel(world: &World, id: Option<&str>) -> Result<u64, Error> {
    let id = id.map(Into::into);
    world.journal.cancel(batch(), id, moment(900)).await
}

/// `EMP-1` ... in these states, one row each.
async fn in_states(ends: &[&[Event]]) -> World {
    let world = World::loaded(ends.len() as u64).await;
    let seqs: Vec<PaymentId> = world.payments().iter().map(|record| record.seq).collect();
    let events = seqs
        .iter()
        .zip(ends)
        .flat_map(|(seq, events)| events.iter().map(|event| finding(*seq, *event)));
    world.record(events.collect(), 5).await;
    world
}

const CLAIMED: Event = Event::Claimed;

fn failed(code: i32) -> Vec<Event> {
    vec![CLAIMED, reply(Class::Refused, code)]
}

fn conflict() -> Vec<Event> {
    vec![CLAIMED, reply(Class::Paid, 140), answer(Class::Failed, 141)]
}

#[tokio::test]
async fn a_retry_makes_a_new_generation_of_proven_failures_and_stands_in_their_place() {
    let paid = [CLAIMED, reply(Class::Paid, 140)];
    let lost = [CLAIMED, Event::Lost];
    let world = in_states(&[&failed(120), &paid, &failed(106), &lost, &failed(120)]).await;
    let before = world.identifiers();
    assert_eq!(
        world
            .journal
            .retry(batch(), Some(999), at(10))
            .await
            .unwrap(),
        0
    );
    assert_eq!(
        world
            .journal
            .retry(batch(), Some(120), at(10))
            .await
            .unwrap(),
        2
    );
    assert_eq!(
        world
            .journal
            .retry(batch(), Some(120), at(11))
            .await
            .unwrap(),
        0,
        "once is enough"
    );
    world.assert_adds_up();
    let after = world.payments();
    let lines: Vec<u64> = after
        .iter()
        .map(|record| record.payment.instruction.line)
        .collect();
    assert_eq!(lines, [2, 3, 4, 5, 6]);
    for (index, record) in after.iter().enumerate() {
        let retried = index == 0 || index == 4;
        assert_eq!(record.payment.generation, u32::from(retried));
        assert_eq!(record.replaces, retried.then_some(before[index]));
        assert_eq!(record.payment.id == before[index], !retried);
        if retried {
            assert_eq!(record.life.state, State::Ready);
            assert_eq!(record.payment.received_at, at(10));
        }
    }
    assert_eq!(world.journal.retry(batch(), None, at(12)).await.unwrap(), 1);
    // The second generation fails as well, and is retried in its turn.
    let seqs: Vec<PaymentId> = world.payments().iter().map(|record| record.seq).collect();
    let again = failed(141);
    let events = again.iter().map(|event| finding(seqs[0], *event));
    world.record(events.collect(), 13).await;
    assert_eq!(world.journal.retry(batch(), None, at(14)).await.unwrap(), 1);
    let generations: Vec<_> = generations(&world, "EMP-1");
    assert_eq!(generations.len(), 3);
    world.assert_adds_up();
    assert_eq!(
        assert_evidence_adds_up(&world.reader(), &batch(), &world.policy),
        5 + 2 + 1 + 1
    );
}

fn generations(world: &World, reference: &str) -> Vec<disburse::journal::PaymentRecord> {
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    snapshot.find(reference).unwrap()
}

#[tokio::test]
async fn retries_have_the_same_identifiers_in_every_journal() {
    let mut twins = Vec::new();
    for _ in 0..2 {
        let world = World::new();
        let mut rows = vec![nameless(3, 2), nameless(3, 3), row(1)];
        let allow = disburse::journal::LoadPlan {
            allow_equal_rows: true,
            ..plan()
        };
        world.load_new(allow, std::mem::take(&mut rows)).await;
        let all = world.payments();
        let fail = all
            .iter()
            .flat_map(|record| failed(120).into_iter().map(|e| finding(record.seq, e)));
        world.record(fail.collect(), 5).await;
        world.journal.retry(batch(), None, at(10)).await.unwrap();
        let ids = world.identifiers();
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
        twins.push(ids);
    }
    assert_eq!(twins[0], twins[1]);
}

#[tokio::test]
async fn an_earlier_generation_that_turns_out_paid_is_shown_beside_its_retry() {
    let world = in_states(&[&failed(120)]).await;
    let first = world.payments()[0].clone();
    world.journal.retry(batch(), None, at(10)).await.unwrap();
    let late = note(first.payment.id, Class::Paid, 140, 1);
    world.callback(late, 20).await;
    let record = &world.payments()[0];
    assert_eq!(record.payment.generation, 1);
    assert!(record.earlier_conflict);
    assert_eq!(
        world.find(first.payment.id.as_str()).life.state,
        State::Conflict
    );
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn a_retry_is_not_posted_while_what_it_replaces_may_have_been_paid() {
    for paid in [false, true] {
        let world = in_states(&[&failed(120)]).await;
        let first = world.payments()[0].payment.id;
        world.journal.retry(batch(), None, at(10)).await.unwrap();
        world.callback(note(first, Class::Paid, 140, 1), 20).await;
        // A restart changes nothing about it.
        for secs in [30, 40] {
            let token = world.acquire(secs).await.token;
            assert!(world.claim(token, 9, secs).await.is_empty());
            assert_eq!(world.journal.due(token, at(secs)).await.unwrap().post, None);
        }
        decide(&world, first.as_str(), paid).await.unwrap();
        let token = world.acquire(1000).await.token;
        assert!(world.claim(token, 9, 1000).await.is_empty());
        // A person's word that it failed is held against the gateway's before the retry leaves.
        let asked = world.journal.questions(token, 9, at(1000), at(1060)).await;
        let asked: Vec<PaymentId> = asked.unwrap().0.iter().map(|q| q.seq).collect();
        assert_eq!(asked.len(), usize::from(!paid), "decided paid: {paid}");
        for seq in asked {
            world
                .record(vec![finding(seq, answer(Class::Failed, 141))], 1001)
                .await;
        }
        let claimed = world.claim(token, 9, 1002).await.len();
        assert_eq!(claimed, usize::from(!paid), "decided paid: {paid}");
    }
}

#[tokio::test]
async fn the_conflict_of_an_earlier_generation_can_be_decided_either_way() {
    for paid in [false, true] {
        let world = in_states(&[&failed(120)]).await;
        let first = world.payments()[0].payment.id;
        world.journal.retry(batch(), None, at(10)).await.unwrap();
        world.callback(note(first, Class::Paid, 140, 1), 20).await;
        let moved = decide(&world, first.as_str(), paid).await.unwrap();
        let state = if paid { State::Paid } else { State::Failed };
        assert_eq!(moved.life.state, state);
        // Decided paid, it stands for its row, and its retry is withdrawn.
        let record = &world.payments()[0];
        assert_eq!(record.payment.generation, u32::from(!paid));
        assert_eq!(record.payment.id == first, paid);
        assert_eq!(record.replaced_by.is_some(), paid);
        world.assert_adds_up();
        assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
        // The journal goes on.
        assert_eq!(cancel(&world, None).await.unwrap(), u64::from(!paid));
    }
}

#[tokio::test]
async fn a_decision_ends_what_is_unknown_and_nothing_else() {
    let acknowledged = [CLAIMED, reply(Class::Acknowledged, 139)];
    let delivered = [CLAIMED, reply(Class::Delivered, 148)];
    let paid = [CLAIMED, reply(Class::Paid, 140)];
    let lost = [CLAIMED, Event::Lost];
    let cases: [(&[Event], bool, &str); 9] = [
        (&lost, true, ""),
        (&acknowledged, true, ""),
        (&delivered, true, ""),
        (&conflict(), true, ""),
        (&[], false, "it was never sent: cancel it instead"),
        (
            &[CLAIMED],
            false,
            "a run has claimed it: let that run end first",
        ),
        (
            &paid,
            false,
            "its outcome is on record, so it cannot be changed",
        ),
        (
            &failed(120),
            false,
            "its outcome is on record, so it cannot be changed",
        ),
        (
            &[Event::Withdrawn],
            false,
            "it was cancelled before it was sent",
        ),
    ];
    let ends: Vec<&[Event]> = cases.iter().map(|(events, ..)| *events).collect();
    for is_paid in [true, false] {
        let world = in_states(&ends).await;
        for (index, (events, allowed, why)) in cases.iter().enumerate() {
            let id = format!("EMP-{}", index + 1);
            let before = world.contents();
            let decided = decide(&world, &id, is_paid).await;
            if *allowed {
                let state = if is_paid { State::Paid } else { State::Failed };
                assert_eq!(decided.unwrap().life.state, state, "{events:?}");
                let record = world.find(&id);
                assert_eq!((record.life.state, record.life.code), (state, None));
                assert_eq!(record.settled_at, Some(at(900)));
                let text = record.decision.unwrap();
                assert!(text.contains("bank statement") && text.contains("ticket 7"));
            } else {
                let error = decided.unwrap_err();
                assert_eq!(error.kind(), Kind::Refused);
                assert!(error.to_string().contains(why), "{events:?}: {error}");
                assert_eq!(world.contents(), before, "{events:?}");
            }
        }
        world.assert_adds_up();
        assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    }
}

#[tokio::test]
async fn evidence_after_a_decision_that_contradicts_it_makes_a_conflict() {
    let world = in_states(&[&[CLAIMED, Event::Lost]]).await;
    decide(&world, "EMP-1", false).await.unwrap();
    let id = world.identifiers()[0];
    world.callback(note(id, Class::Paid, 140, 1), 950).await;
    assert_eq!(world.count(State::Conflict), 1);
    world.assert_adds_up();
}

#[tokio::test]
async fn only_what_was_never_posted_or_has_failed_can_be_withdrawn() {
    let unsent = [CLAIMED, Event::Unsent];
    let lost = [CLAIMED, Event::Lost];
    let vanished = [
        CLAIMED,
        Event::Lost,
        answer(Class::NotFound, 143),
        answer(Class::NotFound, 143),
    ];
    let world = in_states(&[&[], &unsent, &lost, &[], &[CLAIMED], &failed(120)]).await;
    for id in ["EMP-3", "EMP-5"] {
        let error = cancel(&world, Some(id)).await.unwrap_err();
        assert!(matches!(error, Error::NotAllowed { .. }), "{id}: {error}");
    }
    // What has failed is closed by a generation that is withdrawn as it is made.
    assert_eq!(cancel(&world, Some("EMP-6")).await.unwrap(), 1);
    let error = cancel(&world, Some("EMP-6")).await.unwrap_err();
    assert!(error.to_string().contains("cancelled already"), "{error}");
    assert_eq!(cancel(&world, Some("EMP-1")).await.unwrap(), 1);
    let error = cancel(&world, Some("EMP-1")).await.unwrap_err();
    assert!(error.to_string().contains("cancelled already"), "{error}");
    assert_eq!(
        cancel(&world, None).await.unwrap(),
        2,
        "those that are left"
    );
    assert_eq!(cancel(&world, None).await.unwrap(), 0);
    assert_eq!(world.count(State::Cancelled), 4);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    // Ready again after it vanished: the post may yet turn up.
    let world = World::loaded(1).await;
    let seq = world.payments()[0].seq;
    for (event, secs) in vanished.into_iter().zip([5, 6, 100, 120]) {
        world.record(vec![finding(seq, event)], secs).await;
    }
    assert_eq!(world.count(State::Ready), 1);
    assert!(cancel(&world, Some("EMP-1")).await.is_err());
    assert_eq!(cancel(&world, None).await.unwrap(), 0);
}

#[tokio::test]
async fn orders_about_what_is_not_there_are_refused_and_the_journal_goes_on() {
    let world = World::loaded(1).await;
    let nowhere = disburse::domain::BatchName::parse("nowhere").unwrap();
    for id in ["EMP-9", "", "00000000000000000000000000"] {
        let error = decide(&world, id, true).await.unwrap_err();
        assert!(matches!(error, Error::UnknownPayment { .. }), "{error}");
        let error = cancel(&world, Some(id)).await.unwrap_err();
        assert!(matches!(error, Error::UnknownPayment { .. }), "{error}");
    }
    let error = world.journal.cancel(nowhere.clone(), None, moment(1)).await;
    assert!(matches!(error, Err(Error::UnknownBatch { .. })));
    let error = world.journal.retry(nowhere.clone(), None, at(1)).await;
    assert!(matches!(error, Err(Error::UnknownBatch { .. })));
    let error = world
        .journal
        .resume_lane(nowhere.clone(), "A".into(), at(1))
        .await;
    assert!(matches!(error, Err(Error::UnknownBatch { .. })));
    let error = world.journal.standing(nowhere).await;
    assert!(matches!(error, Err(Error::UnknownBatch { .. })));
    assert_eq!(cancel(&world, None).await.unwrap(), 1);
}

#[tokio::test]
async fn a_payment_of_another_batch_is_out_of_reach() {
    let world = World::loaded(1).await;
    let id = world.identifiers()[0];
    let other = disburse::domain::BatchName::parse("other").unwrap();
    let plan = disburse::journal::LoadPlan {
        batch: other.clone(),
        ..plan()
    };
    world.load_new(plan, rows(5..=5)).await;
    let cancelled = world
        .journal
        .cancel(other, Some(id.to_string().into()), moment(9))
        .await;
    assert!(matches!(cancelled, Err(Error::UnknownPayment { .. })));
    assert_eq!(world.count(State::Ready), 1);
}

#[tokio::test]
async fn a_whole_batch_names_what_is_left_out_and_posted_again() {
    let world = in_states(&[&[CLAIMED, Event::Lost], &[], &[]]).await;
    let first = world.payments().remove(0);
    for secs in [4_000, 8_000] {
        let not_found = finding(first.seq, answer(Class::NotFound, 143));
        world.record(vec![not_found], secs).await;
    }
    // The second one was refused for want of float: nobody has it.
    let second = world.payments()[1].seq;
    let refused = [CLAIMED, reply(Class::NoFloat, 230)].map(|event| finding(second, event));
    world.record(refused.to_vec(), 8_001).await;
    assert_eq!(world.count(State::Ready), 3);
    let shown = world.journal.to_cancel(batch()).await.unwrap();
    assert_eq!((shown.tally.count, shown.posted_once), (2, 1));
    assert_eq!(shown.posted_once_example, Some(first.payment.id));
    let done = world
        .journal
        .cancel_shown(batch(), shown.tally, None, moment(8_002));
    assert_eq!(done.await.unwrap().withdrawn, 2);
    assert_eq!(world.count(State::Ready), 1);
    let shown = world.journal.to_cancel(batch()).await.unwrap();
    assert_eq!((shown.tally.count, shown.posted_once), (0, 1));
}
