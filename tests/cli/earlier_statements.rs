//! What earlier statements showed, and what other batches paid, beside the statement that is compared.

use crate::desk::{Desk, Said};
use crate::reconcile::{payments, states, today};

fn compare(desk: &Desk, batch: &str, file: &str, more: &[&str]) -> Said {
    let order = ["reconcile", batch, file, "--currency", "KES", "--paid-out"];
    desk.run(&[&order[..], more].concat()).finished(3)
}

/// Returns how many payments were found so.
fn found(said: &Said, kind: &str) -> u64 {
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
            format!("date,amount,receipt,reference,balance\n{day},100.00,QK9,{id},7.00\n"),
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
    let together = "together with lines of statements that were compared before";
    assert!(said.out.contains(together), "{said:?}");
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

#[test]
fn a_line_without_a_name_is_about_one_payment_of_all_batches() {
    let desk = Desk::waiting().file(
        "c.csv",
        "reference,service_code,msisdn,amount,currency_code,country_code\nC-1,B2C_AIRTEL,254733345678,200.50,KES,KE\n",
    );
    let load = ["load", "c.csv", "--batch", "c", "--sandbox"];
    desk.run(&load).finished(0);
    let run = "run c --sandbox --faults none --no-wait --poll-only";
    desk.run(&run.split(' ').collect::<Vec<_>>()).finished(4);
    let known = payments(&desk);
    let day = today(&desk);
    let line = format!("{day},200.50,,254733345678\n");
    let named = format!("{day},200.50,{},254733345678\n", known["R-2"].0);
    let head = "date,amount,reference,recipient\n";
    let desk = desk
        .file("one.csv", format!("{head}{line}"))
        .file("both.csv", format!("{head}{line}{named}"));
    let (b, c) = (
        compare(&desk, "b", "one.csv", &["--json"]),
        compare(&desk, "c", "one.csv", &["--json"]),
    );
    assert_eq!(
        (found(&b, "open_paid_there"), found(&b, "other_batch")),
        (1, 0),
        "{b:?}"
    );
    assert_eq!(
        (found(&c, "open_paid_there"), found(&c, "other_batch")),
        (0, 1),
        "{c:?}"
    );
    let said = compare(&desk, "b", "one.csv", &["--settle"]);
    let doubt = "another payment to the same recipient could have this line";
    assert!(
        said.out.contains(doubt) && !said.out.contains("recorded as paid"),
        "{said:?}"
    );
    // What has a line of its own takes no other one.
    let said = compare(&desk, "c", "both.csv", &["--json"]);
    assert_eq!(
        (found(&said, "open_paid_there"), found(&said, "other_batch")),
        (1, 1),
        "{said:?}"
    );
}
