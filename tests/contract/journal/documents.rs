//! Supporting documents: no payment is handed out before its document is uploaded, and its reference never changes.

use std::path::PathBuf;
use std::sync::Arc;

use disburse::domain::{Instruction, PaymentId};
use disburse::journal::{Due, Error, Home, LoadPlan, LoadRefusal, Loaded, Location, Upload};
use disburse::lifecycle::{Class, Event, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

fn with_document(n: u64) -> Instruction {
    Instruction {
        document: Some(document(&format!("{n}.pdf"), "/srv/pay")),
        ..row(n)
    }
}

/// What the file service said of the payment `n`.
fn upload(reference: &str, secs: i64) -> Upload {
    Upload {
        at: at(secs),
        digest: [7; 32],
        bytes: 12_345,
        reference: reference.into(),
        reply: format!(r#"{{"reference":"{reference}"}}"#),
    }
}

/// A batch of EMP-1 and EMP-3 without, EMP-2 and EMP-4 with a document.
async fn mixed() -> World {
    let world = World::new();
    let rows = vec![row(1), with_document(2), row(3), with_document(4)];
    world.load_new(plan(), rows).await;
    world
}

async fn due(world: &World, after: PaymentId, limit: usize) -> Vec<disburse::journal::DocumentDue> {
    let due = world.journal.documents_due(batch(), after, limit).await;
    due.unwrap()
}

fn references(claims: &[disburse::journal::Claim]) -> Vec<(String, Option<String>)> {
    claims
        .iter()
        .map(|claim| {
            let reference = claim.payment.instruction.reference.as_ref().unwrap();
            (reference.to_string(), claim.support_document.clone())
        })
        .collect()
}

#[tokio::test]
async fn what_is_to_be_uploaded_is_listed_in_pages_with_the_place_of_its_file() {
    let world = mixed().await;
    let all = due(&world, PaymentId::NONE, 10).await;
    let told: Vec<_> = all
        .iter()
        .map(|due| (due.line, due.path.clone(), due.id))
        .collect();
    assert_eq!(
        told,
        [
            (
                3,
                PathBuf::from("/srv/pay/2.pdf"),
                world.find("EMP-2").payment.id
            ),
            (
                5,
                PathBuf::from("/srv/pay/4.pdf"),
                world.find("EMP-4").payment.id
            ),
        ]
    );
    assert_eq!(due(&world, PaymentId::NONE, 1).await, all[..1]);
    assert_eq!(due(&world, all[0].seq, 10).await, all[1..]);
    assert_eq!(due(&world, all[1].seq, 10).await, []);
}

#[tokio::test]
async fn a_claim_hands_out_no_payment_whose_document_is_not_uploaded() {
    let world = mixed().await;
    let documents = due(&world, PaymentId::NONE, 10).await;
    let token = world.acquire(1).await.token;
    assert_eq!(
        references(&world.claim(token, 10, 1).await),
        [("EMP-1".into(), None), ("EMP-3".into(), None)]
    );
    // Nothing is due, and the journal says why: a run that asked again at once would never sleep.
    let waits = Due {
        over: false,
        post: None,
        ask: None,
        document: true,
        unconfirmed: false,
        unapproved: false,
        scheduled: None,
        limited: None,
        exposed: false,
    };
    assert_eq!(world.journal.due(token, at(10)).await.unwrap(), waits);
    let journal = &world.journal;
    journal
        .record_upload(documents[1].seq, upload("DOC-4", 2))
        .await
        .unwrap();
    assert_eq!(
        references(&world.claim(token, 10, 3).await),
        [("EMP-4".into(), Some("DOC-4".into()))]
    );
    assert_eq!(due(&world, PaymentId::NONE, 10).await, documents[..1]);
    journal
        .record_upload(documents[0].seq, upload("DOC-2", 4))
        .await
        .unwrap();
    assert_eq!(due(&world, PaymentId::NONE, 10).await, []);
    assert!(!journal.due(token, at(10)).await.unwrap().document);
    assert_eq!(
        references(&world.claim(token, 10, 5).await),
        [("EMP-2".into(), Some("DOC-2".into()))]
    );
    world.assert_adds_up();
}

#[tokio::test]
async fn every_repeat_names_the_document_of_the_first_post() {
    let world = World::new();
    world.load_new(plan(), vec![with_document(1)]).await;
    let seq = due(&world, PaymentId::NONE, 1).await[0].seq;
    let journal = &world.journal;
    journal
        .record_upload(seq, upload("FIRST", 1))
        .await
        .unwrap();
    // Two processes uploaded it, or one did and was slow to say so.
    journal
        .record_upload(seq, upload("SECOND", 2))
        .await
        .unwrap();
    let token = world.acquire(3).await.token;
    let first = world.claim(token, 1, 3).await;
    world.record(vec![finding(seq, Event::Unsent)], 4).await;
    let second = world.claim(token, 1, 100).await;
    for claims in [&first, &second] {
        assert_eq!(references(claims), [("EMP-1".into(), Some("FIRST".into()))]);
    }
    assert_eq!(first[0].payment, second[0].payment);
    let changed = world.sql().execute("update upload set reference = 'x'", []);
    assert!(changed.unwrap_err().to_string().contains("never changed"));
    let removed = world.sql().execute("delete from upload", []);
    assert!(removed.unwrap_err().to_string().contains("never removed"));
}

#[tokio::test]
async fn a_retry_needs_an_upload_of_its_own() {
    let world = World::new();
    world.load_new(plan(), vec![with_document(1)]).await;
    let first = due(&world, PaymentId::NONE, 1).await.remove(0);
    let journal = &world.journal;
    journal
        .record_upload(first.seq, upload("A", 1))
        .await
        .unwrap();
    let token = world.acquire(2).await.token;
    world.claim(token, 1, 2).await;
    world
        .record(vec![finding(first.seq, reply(Class::Failed, 141))], 3)
        .await;
    assert_eq!(journal.retry(batch(), None, at(4)).await.unwrap(), 1);
    assert!(world.claim(token, 1, 5).await.is_empty());
    let again = due(&world, PaymentId::NONE, 10).await;
    assert_eq!(again.len(), 1);
    assert_ne!(again[0].id, first.id);
    assert_eq!(again[0].path, first.path, "the same file");
    journal
        .record_upload(again[0].seq, upload("B", 6))
        .await
        .unwrap();
    let claims = world.claim(token, 1, 7).await;
    assert_eq!(references(&claims), [("EMP-1".into(), Some("B".into()))]);
    world.assert_adds_up();
}

#[tokio::test]
async fn what_an_amendment_brings_to_a_run_that_goes_on_waits_for_its_upload() {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let amended = LoadPlan {
        amend: true,
        ..plan()
    };
    world
        .load_new(amended, vec![row(1), with_document(2), row(3)])
        .await;
    assert_eq!(
        references(&world.claim(token, 10, 2).await),
        [("EMP-1".into(), None), ("EMP-3".into(), None)]
    );
    assert!(world.journal.due(token, at(10)).await.unwrap().document);
}

#[tokio::test]
async fn what_is_cancelled_or_names_a_document_of_its_own_is_not_uploaded() {
    let world = World::new();
    let own = Instruction {
        extra: vec![("supportDocument".into(), "OWN-1".into())],
        ..with_document(1)
    };
    world.load_new(plan(), vec![own, with_document(2)]).await;
    let withdrawn = world
        .journal
        .cancel(batch(), Some("EMP-2".into()), moment(1));
    assert_eq!(withdrawn.await.unwrap(), 1);
    assert_eq!(due(&world, PaymentId::NONE, 10).await, []);
    let token = world.acquire(1).await.token;
    // The row's own is in its extra data, and goes out from there.
    assert_eq!(
        references(&world.claim(token, 10, 1).await),
        [("EMP-1".into(), None)]
    );
}

#[tokio::test]
async fn the_trail_tells_of_the_upload_before_the_first_intent() {
    let world = World::new();
    world.load_new(plan(), vec![with_document(1)]).await;
    let seq = due(&world, PaymentId::NONE, 1).await[0].seq;
    world
        .journal
        .record_upload(seq, upload("DOC-1", 1))
        .await
        .unwrap();
    let token = world.acquire(1).await.token;
    world.claim(token, 1, 1).await;
    world
        .record(vec![finding(seq, reply(Class::Delivered, 148))], 2)
        .await;
    let reader = world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    let trail = snapshot.trail(seq).unwrap();
    let kinds: Vec<_> = trail.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, ["document uploaded", "intent recorded", "reply"]);
    let detail = trail[0].detail.as_deref().unwrap();
    for part in ["DOC-1", "12345", &"07".repeat(32)] {
        assert!(detail.contains(part), "{detail}");
    }
    drop(snapshot);
    assert_eq!(assert_evidence_adds_up(&reader, &batch(), &world.policy), 1);
}

#[tokio::test]
async fn a_batch_is_pinned_before_anything_of_it_leaves() {
    let world = mixed().await;
    let pin = |gateway: &str, wire: &str| {
        let home = Home {
            gateway: gateway.to_owned(),
            wire: wire.to_owned(),
            ..home()
        };
        world.journal.pin(batch(), home, at(1))
    };
    pin("gateway", "wire").await.unwrap();
    pin("gateway", "wire").await.unwrap();
    let error = pin("elsewhere", "wire").await.unwrap_err();
    assert!(matches!(error, Error::OtherGateway { .. }), "{error}");
    // Nothing has left: the form of what would have left binds nobody.
    pin("gateway", "other").await.unwrap();
    world.acquire(1).await;
}

#[tokio::test]
async fn what_an_earlier_version_posted_keeps_the_reference_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let c = rusqlite::Connection::open(&path).unwrap();
    c.execute_batch(include_str!("../../../src/journal/schema/migrations/1.sql"))
        .unwrap();
    c.execute_batch(
        "pragma application_id = 1146307154; pragma user_version = 1;
         insert into batch values (1, 'payroll', 'acme', 1, 'gateway', 'wire', 5);
         insert into load values (1, 1, 'a.csv', 'd', 1, 2, 0);
         insert into service values (1, 'RTGS');
         insert into tally values (1, 1, 'KES', 0, 1, 100), (1, 1, 'KES', 2, 1, 100);",
    )
    .unwrap();
    let ids = ["D6XG76YFHSD4N4GSMC3R7K7EGS", "D6XG76YFHSD4N4GSMC3R7K7EGT"];
    for (seq, id) in (1..).zip(ids) {
        c.execute(
            "insert into instruction (seq, batch_id, load_id, line, identifier, reference, generation, received_at, service_id,
                 msisdn, amount, currency, country, document)
             values (?1, 1, 1, ?1 + 1, ?2, 'EMP-' || ?1, 0, 1, 1, '254700000001', 100, 'KES', 'KE', 'a.pdf')",
            (seq, id),
        )
        .unwrap();
        c.execute("insert into identifier values (?1, ?2)", (id, seq))
            .unwrap();
    }
    // The first was posted and is in doubt, the second never left.
    c.execute_batch(
        "insert into life (seq, batch_id, service_id, state, attempts, posted_at, exposures, quarantine_from, due_at)
             values (1, 1, 1, 2, 1, 5, 1, 5, 6);
         insert into life (seq, batch_id, service_id, state, due_at) values (2, 1, 1, 0, 0);
         insert into evidence (seq, at, event) values (1, 5, 0), (1, 5, 3);",
    )
    .unwrap();
    drop(c);
    // A reader may be the first to meet it.
    let reader = disburse::journal::Reader::open(&Location::from(&path)).unwrap();
    let snapshot = reader.snapshot(&batch()).unwrap();
    assert_eq!(snapshot.rows().count(), 2);
    drop(snapshot);
    let journal = disburse::journal::Journal::open_existing(&Location::from(&path)).unwrap();
    let due = journal
        .documents_due(batch(), PaymentId::NONE, 10)
        .await
        .unwrap();
    assert_eq!(due.iter().map(|due| due.seq.get()).collect::<Vec<_>>(), [2]);
    let policy = Arc::new(policy());
    let run = journal.acquire(batch(), terms(10), Arc::clone(&policy));
    let token = run.await.unwrap().token;
    for secs in [100, 200] {
        let gone = vec![finding(PaymentId::new(1), answer(Class::NotFound, 143))];
        let recorded = journal.record(None, gone, moment(secs), Arc::clone(&policy));
        recorded.await.unwrap();
    }
    let claimed = journal.claim(token, 10, at(201), policy).await.unwrap();
    assert_eq!(
        references(&claimed.0),
        [("EMP-1".into(), Some(ids[0].into()))],
        "the bytes of its first post"
    );
    assert_eq!(
        reader
            .snapshot(&batch())
            .unwrap()
            .standing()
            .unwrap()
            .of(State::Ready)
            .count,
        1
    );
}

