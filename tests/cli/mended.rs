//! Rejected rows on their way back: in the whole file, in a corrections file, under another name; and files that are no such thing.

use crate::desk::{CONFIGURATION, Desk};

const HEADER: &str =
    "reference,service_code,msisdn,amount,currency_code,country_code,customer_names\n";

/// A number that is right, and one that lacks digits.
fn good(n: u64) -> String {
    format!("2547123456{n:02}")
}

fn short(n: u64) -> String {
    format!("2547123{n:02}")
}

fn row(reference: &str, msisdn: &str, n: u64) -> String {
    format!(
        "{reference},B2C_MPESA,{msisdn},{}.00,KES,KE,Name {n}\n",
        100 + n
    )
}

/// Twenty rows; those whose number divides by five are bad, unless all are mended.
fn payroll(mended: bool) -> String {
    let rows = (1..=20).map(|n| {
        let is_bad = n % 5 == 0 && !mended;
        let msisdn = if is_bad { short(n) } else { good(n) };
        row(&format!("E-{n}"), &msisdn, n)
    });
    format!("{HEADER}{}", rows.collect::<String>())
}

fn load<'a>(file: &'a str, batch: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["load", file, "--batch", batch][..], more].concat()
}

const SKIP: [&str; 2] = ["--on-error", "skip"];
const AMEND: [&str; 1] = ["--amend"];

/// Rejected rows of a batch that nothing has taken the place of.
fn rejected(desk: &Desk, batch: &str) -> (u64, u64) {
    let status = desk.run(&["status", batch, "--json"]).json();
    let count = |value: &serde_json::Value| value["count"].as_u64().unwrap_or_default();
    (count(&status), count(&status["states"]["rejected"]))
}

#[test]
fn the_whole_file_that_was_mended_takes_the_place_of_what_was_rejected() {
    let desk = Desk::configured()
        .file("first.csv", payroll(false))
        .file("mended.csv", payroll(true));
    desk.run(&load("first.csv", "b", &SKIP)).finished(0);
    assert_eq!(rejected(&desk, "b"), (20, 4));
    // The hint of what comes without --amend is safe to follow.
    let said = desk.run(&load("mended.csv", "b", &[])).finished(2);
    assert!(
        said.err
            .contains("add the new rows to the batch with --amend")
    );
    let said = desk.run(&load("mended.csv", "b", &AMEND)).finished(0);
    assert!(
        said.err
            .contains("4 mended rows take the place of what was rejected"),
        "{}",
        said.err
    );
    assert_eq!(rejected(&desk, "b"), (20, 0));
    desk.run(&load("mended.csv", "b", &AMEND)).finished(0);
    // What was mended twice is one row.
    let corrections = desk.text("first.corrections.csv");
    let twice = [5, 10, 15, 20].iter().fold(corrections, |text, n| {
        text.replacen(&short(*n), &good(*n), 1)
    });
    let desk = desk.file("first.corrections.csv", twice);
    desk.run(&load("first.corrections.csv", "b", &AMEND))
        .finished(0);
    assert_eq!(rejected(&desk, "b"), (20, 0));
}

#[test]
fn what_may_be_a_mended_row_or_a_new_one_is_refused_with_a_way_that_is_safe() {
    let nameless = |msisdn: &str| {
        let rows = [good(1), good(2), msisdn.to_owned()];
        let rows = rows
            .iter()
            .map(|msisdn| format!("B2C_MPESA,{msisdn},50.00,KES,KE\n"));
        format!(
            "service_code,msisdn,amount,currency_code,country_code\n{}",
            rows.collect::<String>()
        )
    };
    let desk = Desk::configured()
        .file("first.csv", nameless("25471234"))
        .file("mended.csv", nameless(&good(3)));
    desk.run(&load("first.csv", "b", &SKIP)).finished(0);
    let said = desk.run(&load("mended.csv", "b", &AMEND)).finished(2);
    for words in [
        "mended.csv: 1 row may be a row of batch b that was rejected and mended since, or new; nothing was loaded",
        "mended.csv:4: may be the mended row of line 4, which was rejected (row-",
        "in the failed.csv of `disburse report b`",
        "A row that is really new is loaded under a batch name of its own",
    ] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    assert_eq!(rejected(&desk, "b"), (3, 1));
    // The way that the hint shows.
    let mended =
        desk.text("first.corrections.csv")
            .replacen(",25471234,", &format!(",{},", good(3)), 1);
    let desk = desk.file("first.corrections.csv", mended);
    desk.run(&load("first.corrections.csv", "b", &AMEND))
        .finished(0);
    assert_eq!(rejected(&desk, "b"), (3, 0));
}

