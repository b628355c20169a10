//! The samples of every kind of payment, as the README has a newcomer run them.

use crate::sandbox::ledger_beside_journal;
use crate::world::{Setup, World};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/");

/// Pays a sample against the sandbox inside the process; the ledger agrees with the report.
fn pay(name: &str, rows: u64) -> World {
    // Without a configuration of its own: the services are the built-in ones.
    let world = World::new(&Setup::default());
    std::fs::remove_file(world.path("disburse.toml")).unwrap();
    let file = format!("{SAMPLES}{name}.csv");
    let command = ["pay", &file, "--batch", name, "--sandbox", "--pay-due"];
    let code = world.until_finished(&command);
    assert!(matches!(code, 0 | 3), "{code}");
    let status = world.status(name);
    assert_eq!(status["count"], rows);
    let ledger = ledger_beside_journal(&world);
    assert_eq!(ledger.executed_more, 0);
    assert_eq!(ledger.executed_once, world.count(name, "paid"));
    assert_eq!(
        ledger.amounts["KES"],
        status["states"]["paid"]["amounts"]["KES"].as_str().unwrap()
    );
    for report in ["report.html", "report.json", "payments.csv"] {
        assert!(world.path(&format!("reports/{name}/{report}")).is_file());
    }
    world
}

/// Returns what stands in a column of the report, of the payments that are paid.
fn of_paid(world: &World, name: &str, column: &str) -> Vec<String> {
    let path = world.path(&format!("reports/{name}/payments.csv"));
    let mut reader = csv::Reader::from_path(path).unwrap();
    let head = reader.headers().unwrap().clone();
    let place = |name: &str| head.iter().position(|found| found == name).unwrap();
    let (state, column) = (place("state"), place(column));
    let rows = reader.records().map(Result::unwrap);
    let paid: Vec<String> = rows
        .filter(|row| &row[state] == "paid")
        .map(|row| row[column].to_owned())
        .collect();
    assert!(!paid.is_empty());
    paid
}

#[test]
fn bank_payouts_are_paid() {
    pay("bank", 48);
}

#[test]
fn transfers_are_paid_and_those_that_need_a_document_have_one() {
    let world = pay("rtgs", 24);
    let done = world.expect(0, &["explain", "rtgs", "RT-0001"]);
    done.says("document uploaded");
    for application in of_paid(&world, "rtgs", "application_id") {
        assert!(application.starts_with("APP"), "{application}");
    }
}

#[test]
fn airtime_is_bought_for_oneself_and_for_others() {
    pay("airtime", 40);
}

#[test]
fn bills_are_paid_by_amount_and_by_what_is_due() {
    let world = pay("bills", 36);
    let rows = world.read("reports/bills/payments.csv");
    let empty = rows.lines().filter(|row| row.contains(",,KES,")).count();
    assert_eq!(empty, 0, "every row has its amount by now");
}

#[test]
fn electricity_is_bought_and_its_tokens_are_in_the_report() {
    let world = pay("electricity", 30);
    for token in of_paid(&world, "electricity", "electricity_token") {
        let digits = token.chars().filter(char::is_ascii_digit).count();
        assert_eq!(digits, 20, "{token}");
    }
}
