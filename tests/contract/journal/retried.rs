//! Failures that are paid again, beside what other loads have of them.

use crate::support::*;
use disburse::domain::{BatchName, Instruction};
use disburse::journal::{RepeatPlan, WhyUnretried};
use disburse::lifecycle::Class;

/// What a retry is judged by.
fn judged(day: i64) -> Option<(RepeatPlan, disburse::domain::Timestamp)> {
    Some((RepeatPlan::default(), at(day * DAY)))
}

#[tokio::test]
async fn a_failure_whose_row_was_loaded_anew_and_paid_is_not_retried() {
    let world = World::loaded(3).await;
    all_end(&world, Class::Failed, 141).await;
    world.load_new(other_batch("again", 1), rows(1..=2)).await;
    // Rows 1 and 2 wait in the other batch; row 3 is nowhere else.
    let shown = world.journal.to_retry(batch(), None, judged(2)).await;
    let shown = shown.unwrap().by_code;
    assert_eq!(shown.iter().map(|(_, tally)| tally.count).sum::<u64>(), 1);
    let left = world.journal.unretried(batch(), None, judged(2)).await;
    let left = left.unwrap();
    assert_eq!(left.len(), 2);
    for row in &left {
        assert_eq!(row.why, WhyUnretried::LoadedAnew("again".into()));
    }
    let retried = world
        .journal
        .retry_shown(
            batch(),
            None,
            shown,
            Some(RepeatPlan::default()),
            at(2 * DAY),
        )
        .await;
    assert_eq!(retried.unwrap(), 1);
    // Once they were withdrawn there, they may be retried here.
    let again = BatchName::parse("again").unwrap();
    let cancelled = world.journal.cancel(again, None, moment(3 * DAY)).await;
    assert_eq!(cancelled.unwrap(), 2);
    let left = world.journal.unretried(batch(), None, judged(3)).await;
    assert_eq!(left.unwrap(), []);
}

#[tokio::test]
async fn a_failure_that_may_be_paid_since_to_a_mended_number_or_through_another_service_is_told() {
    let person = |n: u64, reference: Option<u64>| Instruction {
        reference: reference.and_then(|n| row(n).reference),
        customer_names: "Wanjiku Kamau".into(),
        ..row(n)
    };
    let paid_as = |n| {
        // The number was wrong.
        let mut row = person(70, n);
        row.money = person(1, None).money;
        row
    };
    type Case = (&'static str, Instruction, Instruction, bool);
    // The name stands with the account of the bank alone.
    let holder = |account: &str, reference: Option<u64>| Instruction {
        customer_names: "".into(),
        account_number: account.into(),
        extra: vec![
            ("destinationBankCode".into(), "01".into()),
            ("destinationAccountName".into(), "Jane Doe".into()),
        ],
        ..person(1, reference)
    };
    let cases: [Case; 8] = [
        (
            "another account of the same holder",
            holder("00112233440", None),
            holder("0011223344", None),
            true,
        ),
        (
            "another account of the same holder, and another reference",
            holder("00112233440", Some(1)),
            holder("0011223344", Some(90)),
            true,
        ),
        (
            "another number, no reference",
            person(1, None),
            paid_as(None),
            true,
        ),
        (
            "another number and reference",
            person(1, Some(1)),
            paid_as(Some(90)),
            true,
        ),
        ("a reference now", person(1, None), paid_as(Some(90)), true),
        (
            "another service and reference",
            person(1, Some(1)),
            of_service(person(1, Some(90)), "OTHER"),
            true,
        ),
        (
            "another amount",
            person(1, Some(1)),
            with_amount(paid_as(Some(90)), 7),
            false,
        ),
        (
            "another name",
            person(1, Some(1)),
            Instruction {
                customer_names: "Otieno".into(),
                ..paid_as(Some(90))
            },
            false,
        ),
    ];
    for (case, failed, later, expected) in cases {
        let world = World::new();
        world.load_new(plan(), vec![failed]).await;
        all_end(&world, Class::Failed, 110).await;
        world.load_new(other_batch("later", 1), vec![later]).await;
        let judged = Some((RepeatPlan::default(), at(2 * DAY)));
        let found = world.journal.to_retry(batch(), None, judged).await;
        let is_told = match found {
            Ok(found) => {
                assert!(found.paid_since.is_empty(), "{case}");
                found.rows.is_empty()
            }
            Err(error) => panic!("{case}: {error}"),
        };
        assert_eq!(is_told, expected, "{case}");
    }
}

#[tokio::test]
async fn a_row_that_was_retried_is_no_row_that_failed() {
    let world = World::loaded(2).await;
    all_end(&world, Class::Failed, 141).await;
    assert_eq!(world.journal.retry(batch(), None, at(4)).await.unwrap(), 2);
    assert_eq!(
        repeats(world.load(other_batch("again", 1), rows(1..=2)).await).rows,
        2
    );
}

#[tokio::test]
async fn the_window_of_a_row_that_was_retried_begins_with_its_retry() {
    let world = World::loaded(2).await;
    all_end(&world, Class::Failed, 141).await;
    let retried = world.journal.retry(batch(), None, at(25 * DAY)).await;
    assert_eq!(retried.unwrap(), 2);
    let token = world.acquire(25 * DAY + 1).await.token;
    for claim in world.claim(token, 9, 25 * DAY + 2).await {
        let paid = vec![finding(claim.seq, reply(Class::Paid, 140))];
        world.record(paid, 25 * DAY + 3).await;
    }
    assert_eq!(
        repeats(world.load(other_batch("again", 30), rows(1..=2)).await).rows,
        2
    );
    world.load_new(other_batch("later", 46), rows(1..=2)).await;
}
