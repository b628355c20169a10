//! `check` and `load` of the samples: totals, every mistake by name, corrections that come in again.

use std::fs;

use crate::desk::{Desk, HEADER, ROWS};

#[test]
fn every_good_sample_passes_with_its_totals() {
    for name in [
        "payroll.csv",
        "refunds.csv",
        "nightly.json",
        "nightly.jsonl",
    ] {
        let desk = Desk::new().sample(name);
        let before = desk.files();
        let said = desk.run(&["check", name, "--sandbox"]);
        insta::assert_snapshot!(format!("check_{name}"), said.whole());
        assert!(desk.files() == before, "a check leaves nothing behind");
    }
}

#[test]
fn every_mistake_is_named_by_its_cause() {
    let desk = Desk::new().sample("mistakes.csv");
    insta::assert_snapshot!(
        "mistakes",
        desk.run(&["check", "mistakes.csv", "--sandbox"]).whole()
    );
    insta::assert_snapshot!(
        "mistakes_corrections",
        desk.text("mistakes.corrections.csv")
    );
}

#[test]
fn the_sample_configuration_checks_the_samples_too() {
    let desk = Desk::new().sample("payroll.csv").sample("disburse.toml");
    let said = desk.run(&["check", "payroll.csv", "--json"]).finished(0);
    assert_eq!(said.json()["amounts"]["KES"], "50680775.36");
    assert_eq!(said.err, "");
}

#[test]
fn only_the_first_fifty_errors_are_shown_and_all_are_kept() {
    let rows: String = (0..80)
        .map(|n| format!("R-{n},B2C_MPESA,25471234567,{n}x,KES,KE\n"))
        .collect();
    let desk = Desk::new().file("bad.csv", format!("{HEADER}{rows}"));
    let said = desk.run(&["check", "bad.csv", "--sandbox"]).finished(2);
    let lines: Vec<&str> = said.err.lines().collect();
    let shown = lines
        .iter()
        .filter(|line| line.starts_with("bad.csv:"))
        .count();
    assert_eq!(shown, 50);
    // Each row has two.
    assert_eq!(lines[50], "… and 110 more");
    assert_eq!(lines[52], "error: bad.csv: 80 rows with errors");
    assert_eq!(lines.len(), 54);
    assert_eq!(desk.text("bad.corrections.csv").lines().count(), 81);
}

#[test]
fn corrections_are_mended_and_loaded_again() {
    let desk = Desk::new().file(
        "pay.csv",
        format!("{HEADER}{ROWS}R-4,B2C_MPESA,25471234567,7.00,KES,KE\nR-5,B2C_MPESA,254712345678,\"1,500.00\",KES,KE\n"),
    );
    let said = desk
        .run(&[
            "load",
            "pay.csv",
            "--batch",
            "b",
            "--sandbox",
            "--on-error",
            "skip",
        ])
        .finished(0);
    insta::assert_snapshot!("load_skipping", said.whole());
    let corrections = desk.text("pay.corrections.csv");
    insta::assert_snapshot!("corrections", corrections);
    let mended = corrections
        .replace(",25471234567,", ",254712345671,")
        .replacen("\"1,500.00\"", "1500.00", 1)
        .replace(",7.00,", ",17.00,");
    let desk = desk.file("pay.corrections.csv", mended);
    let said = desk.run(&[
        "load",
        "pay.corrections.csv",
        "--batch",
        "b",
        "--sandbox",
        "--amend",
    ]);
    insta::assert_snapshot!("load_corrections", said.whole());
    let status = desk.run(&["status", "b", "--json"]).finished(0).json();
    assert_eq!(status["states"]["ready"]["count"], 5);
    assert_eq!(
        status["states"]["rejected"]["count"], 2,
        "what was rejected stays on record"
    );
}

#[test]
fn a_second_round_of_corrections_does_not_overwrite_the_first() {
    let desk = Desk::new().file(
        "pay.csv",
        format!("{HEADER}R-4,B2C_MPESA,25471234567,17.00,KES,KE\n"),
    );
    desk.run(&["check", "pay.csv", "--sandbox"]).finished(2);
    let first = desk.text("pay.corrections.csv");
    let said = desk
        .run(&["check", "pay.corrections.csv", "--sandbox"])
        .finished(2);
    assert!(
        said.err.contains("are in pay.corrections-2.csv, "),
        "{}",
        said.err
    );
    assert_eq!(desk.text("pay.corrections.csv"), first);
    assert_eq!(
        desk.text("pay.corrections-2.csv"),
        first,
        "the error column does not grow"
    );
}

#[test]
fn corrections_go_where_they_are_asked_to() {
    let desk = Desk::new().sample("mistakes.csv");
    fs::create_dir(desk.path("out")).unwrap();
    desk.run(&[
        "check",
        "mistakes.csv",
        "--sandbox",
        "--corrections",
        "out/mend.csv",
    ])
    .finished(2);
    assert!(desk.path("out/mend.csv").exists());
    assert!(!desk.path("mistakes.corrections.csv").exists());
}

#[test]
fn a_file_that_was_loaded_with_rows_set_aside_is_told_the_same_the_second_time() {
    let desk = Desk::new().sample("mistakes.csv");
    let load = [
        "load",
        "mistakes.csv",
        "--batch",
        "b",
        "--sandbox",
        "--on-error",
        "skip",
        "--json",
    ];
    let mut first = desk.run(&load).finished(0).json();
    let second = desk.run(&load).finished(0).json();
    assert_eq!(first["loaded"], true);
    first["loaded"] = false.into();
    assert_eq!(second, first);
}

#[test]
fn equal_rows_are_payments_of_their_own_when_that_is_said() {
    let row = ",B2C_MPESA,254712345678,100.00,KES,KE\n";
    let desk = Desk::new().file("equal.csv", format!("{HEADER}{row}{row}"));
    let said = desk.run(&["check", "equal.csv", "--sandbox"]).finished(2);
    assert!(
        said.err.starts_with(
            "equal.csv:3: equal to line 2: one mistake or two payments? Give each row a reference, or say --allow-equal-rows\n"
        ),
        "{}",
        said.err
    );
    let said = desk
        .run(&[
            "load",
            "equal.csv",
            "--batch",
            "b",
            "--sandbox",
            "--allow-equal-rows",
            "--json",
        ])
        .finished(0);
    assert_eq!(said.json()["count"], 2);
}
