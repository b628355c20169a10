//! Rows of postpaid services that leave their amount to the bill, from the file to the ledger.
//!
//! The sandbox's bill of an account is its last four digits times 10.00, and 250.50; nothing is due on one that ends with
//! 0000, and one that is not all digits does not exist.

use std::collections::BTreeMap;

use crate::oracle::{Line, nothing_twice, payments};
use crate::sandbox::ledger_beside_journal;
use crate::world::{Setup, World};

const HEADER: &str = "reference,service_code,msisdn,account_number,amount,currency_code\n";
const PAY: [&str; 8] = [
    "pay",
    "bills.csv",
    "--batch",
    "b",
    "--sandbox",
    "--faults",
    "none",
    "--pay-due",
];

/// A folder whose WATER must be paid as its bills say, and whose PAYTV may be paid in parts.
fn world(rows: &str) -> World {
    let world = World::new(&Setup::default());
    let services = "[services.WATER]\nkind = \"bill_postpaid\"\ncurrency_code = \"KES\"\nmax = \"50000.00\"\nbill_amount = \"exact\"\n\
                    [services.PAYTV]\nkind = \"bill_postpaid\"\ncurrency_code = \"KES\"\nbill_amount = \"at_most\"\n\
                    [services.B2C_MPESA]\nkind = \"mobile_money\"\ncurrency_code = \"KES\"\n";
    let text = format!("{}{services}", world.read("disburse.toml"));
    world.write("disburse.toml", &text);
    world.write("bills.csv", &format!("{HEADER}{rows}"));
    world
}

const GOOD: &str = "W-1,WATER,254712345678,1000123,,KES\n\
                    W-2,WATER,254712345679,1000200,2250.50,KES\n\
                    P-1,PAYTV,254712345680,1000004,,KES\n\
                    P-2,PAYTV,254712345681,1000005,100.00,KES\n\
                    M-1,B2C_MPESA,254712345682,,75.25,KES\n";
/// 1480.50, 2250.50, 290.50, 100.00 and 75.25.
const TOTAL: &str = "4196.75";

fn amounts(lines: &[Line]) -> BTreeMap<String, String> {
    lines
        .iter()
        .map(|line| {
            (
                line.get("reference").to_owned(),
                line.get("amount").to_owned(),
            )
        })
        .collect()
}

#[test]
fn what_is_due_is_paid_once_and_file_report_and_ledger_add_up() {
    let world = world(GOOD);
    let done = world.expect(0, &PAY);
    done.says("5 payments, KES 2,425.75 and what the bills of 2 rows say: loaded");
    done.says("2 rows took what is due, KES 1,771.00, 2 amounts fit");
    let status = world.status("b");
    assert_eq!(status["amounts"]["KES"], TOTAL);
    assert_eq!(world.count("b", "paid"), 5);
    let lines = payments(&world, "reports/b");
    let found = amounts(&lines);
    for (reference, amount) in [("W-1", "1480.50"), ("P-1", "290.50"), ("P-2", "100.00")] {
        assert_eq!(found[reference], amount);
    }
    let ledger = ledger_beside_journal(&world);
    nothing_twice(&ledger);
    assert_eq!((ledger.executed_once, ledger.altered), (5, 0));
    assert_eq!(ledger.amounts["KES"], TOTAL);
    for line in &lines {
        let executed = &ledger.identifiers[line.get("payer_transaction_id")];
        assert_eq!(executed.amount.as_deref(), Some(line.get("amount")));
    }
    // The very same command again: nothing is asked, nothing is paid.
    world.expect(0, &PAY).says("loaded before");
    assert_eq!(ledger_beside_journal(&world).posts, ledger.posts);
}