#[test]
fn a_row_without_a_reference_that_was_withdrawn_does_not_come_back_in_the_whole_file() {
    let nameless = |msisdn: &str| {
        let header = "service_code,msisdn,amount,currency_code,country_code\n";
        format!(
            "{header}B2C_MPESA,{},50.00,KES,KE\nB2C_MPESA,{msisdn},50.00,KES,KE\n",
            good(1)
        )
    };
    let desk = Desk::configured()
        .file("first.csv", nameless("25471234"))
        .file("mended.csv", nameless(&good(3)));
    desk.run(&load("first.csv", "b", &SKIP)).finished(0);
    let withdraw = [
        "cancel",
        "b",
        "--rejected",
        "3",
        "--reason",
        "he has left",
        "--yes",
    ];
    desk.run(&withdraw).finished(0);
    let said = desk.run(&load("mended.csv", "b", &AMEND)).finished(2);
    let words =
        "mended.csv:3: may be the mended row of line 3, which was rejected and withdrawn (row-";
    assert!(said.err.contains(words), "{}", said.err);
}

#[test]
fn a_row_whose_reference_is_another_rows_never_leads_to_withdrawing_that_one() {
    let file = [
        row("D-1", &good(1), 1),
        row("D-1", &good(2), 2),
        row("D-3", &good(3), 3),
    ];
    let desk = Desk::configured().file("dup.csv", format!("{HEADER}{}", file.concat()));
    desk.run(&load("dup.csv", "b", &SKIP)).finished(0);
    let named = desk.text("dup.corrections.csv");
    let (start, _) = named.split_once("row-").unwrap();
    let unnamed = format!("{start},,\n");
    let desk = desk.file("named.csv", &named).file("unnamed.csv", unnamed);
    for file in ["named.csv", "unnamed.csv"] {
        for more in [&AMEND[..], &[]] {
            let said = desk.run(&load(file, "b", more)).finished(2);
            assert!(!said.err.contains("cancel"), "{file}: {}", said.err);
            assert!(
                said.err.contains("reference of its own") || said.err.contains("add --amend"),
                "{file}: {}",
                said.err
            );
        }
    }
    let said = desk.run(&load("named.csv", "b", &AMEND)).finished(2);
    let words = "named.csv:2: reference: \"D-1\" is the reference of line 2 of dup.csv, another row of this batch. Give this row a reference of its own";
    assert!(said.err.contains(words), "{}", said.err);
    let desk = desk.file("named.csv", named.replacen("D-1,", "D-2,", 1));
    desk.run(&load("named.csv", "b", &AMEND)).finished(0);
    assert_eq!(rejected(&desk, "b"), (3, 0));
}

#[test]
fn another_months_file_is_not_offered_to_be_added_to_this_months_batch() {
    let desk = Desk::configured()
        .file("november.csv", payroll(true))
        .file("renamed.csv", payroll(true).replace("E-", "DEC-"))
        .file("raised.csv", payroll(true).replace(".00,", ".50,"))
        .file("longer.csv", payroll(true) + &row("E-21", &good(21), 21));
    desk.run(&load("november.csv", "november", &[])).finished(0);
    for file in ["renamed.csv", "raised.csv"] {
        let said = desk.run(&load(file, "november", &[])).finished(2);
        let words = "hint: no row is in both: load another payroll, such as next month's, under a new batch name. If it is batch november with mended rows, first cancel the old rows";
        assert!(said.err.contains(words), "{file}: {}", said.err);
        assert!(!said.err.contains("--amend"), "{file}: {}", said.err);
    }
    let said = desk.run(&load("longer.csv", "november", &[])).finished(2);
    assert!(
        said.err
            .contains("add the new rows to the batch with --amend"),
        "{}",
        said.err
    );
}

