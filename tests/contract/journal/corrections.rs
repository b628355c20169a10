//! Rows of an amendment that take the place of rejected ones.

use disburse::journal::{LoadPlan, LoadRefusal, LoadRow, Loaded, RejectedRow};
use disburse::ledger::correction::{Corrects, RejectedName};

use crate::support::*;

pub(super) fn skipping() -> LoadPlan {
    LoadPlan {
        skip_bad_rows: true,
        ..plan()
    }
}

pub(super) fn amending() -> LoadPlan {
    LoadPlan {
        amend: true,
        source: "payroll.corrections.csv".into(),
        ..skipping()
    }
}

pub(super) fn name_of(row: &RejectedRow) -> Corrects {
    Corrects::Rejected(RejectedName::of(&batch(), &row.digest).to_string())
}

/// Three good rows; lines 30 and 31 are rejected.
pub(super) async fn with_two_rejected() -> (World, [RejectedRow; 2]) {
    let world = World::new();
    let mut rejected = [bad(30, 700), bad(31, 800)];
    rejected[1].cells = r#"{"account_number":"0099427588438"}"#.into();
    let loaded = world
        .load_mixed(skipping(), rows(1..=3), rejected.to_vec())
        .await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    (world, rejected)
}

pub(super) async fn load_named(
    world: &World,
    plan: LoadPlan,
    rows: Vec<(Option<Corrects>, LoadRow)>,
) -> Loaded {
    let mut incoming = Vec::new();
    for (corrects, row) in rows {
        incoming.extend(corrects.map(LoadRow::Corrects));
        incoming.push(row);
    }
    incoming.push(LoadRow::EndOfFile);
    world.load_incoming(plan, incoming).await
}

pub(super) fn refused(loaded: Loaded) -> String {
    match loaded {
        Loaded::Refused(LoadRefusal::Corrections(errors)) => errors
            .iter()
            .map(|error| format!("{}: {}: {}\n", error.line, error.column, error.message))
            .collect(),
        other => panic!("{other:?}"),
    }
}

pub(super) fn good(n: u64) -> LoadRow {
    LoadRow::Valid(row(n))
}

#[tokio::test]
async fn a_mended_row_takes_the_place_of_the_rejected_one_and_is_counted_once() {
    let (world, rejected) = with_two_rejected().await;
    assert_eq!(
        world
            .journal
            .standing(batch())
            .await
            .unwrap()
            .rejected
            .count,
        2
    );
    let file = vec![
        (Some(name_of(&rejected[0])), good(30)),
        (Some(name_of(&rejected[1])), good(31)),
    ];
    let Loaded::New(summary) = load_named(&world, amending(), file.clone()).await else {
        panic!("it is loaded");
    };
    assert_eq!((summary.mended, summary.total().count), (2, 2));
    let standing = world.journal.standing(batch()).await.unwrap();
    assert_eq!(standing.rejected.count, 0);
    let snapshot = world.reader();
    let snapshot = snapshot.snapshot(&batch()).unwrap();
    assert_eq!(snapshot.rows().count(), 5, "every row once");
    let loads = snapshot.record().unwrap().loads;
    assert_eq!(loads[0].rejected, 0);
    let proof = snapshot.prove(None).unwrap();
    assert!(proof.findings.is_empty(), "{:?}", proof.findings);
    drop(snapshot);
    // The same file again changes nothing, and neither does a part of it.
    let again = load_named(&world, amending(), file.clone()).await;
    assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
    let part = load_named(&world, amending(), file[..1].to_vec()).await;
    let Loaded::New(summary) = part else {
        panic!("{part:?}");
    };
    assert_eq!((summary.total().count, summary.mended), (0, 0));
    assert_eq!(
        world
            .journal
            .standing(batch())
            .await
            .unwrap()
            .rejected
            .count,
        0
    );
}

