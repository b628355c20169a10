//! What an operator decided: in the report, in `explain`, and after a retry.

use std::time::{Duration, Instant};

use crate::desk::{Desk, HEADER, Said};

const RUN: [&str; 5] = ["run", "b", "--sandbox", "--faults", "none"];

/// A desk on which R-1 was recorded as failed, R-2 cancelled and R-3 paid, each by order.
fn decided() -> Desk {
    let desk = Desk::with_rows().file(
        "disburse.toml",
        "[profiles.p]\nresolution.status_query = false\n",
    );
    desk.run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    desk.run(&["cancel", "b", "R-2"]).finished(0);
    let left = [&RUN[..], &["--no-wait", "--poll-only"]].concat();
    let said = desk.run(&left).finished(4);
    assert!(
        said.err
            .contains("hint: to wait for them: disburse run b --sandbox\n"),
        "{}",
        said.err
    );
    let resolve = |reference, outcome, more: &[&str]| -> Said {
        let why = [
            "--reason",
            "never arrived",
            "--evidence",
            "ticket 4711",
            "--yes",
        ];
        desk.run(&[&["resolve", "b", reference, outcome][..], &why, more].concat())
    };
    resolve("R-3", "--paid", &[]).finished(0);
    let desk = desk.variable("DISBURSE_GIVE_UP_AFTER", "1s");
    let began = Instant::now();
    loop {
        let why = [
            "--reason",
            "never arrived",
            "--evidence",
            "ticket 4711",
            "--yes",
        ];
        let order = [
            "resolve",
            "b",
            "R-1",
            "--failed",
            "--although-accepted",
            "--sandbox",
        ];
        let said = desk.run(&[&order[..], &why].concat());
        if said.code == 0 {
            return desk;
        }
        // Its time is not up.
        assert!(said.err.contains("give_up_after"), "{said:?}");
        assert!(began.elapsed() < Duration::from_secs(60), "{said:?}");
    }
}

#[test]
fn what_an_operator_called_failed_is_not_called_proven_and_stays_in_the_report() {
    let desk = decided();
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let page = desk.text("r/report.html");
    assert!(
        page.contains("Recorded as failed by an operator, not by the gateway"),
        "{page}"
    );
    assert!(!page.contains("Proven not paid"), "{page}");
    let notes = desk.text("r/payments.csv");
    let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    let person = &report["people"][0];
    let by = format!(
        "by {} on {}: never arrived (evidence: ticket 4711)",
        person["user"].as_str().unwrap(),
        person["host"].as_str().unwrap()
    );
    for outcome in ["failed", "paid"] {
        assert!(
            notes.contains(&format!("recorded as {outcome} {by}")),
            "{notes}"
        );
    }
    let said = desk.run(&["retry", "b", "--yes"]).finished(0);
    assert!(
        said.err.contains("pay 1 failed payment of batch b again, KES 100.00, each under a new identifier: 1 by an operator's decision, KES 100.00"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("next: disburse run b --sandbox\n"),
        "{}",
        said.err
    );
    assert_eq!(
        said.out,
        "1 failed payment is to be paid again, under a new identifier\n"
    );
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let notes = desk.text("r/payments.csv");
    assert!(
        notes.contains(&format!("the earlier one was recorded as failed {by}")),
        "{notes}"
    );
}

#[test]
fn explain_lists_the_loads_and_what_touched_the_payment() {
    let desk = decided();
    desk.run(&["retry", "b", "--yes"]).finished(0);
    let acts = |reference: &str| -> Vec<Vec<String>> {
        let said = desk.run(&["explain", "b", reference, "--json"]).finished(0);
        let records = said.json();
        let acts = records.as_array().unwrap().iter().map(|record| {
            let people = record["people"].as_array().unwrap().iter();
            people
                .map(|one| one["act"].as_str().unwrap().to_owned())
                .collect()
        });
        acts.collect()
    };
    assert_eq!(acts("R-2"), [["load", "cancel"]]);
    assert_eq!(acts("R-3"), [["load", "run", "resolve"]]);
    let row = acts("R-1");
    assert_eq!(row.len(), 2, "{row:?}");
    assert!(
        row.contains(&vec!["load".into(), "retry".into()]),
        "{row:?}"
    );
    assert!(
        row.contains(
            &["load", "run", "resolve", "retry"]
                .map(str::to_owned)
                .to_vec()
        ),
        "{row:?}"
    );
}

#[test]
fn a_finished_run_says_who_is_not_paid_and_what_to_say_next() {
    let desk = Desk::loaded().file("faults.toml", "reject = 1.0\n");
    desk.run(&["cancel", "b", "R-2"]).finished(0);
    let run = ["run", "b", "--sandbox", "--faults", "faults.toml", "-q"];
    let said = desk.run(&run).finished(3);
    assert_eq!(
        said.err.lines().collect::<Vec<_>>(),
        [
            "warning: finished, but not everybody is paid: 2 failed, 1 cancelled",
            "hint: to see why each failed: disburse report b --out reports/b",
            "hint: to pay them again: disburse retry b, which first shows how many and how much, and asks",
            "hint: to close a payment that must not be paid: disburse cancel b REFERENCE",
        ]
    );
    // What the hint says, where nobody can be asked: nothing is changed.
    let said = desk.run(&["retry", "b"]).finished(2);
    assert!(said.err.contains("; nothing was changed"), "{}", said.err);
    desk.run(&["report", "b", "--out", "reports/b"]).finished(0);
}

#[test]
fn an_order_that_the_gateway_contradicts_stays_on_record() {
    let desk = Desk::loaded();
    let left = [&RUN[..], &["--no-wait", "--poll-only"]].concat();
    desk.run(&left).finished(4);
    // The sandbox lives as long as its command: while it settles these, it settles those that were left as well.
    let desk = desk.file(
        "more.csv",
        format!("{HEADER}S-1,B2C_MPESA,254712345670,100.00,KES,KE\n"),
    );
    let pay = [
        "pay",
        "more.csv",
        "--batch",
        "c",
        "--sandbox",
        "--faults",
        "none",
        "--poll-only",
    ];
    desk.run(&pay).finished(0);
    let order = [
        "resolve",
        "b",
        "R-1",
        "--failed",
        "--sandbox",
        "--reason",
        "a",
        "--evidence",
        "b",
        "--yes",
    ];
    let began = Instant::now();
    let paid = || desk.run(&["status", "b", "--json"]).json()["states"]["paid"]["count"].clone();
    while paid() != 1 {
        let said = desk.run(&order).finished(2);
        assert!(
            said.err.contains("it is not recorded as failed"),
            "{}",
            said.err
        );
        assert!(began.elapsed() < Duration::from_secs(60), "{said:?}");
    }
    let said = desk.run(&["explain", "b", "R-1"]).finished(0).out;
    assert!(
        said.contains("resolve --failed, which the gateway contradicted \""),
        "{said}"
    );
    let said = desk.run(&["explain", "b", "R-2"]).finished(0).out;
    assert!(!said.contains("resolve"), "{said}");
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    assert!(
        desk.text("r/report.json")
            .contains("which the gateway contradicted")
    );
    desk.run(&["verify", "b"]).finished(0);
}