#[tokio::test]
async fn a_document_is_uploaded_as_it_was_checked_and_exchanged_by_order_only() {
    let checked = |n: u64, digest: u8| {
        let mut row = with_document(n);
        row.document.as_mut().unwrap().digest = Some([digest; 32]);
        row
    };
    let world = World::new();
    world
        .load_new(plan(), vec![checked(1, 1), checked(2, 2), checked(3, 3)])
        .await;
    let due = world
        .journal
        .documents_due(batch(), PaymentId::NONE, 10)
        .await
        .unwrap();
    let (first, second) = (due[0].seq, due[1].seq);
    let begin =
        async |seq, digest: u8| world.journal.begin_upload(seq, [digest; 32]).await.unwrap();
    assert_eq!(begin(first, 9).await, None, "other bytes than were checked");
    assert!(begin(first, 1).await.is_some());
    let digest = [1; 32];
    let sent = Upload {
        digest,
        ..upload("D-1", 5)
    };
    world.journal.record_upload(first, sent).await.unwrap();

    // The same file again leaves them as they are; the order takes those that are not uploaded yet.
    let others = || vec![checked(1, 7), checked(2, 8), checked(3, 3)];
    let again = world.load(plan(), others()).await;
    assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
    assert_eq!(begin(second, 8).await, None);
    let exchange = || LoadPlan {
        new_documents: true,
        ..plan()
    };
    let summary = world.load_new(exchange(), others()).await;
    assert_eq!((summary.new_documents, summary.kept_documents), (1, 1));
    assert!(begin(second, 8).await.is_some());
    assert_eq!(begin(second, 2).await, None);
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);

    // It is an order about documents and nothing else.
    let mut more = others();
    more.push(checked(4, 4));
    let refused = world.load(exchange(), more).await;
    assert!(
        matches!(refused, Loaded::Refused(LoadRefusal::OtherContent(_))),
        "{refused:?}"
    );
}
