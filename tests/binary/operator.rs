//! What an operator may order: retry, resolve, cancel, amend, equal rows, explain.

use serde_json::Value;

use crate::files::{csv, rows};
use crate::oracle::{nothing_twice, payments, prove};
use crate::sandbox::ledger_beside_journal;
use crate::world::{Setup, World, eventually};

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];

#[test]
fn a_retry_pays_failures_under_a_new_identifier_and_reports_each_row_once() {
    let world = World::new(&Setup::default());
    let rows = rows(40, 101);
    world.write_rows("batch.csv", &rows);
    world.write("faults.toml", "reject = 0.4\n");
    let bad = ["--sandbox", "--faults", "faults.toml"];
    let good = ["--sandbox", "--faults", "none"];
    world.expect(3, &[&PAY[..], &bad].concat());
    let failed = world.count("b", "failed");
    assert!(failed >= 5, "{failed} failed");
    world
        .expect(2, &["retry", "b"])
        .says(&format!(
            "this would pay {failed} failed payments of batch b again, KES "
        ))
        .says(&format!("{failed} with code 141, KES "));
    assert_eq!(world.count("b", "ready"), 0, "nothing was ordered");
    let before = payments(&world, "reports/b");
    world
        .expect(0, &["retry", "b", "--code", "999"])
        .says("batch b has no failed payment to retry")
        .says(&format!("with code 999: {failed} with code 141, KES "));
    world
        .expect(0, &["retry", "b", "--code", "141", "--yes"])
        .says(&format!(
            "pay {failed} failed payments of batch b again, KES "
        ))
        .says(&format!("{failed} failed payments are to be paid again"));
    assert_eq!(world.count("b", "ready"), failed);
    world.expect(0, &[&PAY[..], &good].concat());
    let after = payments(&world, "reports/b");
    assert_eq!(after.len(), rows.len(), "one line per row");
    for (old, new) in before.iter().zip(&after) {
        assert_eq!(new.get("line"), old.get("line"));
        assert_eq!(new.get("state"), "paid");
        let id = "payer_transaction_id";
        if old.get("state") == "failed" {
            assert_ne!(new.get(id), old.get(id));
            assert!(new.get("note").contains(old.get(id)), "{new:?}");
        } else {
            assert_eq!(new.get(id), old.get(id));
        }
    }
    let ledger = ledger_beside_journal(&world);
    nothing_twice(&ledger);
    assert_eq!(ledger.executed_once, 40);
    assert_eq!(ledger.identifiers.len() as u64, 40 + failed);
    assert_eq!(world.status("b")["count"], 40, "a retry adds no payment");
}