#[test]
fn yesterdays_file_under_a_new_name_is_told_to_be_the_same_payroll() {
    let desk = Desk::configured()
        .file("november.csv", payroll(true))
        .file("raised.csv", payroll(true).replace("101.00,", "101.50,"))
        .file("longer.csv", payroll(true) + &row("E-21", &good(21), 21));
    desk.run(&load("november.csv", "november", &[])).finished(0);
    for command in [
        load("november.csv", "again", &[]),
        vec!["check", "november.csv"],
    ] {
        let said = desk.run(&command).finished(2);
        let hint = said
            .err
            .lines()
            .find(|line| line.starts_with("hint: "))
            .unwrap();
        assert!(
            hint.starts_with("hint: every row of the file is already in batch november (november.csv, loaded 20")
                && hint.ends_with(
                    ": 20 payments not sent yet. It is the same file again: do not load it again; `disburse run november` continues it"
                ),
            "{}",
            said.err
        );
        assert!(!said.err.contains("--on-error skip"), "{}", said.err);
    }
    // One amount is another, or one row is new: that is for a person to say.
    for file in ["raised.csv", "longer.csv"] {
        let said = desk.run(&load(file, "again", &[])).finished(2);
        assert!(!said.err.contains("same payroll"), "{file}: {}", said.err);
        let has_rest = file == "longer.csv";
        assert_eq!(
            said.err.contains("--on-error skip"),
            has_rest,
            "{file}: {}",
            said.err
        );
    }
}

#[test]
fn corrections_that_name_rejected_rows_are_not_replaced_by_ones_that_name_none() {
    let desk = Desk::configured().file("first.csv", payroll(false));
    // Of a refused load nothing is rejected: what its corrections are replaced by names more.
    desk.run(&load("first.csv", "b", &[])).finished(2);
    assert!(!desk.text("first.corrections.csv").contains("-of-b"));
    desk.run(&load("first.csv", "b", &SKIP)).finished(0);
    let named = desk.text("first.corrections.csv");
    assert_eq!(named.matches("-of-b").count(), 4);
    for command in [
        vec!["check", "first.csv"],
        load("first.csv", "other", &[]),
        load("first.csv", "third", &SKIP),
    ] {
        let said = desk.run(&command);
        assert_eq!(desk.text("first.corrections.csv"), named, "{}", said.err);
        let words = "first.corrections.csv names rows that an earlier load has rejected or that have failed, and stays as it is: mend those there";
        assert!(said.err.contains(words), "{}", said.err);
    }
    assert_eq!(
        desk.text("first.corrections-2.csv")
            .matches("-of-third")
            .count(),
        20
    );
}

