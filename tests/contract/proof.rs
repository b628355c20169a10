//! A journal that was changed from outside is found, whatever was changed; one that was not is sound, whatever happened.

mod damage;
mod healthy;

use std::path::Path;

use disburse::domain::PaymentId;
use disburse::journal::{
    BillFinding, BillOutcome, Decision, LoadPlan, LoadRow, Loaded, Location, Proof, Reader, Upload,
};
use disburse::lifecycle::Class;

use crate::support::*;

/// Proves the batch of a journal.
pub fn prove(path: &Path) -> Proof {
    Reader::open(&Location::from(path))
        .unwrap()
        .snapshot(&batch())
        .unwrap()
        .prove(None)
        .unwrap()
}

#[track_caller]
pub fn assert_sound(world: &World) {
    let proof = prove(&world.path);
    assert!(proof.is_sound(), "{:#?}", proof.findings);
}

/// A bill of the row's own currency that its amount is taken from.
fn bill(seq: PaymentId, minor: i64) -> BillFinding {
    BillFinding {
        seq,
        outcome: BillOutcome::Taken,
        code: Some(131),
        due: Some(with_amount(row(1), minor).money),
        due_date: "2026-12-01".into(),
        customer_name: "A. Customer".into(),
        description: "bill found".into(),
    }
}

/// A batch that has seen everything: rows set aside, rows without an amount, a document, a claim that was lost with its
/// run, a retry, a decision, callbacks that fit and callbacks that do not, a conflict.
pub async fn eventful() -> World {
    let world = World::new();
    let mut file: Vec<LoadRow> = rows(1..=9).into_iter().map(LoadRow::Valid).collect();
    file.extend([(1, 20), (1, 21)].map(|(n, line)| LoadRow::Valid(nameless(n, line))));
    file.push(LoadRow::Unpriced(unpriced(30)));
    file.push(LoadRow::Unpriced(unpriced(31)));
    let mut documented = row(40);
    documented.document = Some(document("invoice.pdf", "/srv/in"));
    file.push(LoadRow::Valid(documented));
    file.extend([LoadRow::Invalid(bad(50, 500)), LoadRow::EndOfFile]);
    let skipping = LoadPlan {
        skip_bad_rows: true,
        allow_equal_rows: true,
        ..plan()
    };
    let loaded = world.load_incoming(skipping, file).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");

    let (unpriced, _) = world
        .journal
        .bills_to_ask(batch(), Vec::new(), disburse::journal::BillCursor::ALL, 9)
        .await
        .unwrap();
    let told = vec![bill(unpriced[0].seq, 7700)];
    world.journal.record_bills(told, at(1)).await.unwrap();
    let refused = BillFinding {
        outcome: BillOutcome::Refused,
        due: None,
        ..bill(unpriced[1].seq, 1)
    };
    world
        .journal
        .record_bills(vec![refused], at(1))
        .await
        .unwrap();
    let due = world
        .journal
        .documents_due(batch(), PaymentId::NONE, 9)
        .await
        .unwrap();
    let upload = Upload {
        at: at(1),
        digest: [9; 32],
        bytes: 1234,
        reference: "DOC-1".into(),
        reply: "taken".into(),
    };
    world
        .journal
        .record_upload(due[0].seq, upload)
        .await
        .unwrap();

    let token = world.acquire(2).await.token;
    let claims = world.claim(token, 100, 3).await;
    assert_eq!(claims.len(), 13);
    let seq = |index: usize| claims[index].seq;
    let mut paid = finding(seq(0), reply(Class::Paid, 140));
    paid.said.receipt_number = Some("QK1".into());
    paid.said.description = "done".into();
    let findings = vec![
        paid,
        finding(seq(1), reply(Class::Failed, 141)),
        finding(seq(2), reply(Class::Acknowledged, 139)),
        finding(seq(3), disburse::lifecycle::Event::Lost),
        finding(seq(4), disburse::lifecycle::Event::Lost),
        finding(seq(5), reply(Class::Failed, 141)),
    ];
    world.record(findings, 4).await;
    let id = |index: usize| claims[index].payment.id;
    world.callback(note(id(2), Class::Paid, 140, 1), 5).await;
    world.callback(note(id(2), Class::Failed, 141, 2), 6).await;
    let other_amount = disburse::journal::IncomingCallback {
        said: naming(&[(disburse::domain::Member::Amount, "0.01")]),
        ..note(id(3), Class::Paid, 140, 3)
    };
    world.callback(other_amount, 6).await;
    // A new run finds what the old one left.
    let token = world.acquire(10).await.token;
    let not_found = answer(Class::NotFound, 143);
    for secs in [80, 90] {
        world.record(vec![finding(seq(4), not_found)], secs).await;
    }
    let decision = Decision {
        paid: true,
        reason: "statement".into(),
        evidence: "line 7".into(),
    };
    world
        .journal
        .decide(batch(), id(3).to_string().into(), decision, moment(95))
        .await
        .unwrap();
    assert_eq!(world.journal.retry(batch(), None, at(96)).await.unwrap(), 2);
    let again = world.claim(token, 1, 97).await;
    world
        .record(vec![finding(again[0].seq, reply(Class::Paid, 140))], 98)
        .await;
    let withdrawn = unpriced[1].id.to_string();
    let cancelled = world
        .journal
        .cancel(batch(), Some(withdrawn.into()), moment(99));
    assert_eq!(cancelled.await.unwrap(), 1);
    world
}