#[test]
fn what_the_gateway_never_answers_is_resolved_by_the_operator() {
    let setup = Setup {
        more: "resolution.status_query = false",
        ..Setup::default()
    };
    let (world, sandbox) = World::with_sandbox(&setup, &[]);
    let rows = rows(2, 102);
    world.write_rows("batch.csv", &rows);
    world.expect(4, &PAY).says("disburse resolve");
    assert_eq!(world.count("b", "acknowledged"), 2);
    let decide = |reference, outcome, reason| {
        let evidence = [
            "--reason",
            reason,
            "--evidence",
            "statement line 17",
            "--yes",
        ];
        [&["resolve", "b", reference, outcome][..], &evidence].concat()
    };
    world.expect(2, &decide("R00001", "--paid", " "));
    world.expect(2, &decide("R00009", "--paid", "on the statement"));
    // Nobody can be asked: before its time is up no word suffices, and then it takes a second one.
    world
        .expect(2, &decide("R00001", "--failed", "not on the statement"))
        .says("the gateway cannot be asked: it has no status query")
        .says("resolution.give_up_after");
    let later = |more: &[&str]| {
        let order = decide("R00001", "--failed", "not on the statement");
        let mut command = world.command(&[&order[..], more].concat());
        command.env("DISBURSE_GIVE_UP_AFTER", "1s");
        world.start_as(command).wait()
    };
    eventually("its time is up", || {
        let done = later(&[]);
        assert_eq!(done.code, Some(2), "{done:?}");
        done.err
            .contains("will never be paid, add --although-accepted")
    });
    assert_eq!(world.count("b", "acknowledged"), 2, "nothing was decided");
    world.expect(0, &decide("R00001", "--paid", "on the statement"));
    world.expect(0, &decide("R00002", "--paid", "on the statement"));
    world.expect(0, &PAY);
    let lines = payments(&world, "reports/b");
    assert!(
        lines[0].get("note").contains("statement line 17"),
        "{:?}",
        lines[0]
    );
    eventually("settled", || sandbox.ledger().pending == 0);
    prove(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn what_was_never_posted_can_be_cancelled_and_is_never_paid() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let rows = rows(20, 103);
    world.write_rows("batch.csv", &rows);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world
        .expect(0, &["cancel", "b", "R00007"])
        .says("1 payment cancelled");
    world.expect(3, &PAY);
    assert_eq!(sandbox.ledger().posts, 19);
    prove(&world, "b", &rows, &sandbox.ledger());
    // Too late for what was posted.
    world.expect(2, &["cancel", "b", "R00008"]);
    world
        .expect(0, &["cancel", "b"])
        .says("batch b has no payment to cancel");
    assert_eq!(world.count("b", "paid"), 19);
}

#[test]
fn a_batch_cancelled_as_a_whole_posts_nothing() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let rows = rows(20, 104);
    world.write_rows("batch.csv", &rows);
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    world
        .expect(2, &["cancel", "b"])
        .says("this would cancel 20 payments of batch b, KES ");
    assert_eq!(world.count("b", "ready"), 20, "nothing was changed");
    world
        .expect(0, &["cancel", "b", "--yes"])
        .says("20 payments cancelled");
    world.expect(3, &PAY);
    assert_eq!(sandbox.ledger().posts, 0);
    prove(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn rows_that_are_new_are_added_only_when_told_to() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let rows = rows(30, 105);
    world.write_rows("batch.csv", &rows[..20]);
    world.expect(0, &PAY);
    world.write_rows("batch.csv", &rows);
    world
        .expect(2, &PAY)
        .says("10 rows of the file are not in the batch");
    assert_eq!(sandbox.ledger().posts, 20);
    let amend = [&PAY[..], &["--amend"]].concat();
    world.expect(0, &amend);
    world.expect(0, &amend);
    assert_eq!(sandbox.ledger().posts, 30);
    prove(&world, "b", &rows, &sandbox.ledger());
    // A row that was changed is no new row.
    let mut changed = rows.clone();
    changed[3].minor += 100;
    world.write_rows("batch.csv", &changed);
    world
        .expect(2, &amend)
        .says("1 row of the file has another content in the batch");
}

#[test]
fn the_same_rows_under_another_name_are_refused() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    world.write_rows("batch.csv", &rows(10, 106));
    world.expect(0, &PAY);
    let again = ["pay", "batch.csv", "--batch", "c", "--yes"];
    world
        .expect(2, &again)
        .says("10 rows repeat what was loaded before");
    assert_eq!(sandbox.ledger().posts, 10);
}

#[test]
fn equal_rows_are_one_mistake_or_two_payments_and_the_operator_says_which() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let row = "B2C_MPESA,254712345678,100.00,KES\n";
    let text = format!("service_code,msisdn,amount,currency_code\n{row}{row}");
    world.write("batch.csv", &text);
    world.expect(2, &PAY).says("batch.csv:3:");
    assert_eq!(sandbox.ledger().posts, 0);
    let allow = [&PAY[..], &["--allow-equal-rows"]].concat();
    world.expect(0, &allow);
    world.expect(0, &allow);
    let ledger = sandbox.ledger();
    nothing_twice(&ledger);
    assert_eq!((ledger.executed_once, ledger.posts), (2, 2));
}

#[test]
fn explain_tells_the_trail_by_reference_and_by_identifier() {
    let (world, _sandbox) = World::with_sandbox(&Setup::with_callbacks(), &[]);
    let rows = rows(3, 107);
    world.write("batch.csv", &csv(&rows));
    world.expect(0, &PAY);
    let id = payments(&world, "reports/b")[1]
        .get("payer_transaction_id")
        .to_owned();
    let told = world.expect(0, &["explain", "b", "R00002"]);
    told.says(&id).says("paid (140)").says("139").says("140");
    assert!(
        !told.out.contains(&rows[1].msisdn),
        "numbers are masked: {told:?}"
    );
    let by_id = world.expect(0, &["explain", "b", &id, "--json"]);
    let trails: Value = serde_json::from_str(&by_id.out).unwrap();
    assert_eq!(trails[0]["reference"], "R00002");
    assert_eq!(trails[0]["state"], "paid");
    let codes: Vec<_> = trails[0]["trail"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["code"].as_i64())
        .collect();
    assert!(codes.contains(&140), "{trails}");
    world.expect(2, &["explain", "b", "R00009"]);
}
