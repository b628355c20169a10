//! Batches that are not what they are said to be: unknown, taken by other content, there already, of another total.

use crate::desk::{Desk, HEADER, ROWS};

#[test]
fn an_unknown_batch_is_refused_by_every_command() {
    let desk = Desk::loaded();
    for command in [
        &["status", "n"][..],
        &["run", "n", "--sandbox"],
        &["report", "n", "--out", "r"],
        &["explain", "n", "R-1"],
        &["retry", "n"],
        &[
            "resolve",
            "n",
            "R-1",
            "--paid",
            "--reason",
            "a",
            "--evidence",
            "b",
        ],
        &["cancel", "n"],
        &["cancel", "n", "R-1"],
        &["resume-lane", "n", "B2C_MPESA"],
    ] {
        let said = desk.run(command);
        said.refused(
            2,
            &[
                "error: no batch named n in this journal",
                "hint: `disburse status` lists the batches of the journal",
            ],
        );
    }
    assert!(!desk.path("r").exists());
}

#[test]
fn an_unknown_payment_is_refused_with_where_to_find_its_name() {
    let desk = Desk::loaded();
    for command in [
        &["explain", "b", "R-9"][..],
        &[
            "resolve",
            "b",
            "R-9",
            "--paid",
            "--reason",
            "a",
            "--evidence",
            "b",
        ],
        &["cancel", "b", "R-9"],
    ] {
        desk.refuses(
            command,
            2,
            &[
                "error: no payment R-9 in batch b",
                "hint: name it by the reference of its row or by its payerTransactionID; payments.csv of the report lists both",
            ],
        );
    }
}

#[test]
fn a_name_that_could_be_a_path_is_no_batch_name() {
    let desk = Desk::loaded();
    for (name, found) in [("../b", "'/'"), ("a b", "' '")] {
        desk.refuses(
            &["load", "ok.csv", "--batch", name, "--sandbox"],
            2,
            &[&format!(
                "error: batch name {name:?}: must not contain {found}; allowed are letters, digits, '.', '_' and '-'"
            )],
        );
    }
}

const TAKEN: &str = "error: batch b exists already, and differs from the file: ";

#[test]
fn a_name_taken_by_other_content_shows_what_is_new_gone_and_changed() {
    let changed = ROWS
        .replace("200.50", "205.00")
        .replace("R-3,", "R-4,")
        .replace("254712345678", "254712345670");
    let desk = Desk::loaded()
        .file("other.csv", format!("{HEADER}{changed}"))
        .file(
            "more.csv",
            format!("{HEADER}{ROWS}R-4,B2C_MPESA,254712345670,50.00,KES,KE\n"),
        )
        .file(
            "less.csv",
            format!("{HEADER}{}", ROWS.split_inclusive('\n').next().unwrap()),
        );
    let never = "hint: rows of a batch never change. If the old row was never posted, cancel it with `disburse cancel`, and add the new one with --amend under a new reference. If it has failed, mend it in the failed.csv of `disburse report`, and add that file with --amend. A row that is paid, or may be, cannot be corrected: pay the difference as a row of \
                 a new batch";
    let others = [
        "  changed: line 2, reference R-1: differs in msisdn",
        "  changed: line 3, reference R-2: amount was KES 200.50, is KES 205.00",
        "  gone: line 4, reference R-3",
        "  new: line 4, reference R-4",
    ];
    for amend in [&[][..], &["--amend"]] {
        let said = desk.run(&[&["load", "other.csv", "--batch", "b", "--sandbox"], amend].concat());
        let mut lines: Vec<&str> = said.err.lines().collect();
        // The order of rows that changed is that of their identifiers.
        lines[1..3].sort_unstable();
        let first = format!(
            "{TAKEN}1 row of the batch is not in the file; 2 rows of the file have another content in the batch; 1 row of the file is not in the batch; nothing was loaded"
        );
        assert_eq!(lines, [&[&*first], &others[..], &[never]].concat());
        assert_eq!((said.code, &*said.out), (2, ""));
    }
    desk.refuses(
        &["load", "more.csv", "--batch", "b", "--sandbox"],
        2,
        &[
            &format!("{TAKEN}1 row of the file is not in the batch; nothing was loaded"),
            "  new: line 5, reference R-4",
            "hint: add the new rows to the batch with --amend, which leaves the others as they are",
        ],
    );
    desk.refuses(
        &["pay", "less.csv", "--batch", "b", "--sandbox"],
        2,
        &[
            &format!("{TAKEN}2 rows of the batch are not in the file; nothing was loaded"),
            "  gone: line 3, reference R-2",
            "  gone: line 4, reference R-3",
            "hint: use `disburse cancel` for the rows that are not to be paid any more",
        ],
    );
    let said = desk
        .run(&[
            "load",
            "more.csv",
            "--batch",
            "b",
            "--sandbox",
            "--amend",
            "--json",
        ])
        .finished(0);
    assert_eq!(said.json()["count"], 1, "only what is new is added");
    assert_eq!(desk.run(&["status", "b", "--json"]).json()["count"], 4);
}

const REPEATS: &str =
    "error: ok.csv: 3 rows repeat what was loaded before, and may be paid already";

