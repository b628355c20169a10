//! Rejected rows that a person withdraws: counted as withdrawn, paid by nobody, and proven.

use disburse::domain::{Actor, Tally};
use disburse::journal::{Error, LoadRow, Loaded, RejectedRow, ReportRow};
use disburse::ledger::correction::RejectedName;

use super::corrections::{
    amending, good, load_named, name_of, refused, skipping, with_two_rejected,
};
use crate::support::*;

const REASON: &str = "a duplicate, says ana";

async fn withdraw(world: &World, names: &[&str]) -> Result<u64, Error> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let shown = world.journal.to_withdraw(batch(), names.clone()).await?;
    let journal = world.journal.clone();
    let journal = journal.acting_as(Actor::new("eva", "desk-7", None));
    journal
        .withdraw_rejected(batch(), names, shown.tally, REASON.to_owned(), at(900))
        .await
}

fn counts(world: &World) -> (u64, u64, u64) {
    let standing = world.standing();
    (
        standing.rejected.count,
        standing.withdrawn.count,
        standing.total().count,
    )
}

fn findings(world: &World) -> Vec<String> {
    let reader = world.reader();
    reader
        .snapshot(&batch())
        .unwrap()
        .prove(None)
        .unwrap()
        .findings
}

#[tokio::test]
async fn a_rejected_row_that_is_withdrawn_is_counted_so_and_taken_by_no_other() {
    let (world, rejected) = with_two_rejected().await;
    assert_eq!(withdraw(&world, &["30"]).await.unwrap(), 1);
    assert_eq!(counts(&world), (1, 1, 5));
    assert_eq!(world.standing().withdrawn.amounts.minor(kes()), 700);
    world.assert_adds_up();
    assert_eq!(findings(&world), [""; 0]);
    let withdrawn: Vec<_> = world
        .report_rows()
        .into_iter()
        .filter_map(|row| match row {
            ReportRow::Withdrawn(row, withdrawal) => Some((row.line, withdrawal.to_string())),
            _ => None,
        })
        .collect();
    let told = format!("withdrawn by eva on desk-7, {}: “{REASON}”", at(900));
    assert_eq!(withdrawn, [(30, told.clone())]);
    // Neither by its name, nor with errors again, nor under its reference.
    let mut still_bad = bad(30, 700);
    still_bad.digest = [9; 32];
    let mut under_its_reference = row(40);
    under_its_reference.reference = Some(disburse::domain::Reference::parse("bad-30").unwrap());
    let before = world.contents();
    for file in [
        vec![(Some(name_of(&rejected[0])), good(30))],
        vec![(Some(name_of(&rejected[0])), LoadRow::Invalid(still_bad))],
        vec![(None, LoadRow::Valid(under_its_reference))],
    ] {
        let text = refused(load_named(&world, amending(), file).await);
        assert!(text.contains(&told), "{text}");
        assert!(text.contains("load it as a row of a new batch"), "{text}");
    }
    assert_eq!(world.contents(), before);
    // The other one is mended as before, and the first file is there already.
    let other = vec![(Some(name_of(&rejected[1])), good(31))];
    let loaded = load_named(&world, amending(), other).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    let again = world
        .load_mixed(skipping(), rows(1..=3), rejected.to_vec())
        .await;
    assert!(matches!(again, Loaded::AlreadyLoaded(_)), "{again:?}");
    assert_eq!(counts(&world), (0, 1, 5));
}

#[tokio::test]
async fn only_rows_that_are_open_and_were_shown_are_withdrawn() {
    let (world, rejected) = with_two_rejected().await;
    load_named(
        &world,
        amending(),
        vec![(Some(name_of(&rejected[0])), good(30))],
    )
    .await;
    let name = RejectedName::of(&batch(), &rejected[1].digest).to_string();
    for (text, why) in [
        ("BAD-30", "has its mended row already"),
        ("30", "has its mended row already"),
        ("EMP-1", "is no rejected row"),
        ("77", "is no rejected row"),
        ("row-0000000000000000-of-other", "is no rejected row"),
    ] {
        let error = withdraw(&world, &[text]).await.unwrap_err();
        assert!(matches!(error, Error::NoRejectedRow { .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    // What came after it was shown is not withdrawn.
    let all = world
        .journal
        .to_withdraw(batch(), Vec::new())
        .await
        .unwrap();
    assert_eq!((all.tally.count, all.rows.len()), (1, 1));
    let mut late = [bad(50, 900), bad(51, 100)];
    late[1].reference = "30".into();
    world
        .load_mixed(amending(), rows(1..=4), late.to_vec())
        .await;
    let more =
        world
            .journal
            .withdraw_rejected(batch(), Vec::new(), all.tally, REASON.to_owned(), at(900));
    let more = more.await.unwrap_err();
    assert!(matches!(more, Error::MoreThanShown { .. }), "{more}");
    // A line of one row that is the reference of another one names neither; the names that are listed do.
    let two = withdraw(&world, &["30"]).await.unwrap_err().to_string();
    assert!(two.contains("of 2 rejected rows: row-"), "{two}");
    assert_eq!(withdraw(&world, &[&name, "BAD-31", "31"]).await.unwrap(), 1);
    let again = withdraw(&world, &[&name]).await.unwrap_err().to_string();
    assert!(again.contains("is withdrawn by eva on desk-7"), "{again}");
    assert_eq!(withdraw(&world, &[]).await.unwrap(), 2);
    assert_eq!(counts(&world), (0, 3, 8));
    let none = world
        .journal
        .to_withdraw(batch(), Vec::new())
        .await
        .unwrap();
    assert_eq!(none.tally, Tally::default());
    assert_eq!(findings(&world), [""; 0]);
}

#[tokio::test]
async fn of_equal_rows_those_that_are_left_can_be_mended() {
    let world = World::new();
    let mut twin = bad(31, 700);
    twin.digest = bad(30, 700).digest;
    let twins: [RejectedRow; 2] = [bad(30, 700), twin];
    world
        .load_mixed(skipping(), rows(1..=3), twins.to_vec())
        .await;
    withdraw(&world, &["31"]).await.unwrap();
    let mended = |n| vec![(Some(name_of(&twins[0])), good(n))];
    let loaded = load_named(&world, amending(), mended(30)).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    let text = refused(load_named(&world, amending(), mended(31)).await);
    assert!(text.contains("withdrawn by eva on desk-7"), "{text}");
}

#[tokio::test]
async fn a_withdrawal_that_is_taken_off_the_record_or_made_up_is_found() {
    for damage in [
        "update rejected set withdrawn = null",
        "update rejected set withdrawn = withdrawn - 1 where line = 30",
        "update rejected set withdrawn = null where line = 30;
         update rejected set withdrawn = (select max(evidence_id) from evidence where event = 86) where line = 31",
        "update rejected set withdrawn = 1 where line = 31",
    ] {
        let (world, _) = with_two_rejected().await;
        withdraw(&world, &["BAD-30"]).await.unwrap();
        assert_eq!(findings(&world), [""; 0]);
        world.sql().execute_batch(damage).unwrap();
        let found = findings(&world);
        assert!(
            found.iter().any(|finding| finding.contains("withdrawn")),
            "{damage}: {found:?}"
        );
    }
}
