//! What earlier statements showed, and what other batches paid, beside the statement that is compared.

use crate::desk::{Desk, Said};
use crate::reconcile::{payments, states, today};

pub fn compare(desk: &Desk, batch: &str, file: &str, more: &[&str]) -> Said {
    let order = ["reconcile", batch, file, "--currency", "KES", "--paid-out"];
    desk.run(&[&order[..], more].concat()).finished(3)
}

/// Returns how many payments were found so.
pub fn found(said: &Said, kind: &str) -> u64 {
    said.json()["found"][kind]["count"].as_u64().unwrap_or(0)
}

#[test]
fn a_payment_that_left_twice_over_two_statements_is_told() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let id = &known["R-1"].0;
    let head = "date,amount,receipt,reference\n";
    let columns = [
        "--column",
        "reference=receipt",
        "--column",
        "reference=reference",
    ];
    let (first, second) = (
        format!("{day},100.00,QK1,{id}\n"),
        format!("{day},100.00,QK2,{id}\n"),
    );
    let desk = desk
        .file("one.csv", format!("{head}{first}"))
        .file("more.csv", format!("{head}{first}{day},7.00,QK3,rent\n"))
        .file("two.csv", format!("{head}{second}{day},7.00,QK3,rent\n"))
        .file(
            "other.csv",
            format!("date,amount,receipt,reference,status\n{day},100.00,QK9,{id},Completed\n"),
        );
    let with = |more: &'static str| [&columns[..], &[more]].concat();
    let json = with("--json");
    compare(&desk, "b", "one.csv", &columns);
    // The same line in a statement that has more of them is the same movement.
    let said = compare(&desk, "b", "more.csv", &json);
    assert_eq!(
        (found(&said, "twice_there"), found(&said, "open_paid_there")),
        (0, 1),
        "{said:?}"
    );
    // A list of another kind may tell of the same movement.
    let said = compare(&desk, "b", "other.csv", &json);
    assert_eq!(
        (found(&said, "twice_there"), found(&said, "open_paid_there")),
        (0, 1),
        "{said:?}"
    );
    let said = compare(&desk, "b", "two.csv", &with("--settle"));
    assert!(said.out.contains("paid twice in the statement"), "{said:?}");
    let together = "statements that were compared before have lines about it";
    assert!(said.out.contains(together), "{said:?}");
    assert!(
        said.out
            .contains(&format!("which count as well: one.csv of {day}")),
        "{said:?}"
    );
    assert_ne!(states(&desk)[0], "paid");
    let status = desk.run(&["status", "b"]).finished(0).out;
    assert!(
        status.contains("the statement two.csv, compared at "),
        "{status}"
    );
    // Neither the same file again nor the first one finds more.
    for file in ["two.csv", "one.csv"] {
        let said = compare(&desk, "b", file, &json);
        assert_eq!(
            (found(&said, "twice_there"), found(&said, "open_paid_there")),
            (1, 0),
            "{said:?}"
        );
    }
    desk.run(&["verify", "b"]).finished(0);
}

/// Exports of one account do not always have the same columns, nor all receipts at once.
#[test]
fn a_receipt_that_comes_later_is_no_second_payment() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let id = &known["R-1"].0;
    let head = "date,amount,reference";
    let line = |receipt: &str| format!("{head},receipt,branch\n{day},100.00,{id},{receipt},west\n");
    let desk = desk
        .file("early.csv", format!("{head}\n{day},100.00,{id}\n"))
        .file("empty.csv", format!("{head},receipt\n{day},100.00,{id},\n"))
        .file("first.csv", line("QK1"))
        .file("second.csv", line("QK2"));
    for (file, twice) in [
        ("early.csv", 0),
        ("empty.csv", 0),
        ("first.csv", 0),
        ("second.csv", 1),
    ] {
        let said = compare(&desk, "b", file, &["--json"]);
        assert_eq!(
            (found(&said, "twice_there"), found(&said, "open_paid_there")),
            (twice, 1 - twice),
            "{file} {said:?}"
        );
    }
    desk.run(&["verify", "b"]).finished(0);
    // Two lines alike in one statement are two, whatever comes later.
    let desk = {
        let fresh = Desk::waiting();
        let known = payments(&fresh);
        let day = today(&fresh);
        let id = &known["R-1"].0;
        let line = format!("{day},100.00,{id}\n");
        fresh
            .file("both.csv", format!("{head}\n{line}{line}"))
            .file("one.csv", format!("{head}\n{line}"))
    };
    for file in ["both.csv", "one.csv"] {
        let said = compare(&desk, "b", file, &["--json"]);
        assert_eq!(found(&said, "twice_there"), 1, "{file} {said:?}");
    }
}

