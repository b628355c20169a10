//! Failures whose rows were loaded anew: later loads count, however long ago they were, and where references begin anew.

use std::sync::Arc;
use std::time::Duration;

use disburse::domain::{BatchName, Instruction, Timestamp};
use disburse::journal::{
    Halt, LoadPlan, LoadRefusal, LoadRow, Loaded, RepeatPlan, Unretried, WhyUnretried,
};
use disburse::ledger::correction::Corrects;
use disburse::ledger::repeats::{Terms, TermsByService};
use disburse::lifecycle::Class;

use crate::support::*;

const DAY: i64 = 24 * 60 * 60;

fn judged_by(restart: bool) -> RepeatPlan {
    RepeatPlan {
        terms: TermsByService {
            default: Terms {
                window: Duration::from_secs(20 * 24 * 60 * 60),
                references_restart: restart,
            },
            ..TermsByService::default()
        },
        ..RepeatPlan::default()
    }
}

fn into(name: &str, day: i64, restart: bool) -> LoadPlan {
    LoadPlan {
        batch: BatchName::parse(name).unwrap(),
        source: format!("{name}.csv"),
        now: at(day * DAY),
        repeats: Some(judged_by(restart)),
        ..plan()
    }
}

/// Three rows that have failed.
async fn failed() -> World {
    let world = World::loaded(3).await;
    let token = world.acquire(1).await.token;
    for claim in world.claim(token, 100, 2).await {
        let failed = vec![finding(claim.seq, reply(Class::Failed, 110))];
        world.record(failed, 3).await;
    }
    world
}

/// Loads a row into the batch `again`, and pays it there.
async fn paid_again(world: &World, row: Instruction, restart: bool) {
    world.load_new(into("again", 1, restart), vec![row]).await;
    let name = BatchName::parse("again").unwrap();
    let policy = Arc::clone(&world.policy);
    let run = world.journal.acquire(name, terms(DAY + 1), policy);
    let token = run.await.unwrap().token;
    for claim in world.claim(token, 9, DAY + 2).await {
        let paid = vec![finding(claim.seq, reply(Class::Paid, 140))];
        world.record(paid, DAY + 3).await;
    }
}

/// Loads a row into the batch `again`, of which no payment has left.
async fn loaded_again(world: &World, row: Instruction) -> Arc<disburse::lifecycle::Policy> {
    world.load_new(into("again", 1, false), vec![row]).await;
    Arc::clone(&world.policy)
}

