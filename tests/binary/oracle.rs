//! What must hold of every batch, whatever happened on the way: the report is held against file and ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::files::{Row, decimal, minor};
use crate::sandbox::Ledger;
use crate::world::World;

/// One row of payments.csv.
#[derive(Debug)]
pub struct Line {
    pub cells: BTreeMap<String, String>,
}

impl Line {
    #[track_caller]
    pub fn get(&self, column: &str) -> &str {
        self.cells
            .get(column)
            .unwrap_or_else(|| panic!("no column {column}"))
    }
}

/// Reads a report's payments.csv.
#[track_caller]
pub fn payments(world: &World, folder: &str) -> Vec<Line> {
    let mut reader = csv::Reader::from_path(world.path(folder).join("payments.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    let records = reader.records().map(|record| {
        let record = record.unwrap();
        let cells = header.iter().zip(record.iter());
        Line {
            cells: cells
                .map(|(name, cell)| (name.to_owned(), cell.to_owned()))
                .collect(),
        }
    });
    records.collect()
}

/// The gateway executed nothing twice.
#[track_caller]
pub fn nothing_twice(ledger: &Ledger) {
    let more: Vec<_> = ledger
        .identifiers
        .iter()
        .filter(|(_, row)| row.executions > 1)
        .collect();
    assert!(
        more.is_empty() && ledger.executed_more == 0,
        "executed more than once: {more:?}"
    );
}

/// A finished batch: file, journal, report and ledger say the same, and every repeat of a post had the same bytes.
#[track_caller]
pub fn prove(world: &World, batch: &str, rows: &[Row], ledger: &Ledger) {
    assert_eq!(
        ledger.altered, 0,
        "posts of one identifier differ in their bytes"
    );
    prove_outcome(world, batch, rows, ledger);
}

/// The same, where an earlier journal was lost: it alone knew the first post's date.
#[track_caller]
pub fn prove_outcome(world: &World, batch: &str, rows: &[Row], ledger: &Ledger) {
    nothing_twice(ledger);
    let status = world.status(batch);
    assert_eq!(status["finished"], true, "{status}");
    assert_eq!(ledger.pending, 0, "finished, and the gateway still pays");
    world.expect(0, &["report", batch, "--out", "proof"]);
    world
        .expect(0, &["verify", batch])
        .says("sound: everything fits");
    let lines = payments(world, "proof");
    every_row_has_one_line(&lines, rows);
    report_equals_ledger(&lines, ledger);
    sums_agree(world, &lines, &status, rows);
    same_bytes_twice(world, batch);
}

#[track_caller]
fn every_row_has_one_line(lines: &[Line], rows: &[Row]) {
    assert_eq!(lines.len(), rows.len(), "one line per row");
    let mut identifiers = BTreeSet::new();
    for (index, (line, row)) in lines.iter().zip(rows).enumerate() {
        let said = ["line", "reference", "service_code", "msisdn", "amount"].map(|c| line.get(c));
        let (number, amount) = ((index + 2).to_string(), row.amount());
        assert_eq!(
            said,
            [&number, &row.reference, row.service, &row.msisdn, &amount]
        );
        assert!(
            identifiers.insert(line.get("payer_transaction_id")),
            "one identifier, two rows: {line:?}"
        );
    }
}

#[track_caller]
fn report_equals_ledger(lines: &[Line], ledger: &Ledger) {
    let (mut paid, mut sum) = (0, 0);
    let mut known = BTreeSet::new();
    for line in lines {
        let id = line.get("payer_transaction_id");
        known.insert(id);
        let entry = ledger.identifiers.get(id);
        let executed = entry.map_or(0, |entry| entry.executions);
        match line.get("state") {
            "paid" => {
                assert_eq!(executed, 1, "reported paid: {line:?}, {entry:?}");
                let entry = entry.unwrap();
                assert_eq!(entry.amount.as_deref(), Some(line.get("amount")));
                assert_eq!(entry.service.as_deref(), Some(line.get("service_code")));
                paid += 1;
                sum += minor(line.get("amount"));
            }
            "failed" => {
                let status = entry.map(|entry| entry.status.as_str());
                assert_eq!(executed, 0, "reported failed: {line:?}, {entry:?}");
                assert!(
                    matches!(status, Some("failed" | "refused")),
                    "reported failed: {line:?}, {entry:?}"
                );
            }
            "cancelled" | "rejected" => assert!(entry.is_none(), "{line:?}, {entry:?}"),
            state => panic!("a finished batch has a row in {state}: {line:?}, {entry:?}"),
        }
    }
    assert_eq!(ledger.executed_once, paid);
    let moved = ledger.amounts.get("KES").map_or(0, |amount| minor(amount));
    assert_eq!(decimal(moved), decimal(sum));
    // An identifier that no line has would be a second payment of some row.
    let foreign: Vec<_> = ledger
        .identifiers
        .keys()
        .filter(|id| !known.contains(id.as_str()))
        .collect();
    assert!(foreign.is_empty(), "not in the report: {foreign:?}");
}

/// payments.csv, report.json and `status --json` agree, and add up to the file.
#[track_caller]
fn sums_agree(world: &World, lines: &[Line], status: &Value, rows: &[Row]) {
    let report: Value = serde_json::from_str(&world.read("proof/report.json")).unwrap();
    let mut states: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
    for line in lines {
        let tally = states.entry(line.get("state")).or_default();
        tally.0 += 1;
        tally.1 += minor(line.get("amount"));
    }
    for (name, source) in [("report.json", &report), ("status --json", status)] {
        let said: BTreeMap<&str, (u64, i64)> = source["states"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(state, tally)| (state.as_str(), tally_of(tally)))
            .filter(|(_, tally)| tally.0 > 0)
            .collect();
        assert_eq!(said, states, "{name} against payments.csv");
        let total: i64 = rows.iter().map(|row| row.minor).sum();
        assert_eq!(tally_of(source), (rows.len() as u64, total), "{name}");
    }
    assert_eq!(report["adds_up"], true);
    assert_eq!(report["finished"], true);
    assert_eq!(tally_of(&report["control"]), tally_of(&report));
    let listed = report["payments"].as_array().unwrap();
    assert_eq!(listed.len(), lines.len());
    for (entry, line) in listed.iter().zip(lines) {
        for column in ["payer_transaction_id", "state", "amount"] {
            assert_eq!(entry[column].as_str(), Some(line.get(column)));
        }
    }
}

fn tally_of(value: &Value) -> (u64, i64) {
    let amount = value["amounts"]["KES"].as_str().map_or(0, minor);
    (value["count"].as_u64().unwrap(), amount)
}

#[track_caller]
fn same_bytes_twice(world: &World, batch: &str) {
    world.expect(0, &["report", batch, "--out", "again"]);
    for name in ["report.json", "payments.csv", "report.html"] {
        // The page names the file of failed rows beside it.
        let read = |folder: &str| {
            let text = fs::read_to_string(world.path(folder).join(name)).unwrap();
            text.replace(&format!("{folder}/failed.csv"), "failed.csv")
        };
        assert!(
            read("proof") == read("again"),
            "{name} differs from one writing to the next"
        );
    }
}