#[test]
fn what_came_back_by_an_earlier_statement_is_not_settled_by_a_list_of_payments() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let (first, second) = (&known["R-1"].0, &known["R-2"].0);
    let desk = desk
        .file(
            "bank.csv",
            format!(
                "date,paid_out,paid_in,description\n{day},100.00,,{first}\n{day},,100.00,{first}\n"
            ),
        )
        .file(
            "list.csv",
            format!("date,amount,reference\n{day},100.00,{first}\n{day},200.50,{second}\n"),
        );
    let order = ["reconcile", "b", "bank.csv", "--currency", "KES"];
    desk.run(&order).finished(3);
    let said = compare(&desk, "b", "list.csv", &["--settle"]);
    assert!(said.out.contains("1 payment recorded as paid"), "{said:?}");
    let states = states(&desk);
    assert_eq!(
        (states[0] == "paid", states[1].as_str()),
        (false, "paid"),
        "{states:?}"
    );
    desk.run(&["verify", "b"]).finished(0);
}

/// What an earlier statement showed in another amount is not settled by a list that has the right one.
#[test]
fn what_moved_otherwise_by_an_earlier_statement_is_not_settled() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let id = &known["R-1"].0;
    let desk = desk
        .file("parts.csv", format!("date,paid_out,paid_in,description\n{day},100.00,,{id}\n{day},,50.00,{id}\n{day},,50.00,{id}\n"))
        .file("list.csv", format!("date,amount,reference\n{day},100.00,{id}\n"));
    let order = ["reconcile", "b", "parts.csv", "--currency", "KES"];
    desk.run(&order).finished(3);
    let said = compare(&desk, "b", "list.csv", &["--settle"]);
    assert!(
        said.out.contains("another amount in the statement"),
        "{said:?}"
    );
    assert_ne!(states(&desk)[0], "paid");
}

/// The last comparison of a statement counts: whoever reads it otherwise hears what is not found any more.
#[test]
fn what_a_statement_that_is_read_otherwise_does_not_show_any_more_is_told() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let id = &known["R-1"].0;
    let text =
        format!("date,amount,Type,reference\n{day},100.00,debit,{id}\n{day},100.00,credit,{id}\n");
    let desk = desk.file("s.csv", text);
    let right = ["--column", "direction=Type"];
    let gone = "found then, and not now: 1, paid, and then returned";
    let again = "compared with the batch before";
    let said = compare(&desk, "b", "s.csv", &right);
    assert!(!said.out.contains(again), "{said:?}");
    let said = compare(&desk, "b", "s.csv", &right);
    assert!(
        said.out.contains(again) && !said.out.contains("found then"),
        "{said:?}"
    );
    let said = compare(&desk, "b", "s.csv", &[]);
    assert!(said.out.contains(gone), "{said:?}");
    let said = compare(&desk, "b", "s.csv", &right);
    assert!(
        said.out
            .contains("found then, and not now: 1, paid twice in the statement"),
        "{said:?}"
    );
}