#[test]
fn a_reference_that_a_spreadsheet_has_rounded_is_no_new_one() {
    let long = "1234567890123456789";
    let rounded = "1234567890123450000";
    let file = [
        row(long, &short(1), 1),
        row("1.10", &short(2), 2),
        row("E-3", &good(3), 3),
    ];
    let desk = Desk::configured().file("long.csv", format!("{HEADER}{}", file.concat()));
    desk.run(&load("long.csv", "b", &SKIP)).finished(0);
    let corrections = desk.text("long.corrections.csv");
    assert!(corrections.contains("\n'1.10,"), "{corrections}");
    assert!(
        corrections.contains(",102.00,"),
        "amounts are numbers: {corrections}"
    );
    let mended = corrections
        .replace(&short(1), &good(1))
        .replace(&short(2), &good(2));
    let spoilt = mended.replace(&format!("'{long}"), rounded);
    let unnamed = file
        .concat()
        .replace(&short(1), &good(1))
        .replace(&short(2), &good(2))
        .replace(long, rounded);
    let desk = desk
        .file("mended.csv", mended)
        .file("spoilt.csv", spoilt)
        .file("whole.csv", format!("{HEADER}{unnamed}"));
    let said = desk.run(&load("spoilt.csv", "b", &AMEND)).finished(2);
    let words = format!("Write {long:?}, as it was");
    assert!(said.err.contains(&words), "{}", said.err);
    let said = desk.run(&load("whole.csv", "b", &AMEND)).finished(2);
    assert!(
        said.err
            .contains("whole.csv:2: may be the mended row of line 2"),
        "{}",
        said.err
    );
    desk.run(&load("mended.csv", "b", &AMEND)).finished(0);
    assert_eq!(rejected(&desk, "b"), (3, 0));
    desk.run(&["explain", "b", "1.10"]).finished(0);

    // A doubled reference has to become another one, but not what a spreadsheet makes of it.
    let file = [row(long, &good(1), 1), row(long, &good(2), 2)];
    let desk = Desk::configured().file("long.csv", format!("{HEADER}{}", file.concat()));
    desk.run(&load("long.csv", "b", &SKIP)).finished(0);
    let corrections = desk.text("long.corrections.csv");
    let desk = desk
        .file(
            "spoilt.csv",
            corrections.replacen(&format!("'{long}"), rounded, 1),
        )
        .file(
            "mended.csv",
            corrections.replacen(&format!("'{long}"), "E-2", 1),
        );
    let said = desk.run(&load("spoilt.csv", "b", &AMEND)).finished(2);
    assert!(said.err.contains(&words), "{}", said.err);
    desk.run(&load("mended.csv", "b", &AMEND)).finished(0);
}

#[test]
fn whoever_was_withdrawn_and_comes_again_is_told_to_stay_so() {
    let desk = Desk::configured()
        .file("first.csv", payroll(true))
        .file("again.csv", format!("{HEADER}{}", row("E-2", &good(2), 2)));
    desk.run(&load("first.csv", "b", &[])).finished(0);
    desk.run(&["cancel", "b", "E-2"]).finished(0);
    let said = desk.run(&load("again.csv", "b", &AMEND)).finished(0);
    assert!(
        said.out.contains("0 payments loaded into batch b"),
        "{}",
        said.out
    );
    let words = "1 row of the file is of a payment that batch b has cancelled, and stays cancelled: nobody is paid by it. To pay it after all, \
                 load its row, with the same references, under a new batch name";
    assert!(said.err.contains(words), "{}", said.err);
    // The way that it shows.
    desk.run(&load("again.csv", "c", &[])).finished(0);
}

#[test]
fn an_amount_that_is_told_to_be_written_otherwise_is_told_its_limit_at_once() {
    let rows = row("E-1", &good(1), 1).replace("101.00", ".1")
        + &row("E-2", &good(2), 2).replace("102.00", "50.");
    let least = CONFIGURATION.replacen(
        "currency_code = \"KES\"\n\n[services.B2C_AIRTEL]",
        "currency_code = \"KES\"\nmin = \"10.00\"\n\n[services.B2C_AIRTEL]",
        1,
    );
    let desk = Desk::configured()
        .file("disburse.toml", least)
        .file("few.csv", format!("{HEADER}{rows}"));
    let said = desk.run(&["check", "few.csv"]).finished(2);
    let first: Vec<&str> = said
        .err
        .lines()
        .filter(|line| line.starts_with("few.csv:2:"))
        .collect();
    assert!(first.concat().contains("Write 0.1"), "{}", said.err);
    assert!(
        first.concat().contains("expected at least 10.00 KES"),
        "{}",
        said.err
    );
    let second: Vec<&str> = said
        .err
        .lines()
        .filter(|line| line.starts_with("few.csv:3:"))
        .collect();
    assert!(second.concat().contains("Write 50"), "{}", said.err);
    assert!(
        !second.concat().contains("expected at least"),
        "{}",
        said.err
    );
}

fn adds_nothing(out: &str) -> bool {
    out.contains("already there, unchanged") || out.contains("0 payments loaded")
}

