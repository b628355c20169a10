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
fn equal_mistakes_are_one_line_that_names_their_rows() {
    let rows: String = (0..1_000)
        .map(|n| format!("R-{n},B2C_MPESA,2547{:07},50.00,KES,KE\n", n))
        .collect();
    let desk = Desk::new().file("bad.csv", format!("{HEADER}{rows}"));
    let said = desk.run(&["check", "bad.csv", "--sandbox"]).finished(2);
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(
        lines[0].starts_with("bad.csv: 1,000 rows: msisdn: "),
        "{}",
        said.err
    );
    assert!(
        lines[0].contains(", lines 2 to 1001 (the first: \"25470000000\")"),
        "{}",
        said.err
    );
    assert_eq!(lines[2], "error: bad.csv: 1,000 rows with errors");
    assert_eq!(lines.len(), 4);
    assert_eq!(desk.text("bad.corrections.csv").lines().count(), 1_001);
}

#[test]
fn equal_mistakes_with_values_of_their_own_are_one_line_too() {
    let rows: String = (11..=70)
        .map(|n| format!("R-{n},B2C_MPESA,254712345678,\"{n},50\",KES,KE\n"))
        .collect();
    let desk = Desk::new().file("bad.csv", format!("{HEADER}{rows}"));
    let said = desk.run(&["check", "bad.csv", "--sandbox"]).finished(2);
    assert_eq!(
        said.err.lines().next(),
        Some(
            "bad.csv: 60 rows: amount: has a decimal comma, lines 2 to 61 (the first: \"11,50\"; write 11.50)"
        )
    );
}

#[test]
fn only_the_first_fifty_kinds_of_errors_are_shown_and_all_are_kept() {
    let rows: String = (0..80)
        .map(|n| format!("R-{n},SERVICE_{n:02}_X,254712345678,50.00,KES,KE\n"))
        .collect();
    let desk = Desk::new().file("bad.csv", format!("{HEADER}{rows}"));
    let said = desk.run(&["check", "bad.csv", "--sandbox"]).finished(2);
    let lines: Vec<&str> = said.err.lines().collect();
    let shown = lines
        .iter()
        .filter(|line| line.starts_with("bad.csv:"))
        .count();
    assert_eq!(shown, 50);
    assert_eq!(lines[50], "… and 30 more");
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
    insta::assert_snapshot!("load_skipping", said.whole_but_the_head());
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
    insta::assert_snapshot!("load_corrections", said.whole_but_the_head());
    let status = desk.run(&["status", "b", "--json"]).finished(0).json();
    assert_eq!(status["states"]["ready"]["count"], 5);
    assert_eq!(
        status["states"]["rejected"]["count"], 0,
        "a mended row takes the place of the rejected one"
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
            "equal.csv:3: equal to line 2: one mistake or two payments? Give each row a reference, or add --allow-equal-rows\n"
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

#[test]
fn every_mistake_is_an_object_for_a_program() {
    let rows: String = (0..200)
        .map(|n| format!("R-{n},B2C_MPESA,2547123{n:04},5.00,KES,KE\n"))
        .collect();
    let desk = Desk::new().file(
        "bad.csv",
        format!("{HEADER}{rows}R-0,B2C_MPESA,,50.00,KES,KE\nR-1,B2C_MPESA,254712345678,50.00,KES,KE\nR-1,B2C_MPESA,254712345679,50.00,KES,KE\n"),
    );
    let said = desk
        .run(&["check", "bad.csv", "--sandbox", "--json"])
        .finished(2);
    let json = said.json();
    let errors = json["errors"].as_array().unwrap();
    assert_eq!(json["bad_rows"], 202);
    assert_eq!(errors.len(), 402);
    for error in errors {
        let members: Vec<&str> = error
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            members,
            [
                "code", "column", "expected", "file", "found", "hint", "line"
            ]
        );
    }
    assert_eq!(errors[0]["file"], "bad.csv");
    assert_eq!(errors[0]["line"], 2);
    assert_eq!(errors[0]["column"], "msisdn");
    assert_eq!(errors[0]["code"], "invalid");
    assert_eq!(errors[0]["found"], "25471230000");
    assert_eq!(errors[400]["code"], "missing");
    assert_eq!(
        errors[400]["expected"],
        "a phone number with its country code"
    );
    assert_eq!(errors[401]["code"], "repeated_reference");
    assert_eq!(errors[401]["line"], 204);

    // What is wrong with the whole file is one object.
    let said = desk
        .file("other.csv", "a,b\n1,2\n")
        .run(&["check", "other.csv", "--sandbox", "--json"])
        .finished(2);
    let json = said.json();
    assert_eq!(json["errors"].as_array().unwrap().len(), 1);
    assert_eq!(json["errors"][0]["file"], "other.csv");
    assert!(
        json["errors"][0]["message"]
            .as_str()
            .unwrap()
            .contains("unknown columns")
    );
}