#[test]
fn the_same_content_under_another_name_would_pay_everyone_twice() {
    let desk = Desk::configured();
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    let before = desk.run(&["status", "--json"]).finished(0).out;
    for more in [&[][..], &["--allow-same-content"]] {
        let said = desk.run(&[&["load", "ok.csv", "--batch", "c"], more].concat());
        assert_eq!((said.code, &*said.out), (2, ""));
        let first = format!("{REPEATS}; nothing was loaded");
        assert!(said.err.lines().any(|line| line == first), "{}", said.err);
        assert!(
            said.err.contains("\n  3 of batch b (ok.csv, loaded 20"),
            "{}",
            said.err
        );
        let row = "ok.csv:3: reference: \"R-2\" is the reference of line 3 of ok.csv in batch b (loaded 20";
        assert!(said.err.contains(row), "{}", said.err);
    }
    let said = desk.run(&["check", "ok.csv"]);
    assert_eq!(said.code, 2);
    assert!(said.err.lines().any(|line| line == REPEATS), "{}", said.err);
    assert_eq!(desk.run(&["status", "--json"]).finished(0).out, before);
}

#[test]
fn rows_of_a_batch_that_was_cancelled_as_a_whole_were_paid_to_nobody() {
    let desk = Desk::configured();
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    desk.run(&["cancel", "b", "--yes"]).finished(0);
    // Under its own name it is there, and pays nobody.
    let again = desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    assert!(again.err.contains("nobody was paid"), "{}", again.err);
    assert!(!again.err.contains("next: disburse run b"), "{}", again.err);
    // What that says is done once.
    desk.run(&["load", "ok.csv", "--batch", "c"]).finished(0);
    let said = desk.run(&["load", "ok.csv", "--batch", "d"]);
    assert!(said.code == 2 && said.err.contains(REPEATS), "{}", said.err);
}

#[test]
fn rehearsals_may_be_repeated_at_will() {
    let desk = Desk::loaded();
    desk.run(&["load", "ok.csv", "--batch", "c", "--sandbox"])
        .finished(0);
}

#[test]
fn the_same_file_again_is_no_error_and_no_second_load() {
    let desk = Desk::loaded();
    let before = desk.run(&["status", "b", "--json"]).finished(0).out;
    let said = desk
        .run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    assert!(
        said.out
            .contains("3 payments already there, unchanged, in batch b\nevidence: 3 rows, head "),
        "{}",
        said.out
    );
    assert_eq!(desk.run(&["status", "b", "--json"]).finished(0).out, before);
}

#[test]
fn declared_totals_that_differ_are_refused() {
    let desk = Desk::loaded();
    let hint = "hint: rows may be missing or doubled in the file, or this is the wrong file: ask the person who declared the count or total";
    for (option, value, error) in [
        ("--expect-count", "4", "4 rows declared, found 3"),
        ("--expect-count", "1", "1 row declared, found 3"),
        (
            "--expect-total",
            "600.51",
            "a total of KES 600.51 was declared, found KES 600.50",
        ),
        (
            "--expect-total",
            "KES 1,600.50",
            "a total of KES 1600.50 was declared, found KES 600.50",
        ),
        (
            "--expect-total",
            "UGX 600",
            "a total of UGX 600 was declared, found KES 600.50",
        ),
    ] {
        let load = [
            "load",
            "ok.csv",
            "--batch",
            "n",
            "--sandbox",
            "--allow-same-content",
            option,
            value,
        ];
        let line = format!("error: ok.csv: {error}; nothing was loaded");
        desk.refuses(&load, 2, &[&line, hint]);
        let check = ["check", "ok.csv", "--sandbox", option, value];
        desk.refuses(&check, 2, &[&format!("error: ok.csv: {error}"), hint]);
    }
}

#[test]
fn a_declared_total_that_lacks_unreadable_amounts_says_so() {
    let rows =
        "R-1,B2C_MPESA,254712345678,100.00,KES,KE\nR-2,B2C_MPESA,254712345679,\"1.5,00\",KES,KE\n";
    let desk = Desk::new().file("half.csv", format!("{}{rows}", crate::desk::HEADER));
    let load = ["load", "half.csv", "--batch", "h", "--sandbox"];
    let declared = ["--on-error", "skip", "--expect-total", "115.00"];
    let said = desk.run(&[&load[..], &declared].concat()).finished(2);
    assert!(
        said.err.contains(
            "error: half.csv: a total of KES 115.00 was declared, found KES 100.00 without 1 row whose amount cannot be read; nothing was loaded\n\
             hint: mend their amounts first"
        ),
        "{}",
        said.err
    );
}

#[test]
fn declared_totals_that_agree_are_accepted_in_every_form() {
    let desk = Desk::with_rows();
    for total in ["600.50", "600.5", "KES 600.50", "KES 600.5"] {
        desk.run(&[
            "check",
            "ok.csv",
            "--sandbox",
            "--expect-count",
            "3",
            "--expect-total",
            total,
        ])
        .finished(0);
    }
    // Several currencies: one declared total cannot stand for all of them.
    let desk = Desk::new().sample("nightly.json");
    let said = desk
        .run(&[
            "check",
            "nightly.json",
            "--sandbox",
            "--expect-total",
            "KES 1089586.78",
        ])
        .finished(2);
    assert!(
        said.err
            .contains("found KES 1089586.78, TZS 20129000.00, UGX 16626500"),
        "{}",
        said.err
    );
}