/// A bank shows by itself that a payment left twice, and the list of the gateway has it once.
#[test]
fn what_left_twice_by_another_kind_of_statement_is_not_settled_by_a_list() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let id = &known["R-1"].0;
    let twice = format!("{day},100.00,,{id}\n");
    let desk = desk
        .file(
            "bank.csv",
            format!("date,paid_out,paid_in,description\n{twice}{twice}"),
        )
        .file(
            "list.csv",
            format!("date,amount,reference\n{day},100.00,{id}\n"),
        );
    let order = ["reconcile", "b", "bank.csv", "--currency", "KES"];
    desk.run(&order).finished(3);
    let said = compare(&desk, "b", "list.csv", &["--settle"]);
    assert!(
        said.out.contains("paid twice in the statement") && !said.out.contains("recorded as paid"),
        "{said:?}"
    );
    assert_ne!(states(&desk)[0], "paid");
}

/// Blanks and letters of an account tell no two accounts apart, nor does a file that does not name it.
#[test]
fn an_account_counts_however_it_is_written() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let id = &known["R-1"].0;
    let text = |account: &str, receipt: &str| {
        format!("date,amount,reference,receipt,account\n{day},100.00,{id},{receipt},{account}\n")
    };
    let desk = desk
        .file("one.csv", text("KE12 3456 7890", "RC1"))
        .file("two.csv", text("ke1234567890", "RC2"))
        .file("three.csv", text("", "RC2"));
    for (file, twice) in [("one.csv", 0), ("two.csv", 1), ("three.csv", 1)] {
        let said = compare(&desk, "b", file, &["--json"]);
        assert_eq!(found(&said, "twice_there"), twice, "{file} {said:?}");
    }
}

/// A column more makes it another layout, which is not added up; what does not fit is told all the same.
#[test]
fn a_payment_that_left_by_statements_of_two_layouts_is_told() {
    for (receipt, apart) in [("RC1", false), ("RC2", true)] {
        let desk = Desk::waiting();
        let known = payments(&desk);
        let day = today(&desk);
        let id = &known["R-1"].0;
        let head = "date,amount,reference,receipt";
        let desk = desk
            .file("one.csv", format!("{head}\n{day},100.00,{id},RC1\n"))
            .file(
                "two.csv",
                format!("{head},status\n{day},100.00,{id},{receipt},Completed\n"),
            );
        compare(&desk, "b", "one.csv", &["--settle"]);
        let said = compare(&desk, "b", "two.csv", &[]);
        assert_eq!(
            said.err.contains(
                "1 payment left in this statement, and on another day or under other references"
            ),
            apart,
            "{said:?}"
        );
        let line = format!("{id}: also one.csv of {day}");
        assert_eq!(said.out.contains(&line), apart, "{said:?}");
    }
}

/// A statement is about as many batches as it was paid from.
#[test]
fn batches_that_a_statement_is_about_as_well_are_named() {
    let desk = Desk::waiting().file(
        "c.csv",
        format!(
            "{}C-1,B2C_AIRTEL,254733345699,70.00,KES,KE\n",
            crate::desk::HEADER
        ),
    );
    desk.run(&["load", "c.csv", "--batch", "c", "--sandbox"])
        .finished(0);
    let run = "run c --sandbox --faults none --no-wait --poll-only";
    desk.run(&run.split(' ').collect::<Vec<_>>()).finished(4);
    let of_b = payments(&desk)["R-1"].0.clone();
    desk.run(&["report", "c", "--out", "rc"]).finished(0);
    let report: serde_json::Value = serde_json::from_str(&desk.text("rc/report.json")).unwrap();
    let of_c = report["payments"][0]["payer_transaction_id"]
        .as_str()
        .unwrap();
    let day = today(&desk);
    let text = format!("date,amount,reference\n{day},100.00,{of_b}\n{day},70.00,{of_c}\n");
    let desk = desk.file("s.csv", text);
    let hint = "batches that this statement was not compared with: c.";
    let said = compare(&desk, "b", "s.csv", &[]);
    assert!(
        said.err.contains(hint) && said.err.contains("disburse reconcile c s.csv"),
        "{said:?}"
    );
    compare(&desk, "c", "s.csv", &[]);
    let said = compare(&desk, "b", "s.csv", &[]);
    assert!(!said.err.contains("was not compared with"), "{said:?}");
}