/// Debts without references: one of them is mended to what looks like another one.
#[test]
fn a_mended_row_never_becomes_the_payment_of_another_row() {
    let row = |msisdn: &str| format!("B2C_MPESA,{msisdn},100.00,KES,KE,Ann\n");
    let header = "service_code,msisdn,amount,currency_code,country_code,customer_names\n";
    let file = format!("{header}{}{}", row(&good(1)), row("25471234560"));
    let desk = Desk::configured().file("first.csv", file);
    desk.run(&load("first.csv", "b", &SKIP)).finished(0);
    let mended =
        desk.text("first.corrections.csv")
            .replacen(",25471234560,", &format!(",{},", good(1)), 1);
    let desk = desk.file("mended.csv", &mended);
    let said = desk.run(&load("mended.csv", "b", &AMEND)).finished(2);
    let words = "mended.csv:2: equal to line 2 of first.csv, another row of this batch: one mistake or two payments? Remove this row if it is \
                 the same payment; if both are to be paid, add --allow-equal-rows";
    assert!(said.err.contains(words), "{}", said.err);
    assert_eq!(rejected(&desk, "b"), (2, 1));
    // With --on-error skip it stays what it was, and the file is not taken for one that is in the batch.
    let skipped = [&AMEND[..], &SKIP].concat();
    desk.run(&load("mended.csv", "b", &skipped));
    assert_eq!(rejected(&desk, "b"), (2, 1));
    let equal = ["--amend", "--allow-equal-rows"];
    let said = desk.run(&load("mended.csv", "b", &equal)).finished(0);
    assert!(
        said.out.contains("1 payment loaded into batch b"),
        "{} {}",
        said.out,
        said.err
    );
    assert_eq!(rejected(&desk, "b"), (2, 0));
    let ready = |desk: &Desk| {
        desk.run(&["status", "b", "--json"]).json()["states"]["ready"]["count"].clone()
    };
    assert_eq!(ready(&desk), 2);
    // The same corrections again are there, however they are written.
    let desk = desk.file("again.csv", mended.replace("100.00", "100.0"));
    for file in ["mended.csv", "again.csv"] {
        for more in [&AMEND[..], &equal] {
            let said = desk.run(&load(file, "b", more)).finished(0);
            assert!(adds_nothing(&said.out), "{file}: {}", said.out);
        }
    }
    assert_eq!(ready(&desk), 2);
}

#[test]
fn equal_rows_that_were_rejected_are_paid_one_by_one_or_not_at_all() {
    let row = format!("B2C_MPESA,{},100.00,KES,KE\n", good(1));
    let file = format!(
        "service_code,msisdn,amount,currency_code,country_code\n{}",
        row.repeat(3)
    );
    let desk = Desk::configured().file("first.csv", file);
    desk.run(&load("first.csv", "b", &SKIP)).finished(0);
    assert_eq!(rejected(&desk, "b"), (3, 2));
    let named = "first.corrections.csv";
    desk.run(&load(named, "b", &AMEND)).finished(2);
    assert_eq!(rejected(&desk, "b"), (3, 2));
    let equal = ["--amend", "--allow-equal-rows"];
    let said = desk.run(&load(named, "b", &equal)).finished(0);
    assert!(
        said.out.contains("2 payments loaded"),
        "{} {}",
        said.out,
        said.err
    );
    assert_eq!(rejected(&desk, "b"), (3, 0));
    // One of them alone, and both, are there.
    let one: Vec<_> = desk
        .text(named)
        .lines()
        .take(2)
        .map(str::to_owned)
        .collect();
    let desk = desk.file("one.csv", one.join("\n"));
    for file in ["one.csv", named] {
        let said = desk.run(&load(file, "b", &equal)).finished(0);
        assert!(adds_nothing(&said.out), "{file}: {} {}", said.out, said.err);
    }
}

