//! Lines of statements that do not name their payment, beside those that do, over several statements and batches.

use crate::desk::{Desk, Said};
use crate::earlier_statements::{compare, found};
use crate::reconcile::{payments, states, today};

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
    let doubt = "another payment could have this line";
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

/// What is exported again has most of its lines in common with what was exported before.
#[test]
fn a_line_without_a_name_in_two_statements_is_about_the_same_payment() {
    let (desk, [first, _], day) = two_alike();
    let line = format!("{day},8000.00,FT123,254722000008\n");
    let head = "date,amount,reference,recipient\n";
    let desk = desk
        .file("one.csv", format!("{head}{line}"))
        .file("two.csv", format!("{head}{line}{day},9.00,FT1,\n"))
        .file(
            "three.csv",
            format!("{head}{line}{day},8000.00,FT9,254722000008\n"),
        );
    let json = ["--json"];
    for decided in [false, true] {
        if decided {
            let id = first.as_str();
            let words = ["--reason", "the bank says so", "--evidence", "line 2"];
            let order = ["resolve", "b", "--id", id, "--paid", "--sandbox", "--yes"];
            desk.run(&[&order[..], &words].concat()).finished(0);
        }
        for file in ["one.csv", "two.csv", "one.csv"] {
            let said = compare(&desk, "b", file, &json);
            let there = u64::from(decided);
            assert_eq!(
                (found(&said, "agreed"), found(&said, "open_paid_there")),
                (there, 1 - there),
                "{file} {said:?}"
            );
            let unknown = u64::from(file == "two.csv");
            assert_eq!(found(&said, "unknown_there"), unknown, "{file} {said:?}");
        }
    }
    // A second line is about the other one.
    let said = compare(&desk, "b", "three.csv", &json);
    assert_eq!(
        (found(&said, "agreed"), found(&said, "open_paid_there")),
        (1, 1),
        "{said:?}"
    );
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn a_line_that_names_a_payment_of_another_batch_is_its_own() {
    let desk = Desk::waiting().file(
        "c.csv",
        format!(
            "{}C-1,B2C_AIRTEL,254733345699,70.00,KES,KE\n",
            crate::desk::HEADER
        ),
    );
    desk.run(&["load", "c.csv", "--batch", "c", "--sandbox"])
        .finished(0);
    let run = "run c --sandbox --faults none";
    desk.run(&run.split(' ').collect::<Vec<_>>()).finished(0);
    desk.run(&["report", "c", "--out", "rc"]).finished(0);
    let report: serde_json::Value = serde_json::from_str(&desk.text("rc/report.json")).unwrap();
    let receipt = report["payments"][0]["receipt_number"].as_str().unwrap();
    payments(&desk);
    let day = today(&desk);
    let text = format!(
        "date,amount,receipt,recipient\n{day},200.50,,254733345678\n{day},70.00,{receipt},254733345699\n"
    );
    let desk = desk.file("s.csv", text);
    let said = compare(&desk, "b", "s.csv", &["--json"]);
    assert_eq!(
        (found(&said, "other_batch"), found(&said, "unknown_there")),
        (1, 0),
        "{said:?}"
    );
}

/// Of two payments alike, one paid in another batch: a second line is about the one that has none.
#[test]
fn a_payment_of_another_batch_takes_one_line_over_all_statements() {
    let desk = Desk::loaded().file("faults.toml", "reject = 1.0\n").file(
        "c.csv",
        format!(
            "{}C-1,B2C_AIRTEL,254733345678,200.50,KES,KE\n",
            crate::desk::HEADER
        ),
    );
    let failing = ["run", "b", "--sandbox", "--faults", "faults.toml", "--yes"];
    desk.run(&failing).finished(3);
    desk.run(&["load", "c.csv", "--batch", "c", "--sandbox"])
        .finished(0);
    let run = "run c --sandbox --faults none --yes";
    desk.run(&run.split(' ').collect::<Vec<_>>()).finished(0);
    payments(&desk);
    let day = today(&desk);
    let head = "date,amount,reference,recipient\n";
    let line = |name: &str| format!("{head}{day},200.50,{name},254733345678\n");
    let desk = desk
        .file("one.csv", line("GW-A"))
        .file("two.csv", line("GW-B"));
    for (file, state, code) in [
        ("one.csv", "failed", 0),
        ("one.csv", "failed", 0),
        ("two.csv", "conflict", 3),
    ] {
        let order = ["reconcile", "b", file, "--currency", "KES", "--paid-out"];
        desk.run(&order).finished(code);
        assert_eq!(states(&desk), ["failed", state, "failed"], "{file}");
    }
    desk.run(&["verify", "b"]).finished(0);
}

/// Two payments alike of one batch, both open. Returns the desk, their identifiers and the day.
fn two_alike() -> (Desk, [String; 2], String) {
    let rows = "X-8,B2C_MPESA,254722000008,8000.00,KES,KE\n\
                X-9,B2C_MPESA,254722000008,8000.00,KES,KE\n";
    let desk = Desk::new().file("x.csv", format!("{}{rows}", crate::desk::HEADER));
    desk.run(&["load", "x.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    let run = "run b --sandbox --faults none --no-wait --poll-only";
    desk.run(&run.split(' ').collect::<Vec<_>>()).finished(4);
    let known = payments(&desk);
    let day = today(&desk);
    let ids = ["X-8", "X-9"].map(|row| known[row].0.clone());
    (desk, ids, day)
}

/// An export that has lost the column of our identifiers shows the same movement of the same payment.
#[test]
fn a_line_that_named_its_payment_before_is_not_about_another_one() {
    let (desk, [first, _], day) = two_alike();
    let head = "date,amount,recipient,receipt";
    let line = format!("{day},8000.00,254722000008,RC1");
    let desk = desk
        .file("named.csv", format!("{head},reference\n{line},{first}\n"))
        .file("plain.csv", format!("{head}\n{line}\n"))
        .file(
            "both.csv",
            format!("{head}\n{line}\n{day},8000.00,254722000008,RC2\n"),
        );
    let said = compare(&desk, "b", "named.csv", &["--settle"]);
    assert!(said.out.contains("1 payment recorded as paid"), "{said:?}");
    let said = compare(&desk, "b", "plain.csv", &["--json"]);
    let counts =
        |said: &Said| ["agreed", "open_paid_there", "unknown_there"].map(|kind| found(said, kind));
    assert_eq!(counts(&said), [1, 0, 0], "{said:?}");
    assert_eq!(said.json()["proposed"], 0, "{said:?}");
    // The second line is about the other one.
    let said = compare(&desk, "b", "both.csv", &["--json"]);
    assert_eq!(counts(&said), [1, 1, 0], "{said:?}");
    desk.run(&["verify", "b"]).finished(0);
}

/// Two payments alike in two batches, both open. Returns the desk, their identifiers and the day.
fn alike_in_two_batches() -> (Desk, [String; 2], String) {
    let row = |name: &str| format!("{name},B2C_MPESA,254722000008,50.00,KES,KE\n");
    let mut desk = Desk::new();
    let mut ids = Vec::new();
    for (batch, name) in [("b", "B-1"), ("d", "D-1")] {
        let file = format!("{batch}.csv");
        desk = desk.file(&file, format!("{}{}", crate::desk::HEADER, row(name)));
        desk.run(&["load", &file, "--batch", batch, "--sandbox"])
            .finished(0);
        let run = [
            "run",
            batch,
            "--sandbox",
            "--faults",
            "none",
            "--no-wait",
            "--poll-only",
            "--yes",
        ];
        desk.run(&run).finished(4);
        let out = format!("r{batch}");
        desk.run(&["report", batch, "--out", &out]).finished(0);
        let report: serde_json::Value =
            serde_json::from_str(&desk.text(&format!("{out}/report.json"))).unwrap();
        let id = &report["payments"][0]["payer_transaction_id"];
        ids.push(id.as_str().unwrap().to_owned());
    }
    payments(&desk);
    let day = today(&desk);
    (desk, ids.try_into().unwrap(), day)
}

/// What a name has told is stronger than a guess, in whichever batch.
#[test]
fn a_receipt_that_named_a_payment_is_of_no_other_one() {
    let (desk, [b, d], day) = alike_in_two_batches();
    let plain = "date,amount,recipient,receipt\n";
    let line = |receipt: &str| format!("{day},50.00,254722000008,{receipt}\n");
    let named = |receipt: &str, id: &str| {
        format!(
            "date,amount,recipient,receipt,reference\n{day},50.00,254722000008,{receipt},{id}\n"
        )
    };
    let counts = |said: &Said| {
        ["other_batch", "open_paid_there", "agreed", "unknown_there"].map(|kind| found(said, kind))
    };
    let desk = desk
        .file("guess.csv", format!("{plain}{}", line("RC1")))
        .file("named.csv", named("RC1", &d))
        .file(
            "more.csv",
            format!("{plain}{}{day},9.00,,RC7\n", line("RC1")),
        )
        .file("own.csv", named("RC2", &b))
        .file("both.csv", format!("{plain}{}{}", line("RC2"), line("RC1")));
    compare(&desk, "b", "guess.csv", &[]);
    let order = [
        "reconcile",
        "d",
        "named.csv",
        "--currency",
        "KES",
        "--paid-out",
        "--settle",
    ];
    desk.run(&order).finished(0);
    // The payment of the first batch had been guessed to have this line.
    let said = compare(&desk, "b", "more.csv", &["--json"]);
    assert_eq!(counts(&said), [1, 0, 0, 1], "{said:?}");
    let order = [
        "reconcile",
        "b",
        "own.csv",
        "--currency",
        "KES",
        "--paid-out",
        "--settle",
    ];
    desk.run(&order).finished(0);
    // Whatever stands first: each has its own.
    let order = [
        "reconcile",
        "d",
        "both.csv",
        "--currency",
        "KES",
        "--paid-out",
        "--json",
    ];
    let said = desk.run(&order).finished(0);
    assert_eq!(counts(&said), [1, 0, 1, 0], "{said:?}");
    desk.run(&["verify", "b"]).finished(0);
    desk.run(&["verify", "d"]).finished(0);
}

/// A line that was guessed to be about a payment is no second one of it, once it is named by another.
#[test]
fn a_guess_is_no_second_payment() {
    let (desk, [first, _], day) = two_alike();
    let line = |rest: &str| format!("{day},8000.00,254722000008,{rest}\n");
    let desk = desk
        .file(
            "guess.csv",
            format!(
                "date,amount,recipient,receipt\n{}{}",
                line("RC2"),
                line("RC1")
            ),
        )
        .file(
            "named.csv",
            format!(
                "date,amount,recipient,receipt,reference\n{}{}",
                line(&format!("RC1,{first}")),
                line("RC2,")
            ),
        );
    compare(&desk, "b", "guess.csv", &[]);
    let said = compare(&desk, "b", "named.csv", &["--json"]);
    assert_eq!(
        ["twice_there", "open_paid_there", "unknown_there"].map(|kind| found(&said, kind)),
        [0, 2, 0],
        "{said:?}"
    );
}
