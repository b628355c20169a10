//! Whatever the verbs did, the journal is sound; and what came before an earlier head is known to be as it was.

use disburse::domain::PaymentId;
use disburse::journal::{LoadPlan, Location, Reader};
use disburse::lifecycle::{Class, Policy};

use super::{assert_sound, eventful, prove};
use crate::support::*;

#[tokio::test]
async fn a_batch_that_has_seen_everything_is_sound() {
    let world = eventful().await;
    let proof = prove(&world.path);
    assert!(proof.is_sound(), "{:#?}", proof.findings);
    // 14 rows and two retries, of which one row was withdrawn without an amount.
    assert_eq!((proof.payments, proof.instructions), (16, 16));
    assert_eq!(proof.head.unwrap().length, proof.evidence);
    assert!(proof.evidence > 30, "{}", proof.evidence);
}

#[tokio::test]
async fn payments_presumed_posted_and_their_retries_are_sound() {
    let world = World::new();
    let presume = LoadPlan {
        presume_posted: true,
        ..plan()
    };
    world.load_new(presume, rows(1..=3)).await;
    world.confirm_payer(1).await;
    world.acquire(1).await;
    let first = world.payments().remove(0);
    let failed = finding(first.seq, answer(Class::Failed, 141));
    world.record(vec![failed], 2).await;
    world.journal.retry(batch(), None, at(3)).await.unwrap();
    assert_sound(&world);
}

#[tokio::test]
async fn evidence_is_folded_under_the_policy_that_it_was_recorded_under() {
    let mut world = World::loaded(2).await;
    let token = world.acquire(1).await.token;
    let seqs: Vec<PaymentId> = world
        .claim(token, 2, 2)
        .await
        .iter()
        .map(|claim| claim.seq)
        .collect();
    let lost = |seq| finding(seq, disburse::lifecycle::Event::Lost);
    world
        .record(seqs.iter().map(|seq| lost(*seq)).collect(), 3)
        .await;
    // With another quarantine, and with callbacks that settle nothing by themselves, the same words mean something else.
    let not_found = answer(Class::NotFound, 143);
    for (secs, quarantine, settle_on) in [
        (10, 5, disburse::lifecycle::SettleOn::Callback),
        (20, 500, disburse::lifecycle::SettleOn::Confirmed),
        (30, 5, disburse::lifecycle::SettleOn::Confirmed),
    ] {
        world.policy = std::sync::Arc::new(Policy {
            not_found_quarantine: std::time::Duration::from_secs(quarantine),
            settle_on,
            ..policy()
        });
        world.record(vec![finding(seqs[0], not_found)], secs).await;
        let id = world.payments()[1].payment.id;
        let digest = u8::try_from(secs).unwrap();
        world
            .callback(note(id, Class::Paid, 140, digest), secs)
            .await;
        assert_sound(&world);
    }
}

#[tokio::test]
async fn an_earlier_head_is_found_on_the_chain_and_one_of_another_batch_is_not() {
    let world = World::loaded(3).await;
    let head = world.standing().evidence;
    let token = world.acquire(1).await.token;
    world.claim(token, 3, 2).await;
    let later = world.standing().evidence;
    assert!(later.length > head.length);
    let reader = Reader::open(&Location::from(&world.path)).unwrap();
    let snapshot = reader.snapshot(&batch()).unwrap();
    for known in [&head, &later] {
        let proof = snapshot.prove(Some(known.hash)).unwrap();
        assert!(proof.is_sound(), "{:#?}", proof.findings);
        assert_eq!(proof.earlier_head_at, Some(known.length));
    }
    let proof = snapshot.prove(Some([7; 32])).unwrap();
    assert_eq!((proof.findings_count, proof.earlier_head_at), (1, None));
}

#[tokio::test]
async fn a_verification_sees_one_moment_while_the_writer_goes_on() {
    let world = World::loaded(50).await;
    let token = world.acquire(1).await.token;
    let reader = Reader::open(&Location::from(&world.path)).unwrap();
    let snapshot = reader.snapshot(&batch()).unwrap();
    let before = snapshot.standing().unwrap().evidence;
    let claims = world.claim(token, 50, 2).await;
    let findings = claims
        .iter()
        .map(|claim| finding(claim.seq, reply(Class::Paid, 140)));
    world.record(findings.collect(), 3).await;
    let proof = snapshot.prove(None).unwrap();
    assert!(proof.is_sound(), "{:#?}", proof.findings);
    assert_eq!(proof.head.unwrap(), before);
    drop(snapshot);
    assert_sound(&world);
}
