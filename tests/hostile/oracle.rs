//! What must hold after every scenario, whatever the gateway did: the gateway's books against everything the product says.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::gateway::Gateway;
use super::office::{BATCH, Office, reference};

/// One row of payments.csv.
#[derive(Clone, Debug)]
pub struct Paid {
    pub id: String,
    pub state: String,
    pub code: String,
    pub attempts: u32,
    pub amount: String,
}

const OPEN: [&str; 5] = ["ready", "posting", "in_doubt", "acknowledged", "delivered"];

/// Returns the rows of payments.csv by reference; each line of the batch exactly once.
pub fn payments(office: &Office) -> BTreeMap<String, Paid> {
    let mut reader = csv::Reader::from_path(office.path("report/payments.csv")).unwrap();
    let mut rows = BTreeMap::new();
    for record in reader.records() {
        let record = record.unwrap();
        let row = Paid {
            id: record[2].to_owned(),
            state: record[8].to_owned(),
            code: record[9].to_owned(),
            attempts: record[14].parse().unwrap(),
            amount: record[6].to_owned(),
        };
        let twice = rows.insert(record[1].to_owned(), row);
        assert!(twice.is_none(), "two rows for {twice:?}");
    }
    rows
}

/// Writes the report, and holds it, the status and the exit code against the gateway's books.
pub fn check(name: &str, gateway: &Gateway, office: &Office, code: Option<i32>) {
    let report = office.call(&["report", BATCH, "--out", "report"]);
    assert_eq!(report.code, Some(0), "{name}: {report:?}");
    let first = fs::read(office.path("report/report.json")).unwrap();
    let rows = payments(office);
    let mut wrongs = gateway.ledger.books().crimes(office.retried.get());
    wrongs.extend(against_books(gateway, office, &rows));
    let status = office.call(&["status", BATCH, "--json"]);
    let status: Value = serde_json::from_str(&status.out).unwrap();
    let document: Value = serde_json::from_slice(&first).unwrap();
    wrongs.extend(among_themselves(&rows, &status, &document));
    if let Some(code) = code {
        let states: Vec<&str> = rows.values().map(|row| row.state.as_str()).collect();
        let open = states.iter().any(|state| OPEN.contains(state));
        let fits = match code {
            0 => states.iter().all(|state| *state == "paid"),
            3 => !open && states.iter().any(|state| *state != "paid"),
            4 | 5 => open,
            _ => false,
        };
        if !fits {
            wrongs.push(format!("exit code {code} for {status}"));
        }
        if !open {
            office.call(&["report", BATCH, "--out", "report"]);
            if fs::read(office.path("report/report.json")).unwrap() != first {
                wrongs.push("two reports of a finished batch differ".into());
            }
        }
    }
    let proof = office.call(&["verify", BATCH]);
    if proof.code != Some(0) {
        wrongs.push(format!("the journal is not sound: {proof:?}"));
    }
    for leak in office.leaks() {
        wrongs.push(format!("the password is in {}", leak.display()));
    }
    let complaints = office.complaints();
    if complaints.contains("panicked") {
        wrongs.push(format!("a panic: {complaints}"));
    }
    assert!(wrongs.is_empty(), "{name}:\n{}", wrongs.join("\n"));
}

fn against_books(gateway: &Gateway, office: &Office, rows: &BTreeMap<String, Paid>) -> Vec<String> {
    let mut wrongs = Vec::new();
    let books = gateway.ledger.books();
    for row in 0..office.setup.rows {
        let reference = reference(row);
        let Some(paid) = rows.get(&reference) else {
            wrongs.push(format!("{reference} is in no bucket"));
            continue;
        };
        let deal = books.deals.get(&paid.id).cloned().unwrap_or_default();
        let state = paid.state.as_str();
        let open = OPEN.contains(&state);
        let fits = match (deal.executions, deal.contradicted) {
            (0, false) => open || state == "failed" || state == "cancelled",
            (_, false) => open || state == "paid",
            // Lied to in definite words: either word or a conflict.
            (_, true) => open || state == "paid" || state == "conflict" || state == "failed",
        };
        if !fits {
            wrongs.push(format!(
                "{reference} is {state} ({}) but {deal:?}",
                paid.code
            ));
        }
        if deal.posts > paid.attempts && !office.attempts_lost.get() {
            wrongs.push(format!(
                "{reference}: {} attempts, {} posts",
                paid.attempts, deal.posts
            ));
        }
        if deal.posts > 0 && deal.reference != reference {
            wrongs.push(format!(
                "{reference} has the identifier of {}",
                deal.reference
            ));
        }
        // What was acknowledged to the gateway is on disk, whatever happened to the process.
        if !deal.contradicted && !deal.acknowledged.is_empty() && open && !office.setup.confirmed {
            wrongs.push(format!(
                "{reference} is {state}, yet {:?} was acknowledged",
                deal.acknowledged
            ));
        }
    }
    for (id, deal) in &books.deals {
        let retried = office.retried.get();
        let is_row = |row: &Paid| retried || row.id == *id;
        let known = rows.get(&deal.reference).is_some_and(is_row);
        if deal.posts > 0 && !known {
            wrongs.push(format!("posted and in no report: {id} {deal:?}"));
        }
    }
    wrongs
}

fn among_themselves(
    rows: &BTreeMap<String, Paid>,
    status: &Value,
    document: &Value,
) -> Vec<String> {
    let mut wrongs = Vec::new();
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for row in rows.values() {
        let sum = counts.entry(row.state.as_str()).or_default();
        sum.0 += 1;
        sum.1 += row.amount.replace('.', "").parse::<u64>().unwrap();
    }
    for (state, (count, minor)) in &counts {
        let told = &status["states"][state];
        let amount = format!("{}.{:02}", minor / 100, minor % 100);
        if told["count"] != *count || told["amounts"]["KES"] != amount {
            wrongs.push(format!(
                "{state}: {count} of {amount} in payments.csv, {told} in the status"
            ));
        }
    }
    if status["count"] != rows.len() {
        wrongs.push(format!("{} rows in payments.csv, {status}", rows.len()));
    }
    let ids: std::collections::BTreeSet<&str> = rows.values().map(|row| row.id.as_str()).collect();
    if ids.len() != rows.len() {
        wrongs.push("an identifier stands twice".into());
    }
    let listed = document["payments"].as_array().unwrap();
    let same = listed.len() == rows.len()
        && listed.iter().all(|payment| {
            rows.get(payment["reference"].as_str().unwrap_or(""))
                .is_some_and(|row| {
                    payment["payer_transaction_id"] == row.id && payment["state"] == row.state
                })
        });
    if !same {
        wrongs.push("report.json and payments.csv differ".into());
    }
    wrongs
}
