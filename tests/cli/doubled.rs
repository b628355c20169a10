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

const BARE: &str = "msisdn,amount,customer_names,service_code,currency_code,country_code\n";

/// A file whose every amount a spreadsheet has rounded repeats no row of the one before, and pays everybody once more.
#[test]
fn a_file_with_rounded_amounts_is_shown_beside_the_one_that_it_was() {
    let file = |amounts: &[&str]| {
        let rows = (0..).zip(amounts).map(|(row, amount)| {
            format!("25471234567{row},{amount},Person {row},B2C_MPESA,KES,KE\n")
        });
        format!("{BARE}{}", rows.collect::<String>())
    };
    let shown = "pay the same recipient by the same service as batch jun (jun.csv, loaded";
    for (amounts, expected) in [
        // Rounded, and one more unit.
        (&["18250", "22101", "9900", "501"][..], Some("4 rows")),
        (&["18250", "22101", "9900", "777"], Some("3 rows")),
        // The same people and total, whatever each of them gets.
        (
            &["22100.75", "18250.49", "500.00", "9900.20"],
            Some("4 rows"),
        ),
        (
            &["18451.25", "22343.85", "10009.10", "505.50"],
            Some("4 rows"),
        ),
        // What other people are paid, and another month's commissions.
        (&["18250", "22101", "777", "888"], None),
        (&["20000", "25000", "9000", "600"], None),
        (&["18250"], None),
    ] {
        let desk = Desk::configured()
            .file(
                "jun.csv",
                file(&["18250.49", "22100.75", "9900.20", "500.00"]),
            )
            .file("jun2.csv", file(amounts));
        desk.run(&["load", "jun.csv", "--batch", "jun"]).finished(0);
        for command in [
            &["check", "jun2.csv"][..],
            &["load", "jun2.csv", "--batch", "jun2"],
        ] {
            let said = desk.run(command).finished(0).err;
            match expected {
                Some(rows) => assert!(
                    said.contains(&format!("warning: {rows} of jun2.csv {shown}")),
                    "{amounts:?}: {said}"
                ),
                None => assert!(!said.contains(shown), "{amounts:?}: {said}"),
            }
        }
    }
}

/// What a column that was filled down, a rounded number, or a row that somebody wanted out looks like.
#[test]
fn signs_of_a_file_that_went_wrong_are_shown_in_a_rehearsal_too() {
    let head = "reference,service_code,msisdn,amount,currency_code,country_code,customer_names\n";
    let row = |reference: &str, number: &str, amount: u32, name: &str| {
        format!("{reference},B2C_MPESA,{number},{amount},KES,KE,{name}\n")
    };
    let people = ["Ann", "Ben", "Cy"];
    let filled_down: String = (1..)
        .zip(people)
        .map(|(n, name)| row(&format!("R-{n}"), "254712345999", n * 100, name))
        .collect();
    let plain: String = (1..)
        .zip(people)
        .map(|(n, name)| row(&format!("P-{n}"), &format!("25471234567{n}"), n * 100, name))
        .collect();
    for (rows, shown) in [
        (
            filled_down.clone(),
            Some(
                "2 rows of f.csv pay a number or an account that other rows of it pay under other names",
            ),
        ),
        (
            format!("{plain}{}", row("R-4", "254713000000", 9, "Di")),
            Some("1 row pays to a number that ends with six zeros or more (line 5)"),
        ),
        (
            format!("{plain}{}", row("# R-4", "254713000001", 9, "Di")),
            Some("1 row begins with # (line 5), which takes no row out"),
        ),
        // Two at one number, and references that all begin so.
        (
            format!("{plain}{}", row("R-4", "254712345671", 9, "Di")),
            None,
        ),
        (row("#1001", "254712345671", 9, "Di"), None),
    ] {
        let desk = Desk::configured().file("f.csv", format!("{head}{rows}"));
        for command in [
            &["check", "f.csv"][..],
            &["check", "f.csv", "--sandbox"],
            &["load", "f.csv", "--batch", "b"],
            &[
                "load",
                "f.csv",
                "--batch",
                "r",
                "--sandbox",
                "--journal",
                "r.db",
            ],
        ] {
            let said = desk.run(command).finished(0).err;
            match shown {
                Some(shown) => assert!(said.contains(shown), "{command:?} {shown}: {said}"),
                None => assert!(!said.contains("warning"), "{command:?}: {said}"),
            }
        }
    }
}

/// A column of somebody else's file may say why a row is not to be paid.
#[test]
fn notes_are_passed_over_in_files_of_ours_alone() {
    let rows = "reference,service_code,msisdn,amount,currency_code,country_code,reason\n\
         R-1,B2C_MPESA,254712345678,100.00,KES,KE,resigned: do not pay\n";
    for column in ["reason", "error", "what_to_do", "raw"] {
        let desk = Desk::configured().file("f.csv", rows.replace("reason", column));
        let said = desk.run(&["check", "f.csv"]).finished(2).err;
        let with = format!("has an unknown column {column:?}");
        assert!(said.contains(&with), "{said}");
    }
}