#[test]
fn a_check_tells_the_totals_with_what_is_due_and_keeps_nothing() {
    let world = world(GOOD);
    let check = |more: &[&'static str]| [&["check", "bills.csv", "--sandbox"], more].concat();
    let said = world.expect(0, &check(&["--bills", "--json"]));
    let said: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(said["amounts"]["KES"], TOTAL);
    assert_eq!(
        (&said["unpriced"], &said["bills"]["fitting"]),
        (&0.into(), &2.into())
    );
    world
        .expect(0, &check(&["--bills", "--expect-total", TOTAL]))
        .says("5 rows, no errors");
    world
        .expect(2, &check(&["--bills", "--expect-total", "4196.76"]))
        .says("a total of KES 4196.76 was declared, with what is due its rows come to KES 4196.75");
    // Without the bills nobody can tell.
    world
        .expect(2, &check(&["--expect-total", TOTAL]))
        .says("2 rows have no amount yet: --bills asks what is due");
    world
        .expect(0, &check(&[]))
        .says("2 rows have no amount yet");
    assert!(!world.path("disburse.db").exists());
    assert!(!world.path("disburse.db.sandbox").exists());
}

const BAD: &str = "W-1,WATER,254712345678,1000123,,KES\n\
                   W-2,WATER,254712345679,1000000,,KES\n\
                   W-3,WATER,254712345680,A-1000,,KES\n\
                   W-4,WATER,254712345681,1000200,2250.00,KES\n\
                   W-5,WATER,254712345682,1009999,,KES\n\
                   P-1,PAYTV,254712345683,1000004,290.51,KES\n\
                   W-6,WATER,254712345684,1000123,,KES\n";
const ERRORS: [&str; 6] = [
    "bills.csv:3: amount: section 4.2: the bill query answers 309",
    "bills.csv:4: account_number: section 4.2: the bill query answers 306",
    "bills.csv:5: amount: section 4.2: expected 2250.50 KES, which is due on the bill of WATER, found 2250.00",
    "bills.csv:6: amount: section 8: expected at most 50000.00 KES for WATER, the bill is 100240.50",
    "bills.csv:7: amount: section 4.2: expected at most 290.50 KES, which is due on the bill of PAYTV, found 290.51",
    "bills.csv:8: account_number: line 2 pays this account of WATER already",
];

#[test]
fn a_bill_that_is_an_error_keeps_the_whole_batch_from_being_posted_until_its_row_is_withdrawn() {
    let world = world(BAD);
    let checked = world.expect(2, &["check", "bills.csv", "--sandbox", "--bills"]);
    let run = ["run", "b", "--sandbox", "--faults", "none", "--pay-due"];
    let paid = world.expect(2, &PAY);
    let again = world.expect(2, &run);
    for error in ERRORS {
        for done in [&checked, &paid, &again] {
            done.says(error);
        }
    }
    again.says("6 rows cannot be paid by their bills; nothing was posted");
    again.says("disburse cancel b W-2");
    // Without the flag neither: the configuration demands the comparison, and rows without an amount stop the run.
    world
        .expect(2, &run[..5])
        .says("4 rows of batch b have no amount; nothing was posted");
    assert_eq!(ledger_beside_journal(&world).posts, 0);
    for row in ["W-2", "W-3", "W-5", "W-6"] {
        world.expect(0, &["cancel", "b", row]);
    }
    world
        .expect(2, &run[..5])
        .says("2 rows cannot be paid by their bills");
    assert_eq!(ledger_beside_journal(&world).posts, 0);
    world.expect(0, &["cancel", "b", "W-4"]);
    world.expect(0, &["cancel", "b", "P-1"]);
    world.expect(3, &run[..5]);
    let ledger = ledger_beside_journal(&world);
    assert_eq!((ledger.executed_once, ledger.posts), (1, 1));
    assert_eq!(ledger.amounts["KES"], "1480.50");
    world.expect(3, &PAY);
    world.expect(0, &["report", "b", "--out", "r"]);
    let lines = payments(&world, "r");
    let states: Vec<&str> = lines.iter().map(|line| line.get("state")).collect();
    assert_eq!(states, [&["paid"][..], &["cancelled"; 6]].concat());
    assert_eq!(amounts(&lines)["W-2"], "");
}

#[test]
fn a_load_fixes_the_amounts_and_the_run_pays_them_without_asking_again() {
    let world = world(GOOD);
    let load = ["load", "bills.csv", "--batch", "b", "--sandbox"];
    world.expect(0, &load).says("2 rows have no amount yet");
    let status = world.expect(0, &["status", "b"]);
    status.says("waits for its bill");
    status.says("to go on: disburse run b --sandbox --pay-due, which asks for the bills");
    let report = world.expect(0, &["report", "b", "--out", "before"]);
    assert!(report.err.is_empty(), "{report:?}");
    let lines = payments(&world, "before");
    assert_eq!(lines[0].get("state"), "unpriced");
    assert_eq!(lines[0].get("amount"), "");
    world
        .expect(2, &["run", "b", "--sandbox", "--faults", "none"])
        .says("2 rows of batch b have no amount; nothing was posted");
    let loaded = world.expect(0, &[&load[..], &["--bills"]].concat());
    loaded.says("2 rows took what is due, KES 1,771.00");
    assert_eq!(world.status("b")["amounts"]["KES"], TOTAL);
    let explained = world.expect(0, &["explain", "b", "W-1"]);
    explained.says("bill: 308, KES 1480.50 due");
    explained.says("taken as the amount");
    world.expect(0, &["run", "b", "--sandbox", "--faults", "none"]);
    assert_eq!(ledger_beside_journal(&world).amounts["KES"], TOTAL);
}

#[test]
fn a_declared_total_that_the_bills_do_not_come_to_stops_the_run() {
    let world = world(GOOD);
    let declared = |total: &'static str, batch: &'static str| {
        let mut command = PAY;
        command[3] = batch;
        [
            &command[..],
            &["--expect-total", total, "--allow-same-content"],
        ]
        .concat()
    };
    world
        .expect(2, &declared("4000.00", "wrong"))
        .says("a total of KES 4000.00 was declared, with what is due its rows come to KES 4196.75");
    // Nor by a run that knows nothing of the declaration.
    world
        .expect(2, &["run", "wrong", "--sandbox", "--faults", "none"])
        .says("a total of KES 4000.00 was declared");
    assert_eq!(ledger_beside_journal(&world).posts, 0);
    world.expect(0, &["cancel", "wrong", "--yes"]);
    world.expect(0, &declared(TOTAL, "right"));
    assert_eq!(ledger_beside_journal(&world).amounts["KES"], TOTAL);
}

#[test]
fn only_a_postpaid_service_may_leave_its_amount_out_in_any_format() {
    let world = world("M-1,B2C_MPESA,254712345682,,,KES\n");
    world
        .expect(2, &["check", "bills.csv", "--sandbox"])
        .says("bills.csv:2: amount: expected an amount such as 1500.50, found nothing; only a bill_postpaid service takes what is due, and B2C_MPESA is mobile_money");
    for amount in ["", r#","amount":null"#, r#","amount":"""#] {
        let row = format!(
            r#"{{"reference":"W-1","service_code":"WATER","msisdn":"254712345678","account_number":"1000123"{amount}}}"#
        );
        world.write("bills.jsonl", &row);
        world
            .expect(0, &["check", "bills.jsonl", "--sandbox", "--bills"])
            .says("1,480.50");
    }
}

#[test]
fn two_batches_that_wait_for_one_another_are_told_which_way_leads_out() {
    let services = "[services.WATER]\nkind = \"bill_postpaid\"\ncurrency_code = \"KES\"\n";
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    world.write(
        "disburse.toml",
        &format!("{}{services}", world.read("disburse.toml")),
    );
    // Each pays one account in full, and leaves the amount of the other one to its bill.
    for (name, priced, waiting) in [("a", "1000123", "1000200"), ("b", "1000200", "1000123")] {
        let rows = format!(
            "{name}-1,WATER,254712345678,{priced},100.00,KES\n{name}-2,WATER,254712345679,{waiting},,KES\n"
        );
        world.write(&format!("{name}.csv"), &format!("{HEADER}{rows}"));
        world.expect(0, &["load", &format!("{name}.csv"), "--batch", name]);
    }
    let run = |batch| ["run", batch, "--pay-due", "--yes"];
    for (batch, other) in [("a", "b"), ("b", "a")] {
        let said = world.expect(2, &run(batch));
        said.says(&format!(
            "{batch}.csv:3: account_number: line 2 of batch {other} pays this account of WATER already"
        ));
        said.says(&format!(
            "hint: first `disburse run {other}`, then run the same command again"
        ));
        said.says(&format!(
            "withdraw the row that waits here, disburse cancel {batch} {batch}-2"
        ));
        assert!(!said.err.contains("--amend"), "{}", said.err);
    }
    assert_eq!(sandbox.ledger().posts, 0);
    // The way that the hint shows.
    world.expect(0, &["cancel", "a", "a-2"]);
    world.expect(3, &run("a"));
    world.expect(0, &run("b"));
    world.write(
        "later.csv",
        &format!("{HEADER}a-2,WATER,254712345679,1000200,,KES\n"),
    );
    world.expect(0, &["load", "later.csv", "--batch", "later"]);
    world.expect(0, &run("later"));
    assert_eq!(sandbox.ledger().executed_once, 4);
}
