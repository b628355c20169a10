//! A batch that is copied for an archive: everything that was told of it is told of the copy, the rows of other batches that it names
//! included.

use std::sync::Arc;

use disburse::domain::BatchName;
use disburse::journal::{Error, Journal, Location, Reader, copy_batch};
use disburse::ledger::names::PaymentName;
use disburse::lifecycle::Class;

use crate::support::*;

/// What a report and `explain` ask of each payment.
fn told(reader: &Reader, batch: &BatchName) -> String {
    let snapshot = reader.snapshot(batch).unwrap();
    let mut told = format!("{:?}\n", snapshot.standing().unwrap());
    let ids = snapshot.rows().map(|row| match row.unwrap() {
        disburse::journal::ReportRow::Payment(record) => record.payment.id,
        other => panic!("{other:?}"),
    });
    for id in ids {
        let name = PaymentName::from(id.to_string().as_str());
        for record in snapshot.find(name).unwrap() {
            let before = snapshot.failed_before(record.seq).unwrap();
            let trail = snapshot.trail(record.seq).unwrap();
            told.push_str(&format!("{record:?}\n{before:?}\n{trail:?}\n"));
        }
    }
    told
}

#[tokio::test]
async fn a_copied_batch_tells_what_the_journal_tells_and_verifies() {
    let world = World::loaded(2).await;
    all_end(&world, Class::Failed, 141).await;
    let first = world.identifiers()[0];
    let again = other_batch("again", 1);
    let name = again.batch.clone();
    world.load_new(again, rows(1..=2)).await;
    let policy = Arc::clone(&world.policy);
    let acquired = world
        .journal
        .acquire(name.clone(), terms(DAY + 1), policy.clone())
        .await
        .unwrap();
    let claimed = world
        .journal
        .claim(acquired.token, 100, at(DAY + 2), policy)
        .await;
    for (nth, claim) in (2..).zip(&claimed.unwrap().0) {
        let paid = note(claim.payment.id, Class::Paid, 140, nth);
        world.callback(paid, DAY + 3).await;
    }
    // What had failed is paid after all: each of the two names the other.
    world
        .callback(note(first, Class::Paid, 140, 9), DAY + 4)
        .await;
    let reader = world.reader();
    let folder = tempfile::tempdir().unwrap();
    for (batch, beside) in [(batch(), 2), (name, 2)] {
        let before = told(&reader, &batch);
        assert!(before.contains("again"), "{before}");
        let to = folder.path().join(format!("{batch}.db"));
        let copied = copy_batch(&Location::from(&world.path), &batch, &to).unwrap();
        assert_eq!((copied.instructions, copied.beside), (2, beside));
        let (copy, found) = Reader::of_archive(&to).unwrap();
        assert_eq!(found, batch);
        assert_eq!(
            copy.batches().unwrap(),
            std::slice::from_ref(&batch),
            "the others are only named"
        );
        let proof = copy.snapshot(&batch).unwrap().prove(None).unwrap();
        assert!(proof.is_sound(), "{:?}", proof.findings);
        assert_eq!(
            proof.head,
            reader.snapshot(&batch).unwrap().prove(None).unwrap().head
        );
        assert_eq!(told(&copy, &batch), before);
        drop(copy);
        let refused = Journal::open_existing(&Location::from(&to)).err();
        assert!(
            matches!(refused, Some(Error::Archive { .. })),
            "{refused:?}"
        );
        let refused = Journal::open(&Location::from(&to)).err();
        assert!(
            matches!(refused, Some(Error::Archive { .. })),
            "{refused:?}"
        );
    }
    let to = folder.path().join("none.db");
    let unknown = copy_batch(
        &Location::from(&world.path),
        &BatchName::parse("none").unwrap(),
        &to,
    );
    assert!(
        matches!(unknown, Err(Error::UnknownBatch { .. })),
        "{unknown:?}"
    );
    let pays = Reader::of_archive(&world.path).err();
    assert!(matches!(pays, Some(Error::NoArchive { .. })), "{pays:?}");
}