#[tokio::test]
async fn the_second_look_that_is_taken_out_of_the_file_is_missed_at_the_claim() {
    let name = || BatchName::parse("again").unwrap();
    for (damage, is_found) in [
        ("", false),
        ("delete from watched", true),
        ("update watched set by_word = 1", true),
        ("update watched set other = 2", true),
        // What was added asks once more, and is found by a verification alone.
        ("insert into watched (seq, other) values (4, 2)", false),
    ] {
        let world = failed().await;
        let policy = loaded_again(&world, row(1)).await;
        let findings = || {
            let reader = world.reader();
            reader
                .snapshot(&name())
                .unwrap()
                .prove(None)
                .unwrap()
                .findings
        };
        assert_eq!(findings(), [""; 0]);
        world.sql().execute_batch(damage).unwrap();
        assert_eq!(findings().is_empty(), damage.is_empty(), "{damage}");
        let run = world.journal.acquire(name(), terms(DAY + 1), policy);
        let token = run.await.unwrap().token;
        let policy = Arc::clone(&world.policy);
        let claimed = world.journal.claim(token, 9, at(DAY + 2), policy).await;
        let (claims, _, halt) = claimed.unwrap();
        match halt {
            None => assert!(!is_found && claims.len() == 1, "{damage}: {claims:?}"),
            Some(Halt::Altered(what)) => assert!(
                is_found && what.contains("held against before it leaves are not those"),
                "{damage}: {what}"
            ),
            Some(other) => panic!("{damage}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn more_failures_than_are_looked_at_again_are_a_repeat() {
    for (failures, is_repeat) in [(16, false), (17, true)] {
        let world = World::new();
        let rows: Vec<Instruction> = (1..=failures).map(|line| nameless(1, line)).collect();
        let equal = LoadPlan {
            allow_equal_rows: true,
            ..plan()
        };
        world.load_new(equal, rows).await;
        let token = world.acquire(1).await.token;
        for claim in world.claim(token, 100, 2).await {
            let failed = vec![finding(claim.seq, reply(Class::Failed, 110))];
            world.record(failed, 3).await;
        }
        let incoming = vec![LoadRow::Valid(nameless(1, 2)), LoadRow::EndOfFile];
        let loaded = world.load_incoming(into("again", 1, false), incoming).await;
        match loaded {
            Loaded::New(_) => assert!(!is_repeat, "{failures}"),
            Loaded::Refused(LoadRefusal::BadRows { repeats, .. }) => {
                assert!(is_repeat && repeats.is_some(), "{failures}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The row, to another number.
fn to_another_number(row: Instruction) -> Instruction {
    let msisdn = crate::support::row(77).msisdn;
    Instruction {
        msisdn,
        account_number: msisdn.as_str().into(),
        ..row
    }
}

async fn left_alone(world: &World, day: i64, restart: bool) -> Vec<Unretried> {
    let judged: Option<(RepeatPlan, Timestamp)> = Some((judged_by(restart), at(day * DAY)));
    world
        .journal
        .unretried(batch(), None, judged)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_failure_that_was_loaded_anew_and_paid_is_never_paid_again() {
    for (restart, day) in [(false, 2), (false, 90), (true, 2), (true, 90)] {
        let world = failed().await;
        let first = world.identifiers()[0];
        paid_again(&world, to_another_number(row(1)), restart).await;
        let left = left_alone(&world, day, restart).await;
        assert_eq!(left.len(), 1, "{restart} {day}: {left:?}");
        assert_eq!(left[0].id, first);
        assert_eq!(left[0].why, WhyUnretried::LoadedAnew("again".into()));
        // Nor is it replaced, whatever else is mended of it.
        let mut mended = with_amount(row(1), 4_200);
        mended.msisdn = row(9).msisdn;
        let amending = LoadPlan {
            batch: batch(),
            amend: true,
            ..into("failed", day, restart)
        };
        let rows = vec![
            LoadRow::Corrects(Corrects::Failed(first.to_string())),
            LoadRow::Valid(mended),
            LoadRow::EndOfFile,
        ];
        let Loaded::Refused(LoadRefusal::Corrections(errors)) =
            world.load_incoming(amending, rows).await
        else {
            panic!("{restart} {day}: it was replaced");
        };
        assert!(errors[0].message.contains("loaded again into batch again"));
    }
}

#[tokio::test]
async fn where_references_begin_anew_those_of_other_people_hold_no_retry_back() {
    let world = failed().await;
    let mut other = to_another_number(with_amount(row(1), 4_200));
    paid_again(&world, other.clone(), true).await;
    assert_eq!(left_alone(&world, 2, true).await, []);
    // Without a name, the same amount may be the same person's; another name is another person.
    let world = failed().await;
    other = to_another_number(row(1));
    other.customer_names = "Amina Otieno".into();
    paid_again(&world, other, true).await;
    assert_eq!(left_alone(&world, 2, true).await.len(), 1);
}

#[tokio::test]
async fn what_is_retried_is_not_loaded_anew_meanwhile() {
    let world = failed().await;
    let retried = world.journal.retry(batch(), Some(110), at(4)).await;
    assert_eq!(retried.unwrap(), 3);
    let again = world
        .load(into("again", 1, true), vec![to_another_number(row(1))])
        .await;
    assert!(
        matches!(
            &again,
            Loaded::Refused(LoadRefusal::BadRows {
                repeats: Some(repeats),
                ..
            }) if repeats.rows == 1
        ),
        "{again:?}"
    );
}

/// What the refusal of a correction says of a row whose retry was cancelled: load it with its reference under a new batch name.
#[tokio::test]
async fn a_row_whose_retry_was_cancelled_is_loaded_anew_and_held_against_its_failure() {
    for taken_back in [false, true] {
        let world = failed().await;
        let first = world.payments()[0].seq;
        let orders = &world.journal;
        assert_eq!(orders.retry(batch(), None, at(10)).await.unwrap(), 3);
        assert_eq!(orders.cancel(batch(), None, moment(11)).await.unwrap(), 3);
        let policy = loaded_again(&world, row(1)).await;
        if taken_back {
            let word = finding(first, answer(Class::Acknowledged, 139));
            world.record(vec![word], DAY).await;
        }
        let name = BatchName::parse("again").unwrap();
        let run = world.journal.acquire(name, terms(DAY + 1), policy);
        let token = run.await.unwrap().token;
        let policy = Arc::clone(&world.policy);
        let claimed = world.journal.claim(token, 9, at(DAY + 2), policy).await;
        let (claims, _, halt) = claimed.unwrap();
        assert_eq!(claims.len(), usize::from(!taken_back));
        assert_eq!(
            matches!(halt, Some(Halt::PaidElsewhere(_))),
            taken_back,
            "{halt:?}"
        );
    }
}