#[tokio::test]
async fn a_rejected_row_is_mended_once_and_by_its_own_name() {
    let (world, rejected) = with_two_rejected().await;
    let name = name_of(&rejected[0]);
    let named = |corrects: &Corrects, n| (Some(corrects.clone()), good(n));
    let twice = vec![named(&name, 30), named(&name, 31)];
    assert!(
        refused(load_named(&world, amending(), twice).await).contains("has its mended row already")
    );
    let foreign = RejectedName {
        batch: disburse::domain::BatchName::parse("other").unwrap(),
        ..RejectedName::of(&batch(), &rejected[0].digest)
    };
    let table = [
        ("row 4", "is not the name of a rejected row"),
        (
            &foreign.to_string()[..],
            "names a rejected row of batch other",
        ),
        (
            &RejectedName::of(&batch(), &[9; 32]).to_string()[..],
            "has not set aside",
        ),
    ];
    for (written, expected) in table {
        let corrects = Corrects::Rejected(written.to_owned());
        let text = refused(load_named(&world, amending(), vec![named(&corrects, 30)]).await);
        assert!(text.contains(expected), "{text}");
    }
    let standing = world.journal.standing(batch()).await.unwrap();
    assert_eq!(
        (standing.rejected.count, standing.rows[0].tally.count),
        (2, 3)
    );
    // A row that is mended is not mended again by another one.
    load_named(&world, amending(), vec![named(&name, 30)]).await;
    let again = load_named(&world, amending(), vec![named(&name, 31)]).await;
    assert!(refused(again).contains("has its mended row already"));
    // Under the name of a batch that is new, it is added to nothing.
    let elsewhere = LoadPlan {
        batch: disburse::domain::BatchName::parse("new").unwrap(),
        ..amending()
    };
    let text = refused(load_named(&world, elsewhere, vec![named(&name, 30)]).await);
    assert!(text.contains("add the file to that batch"), "{text}");
}

#[tokio::test]
async fn what_has_errors_again_is_not_set_aside_a_second_time() {
    let (world, rejected) = with_two_rejected().await;
    let mut still = bad(2, 900);
    still.reference = "BAD-30".into();
    let file = vec![
        (Some(name_of(&rejected[0])), LoadRow::Invalid(still)),
        (Some(name_of(&rejected[1])), good(31)),
    ];
    let loaded = load_named(&world, amending(), file).await;
    let Loaded::New(summary) = loaded else {
        panic!("{loaded:?}");
    };
    assert_eq!((summary.mended, summary.rejected.count), (1, 0));
    let standing = world.journal.standing(batch()).await.unwrap();
    assert_eq!(standing.rejected.count, 1);
    let snapshot = world.reader();
    let proof = snapshot.snapshot(&batch()).unwrap().prove(None).unwrap();
    assert!(proof.findings.is_empty(), "{:?}", proof.findings);
}

#[tokio::test]
async fn digits_that_a_spreadsheet_took_are_told_and_nothing_is_loaded() {
    let (world, rejected) = with_two_rejected().await;
    let mut spoilt = row(31);
    spoilt.account_number = "99427588438".into();
    let file = vec![(Some(name_of(&rejected[1])), LoadRow::Valid(spoilt.clone()))];
    let text = refused(load_named(&world, amending(), file).await);
    assert!(
        text.contains("account_number: has 11 digits, and the rejected row had 13: the zeros in front are gone"),
        "{text}"
    );
    assert!(!text.contains("99427588438"), "no account is shown: {text}");
    spoilt.account_number = "0099427588438".into();
    let file = vec![(Some(name_of(&rejected[1])), LoadRow::Valid(spoilt))];
    let loaded = load_named(&world, amending(), file).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
}

#[tokio::test]
async fn a_mended_row_that_is_taken_off_the_record_is_found() {
    for damage in [
        "update rejected set replaced_by = null where replaced_by is not null",
        "update rejected set replaced_by = 1 where line = 31",
        "update rejected set cells = '{}' where line = 31",
    ] {
        let (world, rejected) = with_two_rejected().await;
        load_named(
            &world,
            amending(),
            vec![(Some(name_of(&rejected[0])), good(30))],
        )
        .await;
        world.sql().execute_batch(damage).unwrap();
        let reader = world.reader();
        let proof = reader.snapshot(&batch()).unwrap().prove(None).unwrap();
        assert!(!proof.findings.is_empty(), "{damage}");
    }
}
