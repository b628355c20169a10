//! People who may be in one file twice: shown with both lines, also beside errors, and no more once one of them is withdrawn.

use crate::desk::Desk;

const NAMED: &str = "reference,service_code,msisdn,amount,currency_code,country_code,customer_names\n\
     R-1,B2C_MPESA,254712345678,100.00,KES,KE,Ann Wanjiru\n\
     R-2,B2C_MPESA,254712345679,200.00,KES,KE,Ben Otieno\n\
     R-3,B2C_MPESA,254712345678,100.00,KES,KE,Ann Wanjiru\n";
const WARNING: &str = "1 row of named.csv pays the same person (number and name) the same amount as another row of it, under another \
     reference: line 4 (like 2)";

#[test]
fn a_doubled_person_is_shown_with_both_lines_beside_the_errors_too() {
    let bad = format!("{NAMED}R-4,B2C_MPESA,25471,100.00,KES,KE,Cy\n");
    for (file, code) in [(NAMED, 0), (&bad, 2)] {
        let desk = Desk::configured().file("named.csv", file);
        for command in [
            &["check", "named.csv"][..],
            &["load", "named.csv", "--batch", "b"],
        ] {
            let said = desk.run(command).finished(code);
            assert!(
                said.err.contains(&format!("warning: {WARNING}\n")),
                "{command:?}: {}",
                said.err
            );
        }
    }
}

/// Yesterday's decision that a row is not paid, and today's file of somebody else.
#[test]
fn what_was_withdrawn_or_changed_is_shown_when_another_file_pays_it() {
    let head = "reference,service_code,msisdn,amount,currency_code,country_code,customer_names\n";
    let first = format!(
        "{head}R-1,B2C_MPESA,254712345678,100.00,KES,KE,Ann\nR-2,B2C_MPESA,25471,200.00,KES,KE,Ben\nR-3,B2C_MPESA,254712345670,300.00,KES,KE,Cy\n"
    );
    let second = format!(
        "{head}R-2,B2C_MPESA,254712345679,200.00,KES,KE,Ben\nR-4,B2C_MPESA,254712345671,400.00,KES,KE,Di\n"
    );
    let third = format!(
        "{head}R-1,B2C_MPESA,254712345678,100.00,KES,KE,Ann\nR-3,B2C_MPESA,254712345670,350.00,KES,KE,Cy\n"
    );
    let desk = Desk::configured()
        .file("first.csv", &first)
        .file("second.csv", &second)
        .file("third.csv", &third);
    let skip = ["load", "first.csv", "--batch", "b", "--on-error", "skip"];
    desk.run(&skip).finished(0);
    let shown = "1 row of second.csv repeats a row that was cancelled in batch b";
    let check = desk.run(&["check", "second.csv"]).finished(0);
    assert!(!check.err.contains(shown), "not yet: {}", check.err);
    let cancel = [
        "cancel",
        "b",
        "--rejected",
        "R-2",
        "--reason",
        "left the firm",
        "--yes",
    ];
    desk.run(&cancel).finished(0);
    let load = ["load", "second.csv", "--batch", "c"];
    for command in [&["check", "second.csv"][..], &load] {
        let said = desk.run(command).finished(0);
        assert!(
            said.err.contains(&format!("warning: {shown}")),
            "{}",
            said.err
        );
        assert!(said.err.contains("line 2\n"), "{}", said.err);
    }
    let said = desk.run(&["run", "c", "--yes", "--max-wait", "1s"]);
    assert!(said.err.contains(&format!("note: {shown}")), "{}", said.err);
    // A file whose rows are there already, but for an amount.
    let said = desk.run(&["load", "third.csv", "--batch", "d"]).finished(2);
    let changed = "1 of them differs from how it was loaded before:\n  line 3, R-3: KES 350.00 now, 300.00 before\n";
    assert!(said.err.contains(changed), "{}", said.err);
}

#[test]
fn a_cancellation_names_the_payment_and_keeps_its_reason() {
    let desk = Desk::configured().file("named.csv", NAMED);
    desk.run(&["load", "named.csv", "--batch", "b"]).finished(0);
    let empty = ["cancel", "b", "R-2", "--reason", " "];
    assert!(
        desk.run(&empty)
            .finished(2)
            .err
            .contains("--reason is empty")
    );
    let cancel = ["cancel", "b", "R-2", "--reason", "he has left"];
    let said = desk.run(&cancel).finished(0);
    let told = "1 payment cancelled: R-2, KES 200.00 to Ben Otieno, ********5679";
    assert!(said.out.starts_with(told), "{}", said.out);
    let said = desk.run(&["explain", "b", "R-2"]).finished(0);
    assert!(said.out.contains("he has left"), "{}", said.out);
    let said = desk.run(&["cancel", "b", "--reason", "the month is wrong", "--yes"]);
    said.finished(0);
    let said = desk.run(&["explain", "b", "R-1"]).finished(0);
    assert!(said.out.contains("the month is wrong"), "{}", said.out);
}

#[test]
fn a_doubled_person_is_shown_no_more_once_one_row_is_withdrawn() {
    for (withdrawn, is_shown) in [("R-2", true), ("R-1", false), ("R-3", false)] {
        let desk = Desk::configured().file("named.csv", NAMED);
        desk.run(&["load", "named.csv", "--batch", "b"]).finished(0);
        desk.run(&["cancel", "b", withdrawn, "--yes"]).finished(0);
        let said = desk.run(&["run", "b", "--yes", "--max-wait", "1s"]);
        assert_eq!(
            said.err.contains(&format!("note: {WARNING}\n")),
            is_shown,
            "{withdrawn}: {}",
            said.err
        );
    }
}