#[test]
fn a_mended_row_with_another_reference_is_told_to_withdraw_the_rejected_one() {
    let file = row("E-1", &short(1), 1) + &row("E-2", &good(2), 2);
    let desk = Desk::configured().file("first.csv", format!("{HEADER}{file}"));
    desk.run(&load("first.csv", "b", &SKIP)).finished(0);
    let mended = desk
        .text("first.corrections.csv")
        .replacen(&short(1), &good(1), 1);
    let desk = desk.file("mended.csv", mended.replacen("E-1,", "E-1b,", 1));
    let said = desk.run(&load("mended.csv", "b", &AMEND)).finished(2);
    let words = "reference: is not that of the rejected row; write it as it was. If it is to be another one, first withdraw the rejected row \
                 (disburse cancel b --rejected 2 --reason TEXT), and load this one, without rejected_row, under a batch name of its own";
    assert!(said.err.contains(words), "{}", said.err);
    // The way that it shows leaves nothing to be mended once more.
    desk.run(&[
        "cancel",
        "b",
        "--rejected",
        "2",
        "--reason",
        "as E-1b",
        "--yes",
    ])
    .finished(0);
    let own = format!("{HEADER}{}", row("E-1b", &good(1), 1));
    let desk = desk.file("own.csv", own);
    desk.run(&load("own.csv", "c", &[])).finished(0);
    desk.run(&load("mended.csv", "b", &AMEND)).finished(2);
}

#[test]
fn a_row_that_stands_in_the_place_of_one_that_is_left_out_is_not_paid_beside_it() {
    let file = |middle: String| {
        format!(
            "{HEADER}{}{middle}{}",
            row("W-1", &good(1), 1),
            row("W-3", &good(3), 3)
        )
    };
    let again = file(row("W-2b", &good(2), 7));
    let desk = Desk::configured()
        .file("w.csv", file(row("W-2", &good(2), 2)))
        .file("w2.csv", &again)
        .file(
            "further.csv",
            format!("{HEADER}{}", row("W-9", &good(3), 9)),
        );
    desk.run(&load("w.csv", "w", &[])).finished(0);
    let said = desk.run(&load("w2.csv", "w", &AMEND)).finished(2);
    for words in [
        "w2.csv: leaves out rows of batch w, and has new ones for the same recipients; nothing was loaded",
        "w2.csv:3: pays the same recipient through the same service as line 3 of w.csv, reference W-2, which is left out",
        "First cancel the old row with `disburse cancel w REFERENCE`",
        "A row that is paid, or may be, cannot be corrected: pay the difference as a row of a new batch",
    ] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    // Both ways that it shows.
    desk.run(&load("further.csv", "w", &AMEND)).finished(0);
    desk.run(&["cancel", "w", "W-2"]).finished(0);
    let said = desk.run(&load("w2.csv", "w", &AMEND));
    // The further payment is of somebody whose row is in the file.
    said.finished(0);
    let status = desk.run(&["status", "w", "--json"]).json();
    assert_eq!(status["states"]["ready"]["count"], 4);
    // Another amount under the same reference is told what to do where the old row is paid.
    let dearer = file(row("W-2", &good(2), 2)).replacen("101.00", "151.00", 1);
    let desk = desk.file("dearer.csv", dearer);
    let said = desk.run(&load("dearer.csv", "w", &AMEND)).finished(2);
    assert!(
        said.err
            .contains("pay the difference as a row of a new batch"),
        "{}",
        said.err
    );
}

#[test]
fn an_amendment_that_is_the_batch_under_other_references_is_refused() {
    let file = |prefix: &str| -> String {
        let rows = (1..=3).map(|n| row(&format!("{prefix}{n}"), &good(n), n));
        format!("{HEADER}{}", rows.collect::<String>())
    };
    let desk = Desk::configured()
        .file("w.csv", file("W-"))
        .file("renamed.csv", file("R/"))
        .file(
            "further.csv",
            format!("{HEADER}{}", row("W-9", &good(3), 3)),
        );
    desk.run(&load("w.csv", "w", &[])).finished(0);
    let said = desk.run(&load("renamed.csv", "w", &AMEND)).finished(2);
    for words in [
        "renamed.csv: each of its 3 rows pays the recipient of a row of batch w the same amount",
        "load the rows under a new batch name",
    ] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    // Which shows each of them, there too.
    let said = desk.run(&load("renamed.csv", "other", &[])).finished(0);
    assert!(said.err.contains("under another reference"), "{}", said.err);
    desk.run(&load("further.csv", "w", &AMEND)).finished(0);
}