/// Of two comparisons at the same moment, the second one knows what the first one showed.
#[test]
fn two_comparisons_at_the_same_moment_show_what_one_after_the_other_does() {
    for _ in 0..4 {
        let desk = Desk::waiting();
        let known = payments(&desk);
        let day = today(&desk);
        let id = &known["R-1"].0;
        let text =
            |receipt: &str| format!("date,amount,reference,receipt\n{day},100.00,{id},{receipt}\n");
        let desk = desk
            .file("one.csv", text("RC1"))
            .file("two.csv", text("RC2"));
        let said = std::thread::scope(|scope| {
            let run = |file: &'static str| {
                let desk = &desk;
                scope.spawn(move || compare(desk, "b", file, &["--json"]))
            };
            let both = [run("one.csv"), run("two.csv")];
            both.map(|said| said.join().unwrap())
        });
        let twice: u64 = said.iter().map(|said| found(said, "twice_there")).sum();
        assert_eq!(twice, 1, "{said:?}");
        desk.run(&["verify", "b"]).finished(0);
    }
}

/// Statements of some weeks together prove a batch: the last one ends with 0.
#[test]
fn what_was_shown_before_need_not_be_in_the_statement_of_the_next_week() {
    let desk = Desk::loaded();
    desk.run(&["run", "b", "--sandbox", "--faults", "none"])
        .finished(0);
    let known = payments(&desk);
    let day: jiff::civil::Date = today(&desk).parse().unwrap();
    let later = day.tomorrow().unwrap();
    let line = |day: jiff::civil::Date, row: &str, amount: &str| {
        format!("{day},{amount},{}\n", known[row].0)
    };
    let head = "date,amount,reference\n";
    let first = format!(
        "{head}{}{}",
        line(day, "R-1", "100.00"),
        line(day, "R-2", "200.50")
    );
    let desk = desk.file("first.csv", &first).file(
        "second.csv",
        format!("{head}{}", line(later, "R-3", "300.00")),
    );
    compare(&desk, "b", "first.csv", &[]);
    let order = [
        "reconcile",
        "b",
        "second.csv",
        "--currency",
        "KES",
        "--paid-out",
        "--json",
    ];
    let said = desk.run(&order).finished(0);
    assert_eq!(
        ["agreed", "agreed_before", "missing_there", "not_covered"].map(|kind| found(&said, kind)),
        [1, 2, 0, 0],
        "{said:?}"
    );
}

/// A bank books what it has announced, under the same receipt; and what left twice and came back once is with the recipient.
#[test]
fn a_receipt_is_of_one_movement_and_what_left_again_is_told_apart() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let next: jiff::civil::Date = day.parse().unwrap();
    let next = next.tomorrow().unwrap();
    let id = &known["R-1"].0;
    let head = "date,paid_out,paid_in,receipt,reference\n";
    let desk = desk
        .file("one.csv", format!("{head}{day},100.00,,RC1,{id}\n"))
        .file("next.csv", format!("{head}{next},100.00,,RC1,{id}\n"))
        .file(
            "again.csv",
            format!(
                "{head}{day},100.00,,RC1,{id}\n{day},100.00,,RC2,{id}\n{day},,100.00,RC3,{id}\n"
            ),
        );
    for (file, kind) in [
        ("one.csv", "open_paid_there"),
        ("next.csv", "open_paid_there"),
        ("again.csv", "left_again"),
    ] {
        let order = ["reconcile", "b", file, "--currency", "KES", "--json"];
        let said = desk.run(&order).finished(3);
        assert_eq!(found(&said, kind), 1, "{file} {said:?}");
        assert_eq!(found(&said, "twice_there"), 0, "{file} {said:?}");
    }
}