#[test]
fn who_is_left_of_a_file_of_repeats_is_named_behind_the_other_ways() {
    let desk = Desk::configured()
        .file("november.csv", payroll(true))
        .file("longer.csv", payroll(true) + &row("E-21", &good(21), 21));
    desk.run(&load("november.csv", "november", &[])).finished(0);
    let said = desk.run(&load("longer.csv", "again", &[])).finished(2);
    let words = "--on-error skip leaves the repeats out, and loads the rest, which a run then pays: 1 row, line 22. Check it first";
    let (before, _) = said.err.split_once(words).expect(&said.err);
    assert!(before.contains("--allow-repeats"), "{before}");
}

#[test]
fn an_amendment_is_compared_by_accounts_however_they_are_written() {
    const HEAD: &str = "reference,service_code,msisdn,amount,currency_code,bank_code,bank_name,bank_account_name,bank_account_number\n";
    let row = |reference: &str, account: &str, amount: u32| {
        format!("{reference},BANK,254712345678,{amount}.00,KES,01,KCB,Ann,{account}\n")
    };
    let kept = row("E-1", "0011223344", 1000) + &row("E-2", "0011223355", 2000);
    let dashed = row("R-1", "00-1122-3344", 1000)
        + &row("R-2", "00-1122-3355", 2000)
        + &row("R-3", "00-1122-3366", 3000);
    let configuration =
        format!("{CONFIGURATION}\n[services.BANK]\nkind = \"bank\"\ncurrency_code = \"KES\"\n");
    let desk = Desk::configured()
        .file("disburse.toml", configuration)
        .file(
            "w.csv",
            format!("{HEAD}{kept}{}", row("E-3", "0011223366", 3000)),
        )
        .file(
            "instead.csv",
            format!("{HEAD}{kept}{}", row("E-3b", "11223366", 3500)),
        )
        .file("dashed.csv", format!("{HEAD}{dashed}"));
    desk.run(&load("w.csv", "w", &[])).finished(0);
    for (file, words) in [
        (
            "instead.csv",
            "pays the same recipient through the same service as line 4 of w.csv, reference E-3, which is left out",
        ),
        (
            "dashed.csv",
            "each of its 3 rows pays the recipient of a row of batch w the same amount",
        ),
    ] {
        let said = desk.run(&load(file, "w", &AMEND)).finished(2);
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
}

#[test]
fn a_batch_stays_with_the_organisation_that_it_was_loaded_for_and_hints_lead_there() {
    let configuration = CONFIGURATION.replacen("[services", "[profiles.test]\nbase_url = \"http://127.0.0.1:1\"\nauth_url = \"http://127.0.0.1:1\"\nusername = \"test\"\noriginator = \"acme-test\"\ncountry_code = \"KE\"\ncurrency_code = \"KES\"\n\n[services", 1);
    let configuration = format!("default_profile = \"p\"\n{configuration}");
    let desk = Desk::configured().file("disburse.toml", configuration);
    let load = [
        "--profile",
        "test",
        "load",
        "ok.csv",
        "--batch",
        "trial",
        "--journal=t.db",
    ];
    let said = desk.run(&load).finished(0);
    let next = "disburse --profile test --journal t.db run trial";
    assert!(
        format!("{}{}", said.out, said.err).contains(next),
        "{said:?}"
    );
    let said = desk
        .run(&["run", "trial", "--yes", "--journal", "t.db"])
        .finished(2);
    assert!(
        said.err
            .contains("batch trial was loaded for originator acme-test; this run is configured for originator "),
        "{}",
        said.err
    );
    assert!(said.err.contains("Nothing was sent"), "{}", said.err);
}
