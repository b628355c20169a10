//! Statements of what the money did, held against a batch; and decisions from a file.

use std::collections::BTreeMap;

use crate::desk::{Desk, Said};

/// Identifier and state of every payment, by its reference.
pub fn payments(desk: &Desk) -> BTreeMap<String, (String, String)> {
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let payments = report["payments"].as_array().unwrap().iter();
    payments
        .map(|payment| {
            let id = text(&payment["payer_transaction_id"]);
            (text(&payment["reference"]), (id, text(&payment["state"])))
        })
        .collect()
}

pub fn today(desk: &Desk) -> String {
    let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    report["created_at"].as_str().unwrap()[..10].to_owned()
}

fn reconcile(desk: &Desk, more: &[&str]) -> Said {
    desk.run(
        &[
            &["reconcile", "b", "s.csv", "--currency", "KES", "--paid-out"][..],
            more,
        ]
        .concat(),
    )
}

fn states(desk: &Desk) -> [String; 3] {
    let payments = payments(desk);
    ["R-1", "R-2", "R-3"].map(|reference| payments[reference].1.clone())
}

#[test]
fn what_is_proven_is_settled_and_what_is_not_is_left() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let line = |amount: &str, reference: &str, recipient: &str| {
        format!("{day},{amount},{reference},{recipient}\n")
    };
    let statement = format!(
        "date,amount,reference,recipient\n{}{}{}{}",
        line("100.00", &known["R-1"].0, "254712345678"),
        line("200.50", "", "254733345678"),
        line("3000.00", &known["R-3"].0, "254712345679"),
        line("7.00", "rent", ""),
    );
    let desk = desk.file("s.csv", &statement);
    let before = states(&desk);
    let said = reconcile(&desk, &["--json"]).finished(3);
    let found = &said.json()["found"];
    assert_eq!(found["open_paid_there"]["count"], 2, "{found}");
    assert_eq!(found["amount_differs"]["count"], 1, "{found}");
    assert_eq!(found["unknown_there"]["count"], 1, "{found}");
    // Without the order, nothing moves.
    assert_eq!(states(&desk), before);
    let said = reconcile(&desk, &["--settle"]).finished(3);
    assert!(
        said.out.contains("1 payment recorded as paid"),
        "{}",
        said.out
    );
    assert!(
        said.err.contains("there is no terminal to ask at"),
        "{}",
        said.err
    );
    assert!(
        said.out.contains("was compared with the batch before"),
        "{}",
        said.out
    );
    let left = format!("disburse resolve b --id {} --paid", known["R-2"].0);
    assert!(
        said.err.contains("1 payment still open here") && said.err.contains(&left),
        "{}",
        said.err
    );
    let after = states(&desk);
    assert_eq!(after[0], "paid");
    assert_eq!(after[1..], before[1..]);
    let told = desk.run(&["explain", "b", "R-1"]).finished(0).out;
    assert!(
        told.contains("s.csv (SHA-256") && told.contains("line 2"),
        "{told}"
    );
    desk.run(&["verify", "b"]).finished(0);
    // The page shows it, and says nothing of a statement where there was none.
    assert!(desk.text("r/report.html").contains("id=\"statements\""));
}

/// Money that left twice is claimed back by both lines.
#[test]
fn all_lines_about_a_payment_are_told() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    let line = |id: &str| format!("{day},100.00,{id}\n");
    let twice = line(&known["R-1"].0);
    let statement = format!(
        "date,amount,reference\n{twice}{}{twice}{twice}",
        line("rent")
    );
    let desk = desk.file("s.csv", &statement);
    let said = reconcile(&desk, &["--findings", "f.csv"]).finished(3);
    assert!(
        said.out.contains("statement line 2:") && said.out.contains("also line 4, line 5"),
        "{}",
        said.out
    );
    let findings = desk.text("f.csv");
    let mut rows = csv::Reader::from_reader(findings.as_bytes());
    let mut row = rows.records().map(Result::unwrap);
    let row = row.find(|row| &row[0] == "twice_there").unwrap();
    assert_eq!((&row[7], &row[13]), ("line 2", "line 4; line 5"));
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    assert!(desk.text("r/report.html").contains("also line 4, line 5"));
    desk.run(&["verify", "b"]).finished(0);
}

/// With a quote too few, the status of the next line would stand behind the reference of this one.
#[test]
fn no_line_of_a_statement_is_read_with_the_end_of_another_one() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let day = today(&desk);
    for (swallowed, with) in [
        ("\"to y\"", "s.csv:2: has a quoted cell"),
        (
            "to y, 12\"",
            "s.csv:2: a cell holds lines that look like rows",
        ),
    ] {
        let statement = format!(
            "reference,details,status,date,amount,currency\n{},\"to x,Failed,{day},100.00,KES\n{},{swallowed},Completed,{day},100.00,KES\n",
            known["R-1"].0, known["R-2"].0
        );
        std::fs::write(desk.path("s.csv"), statement).unwrap();
        let said = desk
            .run(&[
                "reconcile",
                "b",
                "s.csv",
                "--paid-out",
                "--booked",
                "Completed",
                "--not-executed",
                "Failed",
                "--settle",
            ])
            .finished(2);
        assert!(said.err.contains(with), "{}", said.err);
    }
    desk.run(&["verify", "b"]).finished(0);
}

/// Whoever repeats a command that was refused finds nothing of it in the way.
#[test]
fn the_list_of_findings_is_there_once_they_are_on_record() {
    let desk = Desk::waiting().file("s.csv", "date,amount,reference\n2020-01-02,100.00,rent\n");
    let before = std::fs::read_dir(desk.path(".")).unwrap().count();
    reconcile(&desk, &["--findings", "f.csv"]).finished(2);
    assert_eq!(std::fs::read_dir(desk.path(".")).unwrap().count(), before);
    payments(&desk);
    let statement = format!("date,amount,reference\n{},100.00,rent\n", today(&desk));
    let desk = desk.file("s.csv", &statement);
    let more = ["--findings", "f.csv"];
    reconcile(&desk, &more).finished(3);
    let list = desk.text("f.csv");
    let said = reconcile(&desk, &more).finished(2);
    assert!(said.err.contains("File exists"), "{}", said.err);
    assert_eq!(desk.text("f.csv"), list);
    let long = "f".repeat(256);
    for name in ["no/f.csv", "f/", &long] {
        let said = reconcile(&desk, &["--findings", name]).finished(2);
        assert!(said.err.contains("nothing was recorded"), "{}", said.err);
    }
}

#[test]
fn what_is_not_paid_here_and_paid_there_is_never_paid_again() {
    let desk = Desk::loaded();
    desk.run(&["cancel", "b", "R-1"]).finished(0);
    let known = payments(&desk);
    let day = today(&desk);
    // As a bank writes it: lines are counted as an editor shows them.
    let statement = format!(
        "date,amount,reference\r\n{day},100.00,{}\r\n{day},200.50,{}\r\n",
        known["R-1"].0, known["R-2"].0
    );
    let desk = desk.file("s.csv", &statement);
    let said = reconcile(&desk, &[]).finished(3);
    assert!(
        said.err
            .contains("2 payments not paid here, but paid in the statement"),
        "{}",
        said.err
    );
    assert_eq!(states(&desk), ["conflict", "conflict", "ready"]);
    // The same statement says so again.
    let again = reconcile(&desk, &[]).finished(3).err;
    let expected = "2 payments paid in the statement are in conflict here since before. Decide each: disburse resolve b";
    assert!(again.contains(expected), "{again}");
    // A run posts the third one alone.
    desk.run(&["run", "b", "--sandbox", "--faults", "none", "--yes"])
        .finished(3);
    assert_eq!(states(&desk), ["conflict", "conflict", "paid"]);
    desk.run(&["verify", "b"]).finished(0);
    let told = desk.run(&["explain", "b", "R-2"]).finished(0).out;
    assert!(
        told.contains("paid in a statement, but not here") && told.contains("line 3"),
        "{told}"
    );
}

#[test]
fn a_failure_that_a_retry_replaced_is_told_apart_from_who_is_still_unpaid() {
    let desk = Desk::loaded().file("faults.toml", "reject = 1.0\n");
    let failing = ["run", "b", "--sandbox", "--faults", "faults.toml", "--yes"];
    desk.run(&failing).finished(3);
    let failed = payments(&desk);
    let day = today(&desk);
    let desk = desk.file("s.csv", format!("date,amount,reference\n{day},7.00,rent\n"));
    let count = |kind: &str| {
        let found = reconcile(&desk, &["--json"]).finished(3).json();
        found["found"][kind]["count"].as_u64().unwrap_or_default()
    };
    assert_eq!((count("unpaid"), count("replaced")), (3, 0));
    let retry = ["retry", "b", "R-1", "R-2", "--sandbox", "--yes"];
    desk.run(&retry).finished(0);
    desk.run(&["run", "b", "--sandbox", "--faults", "none", "--yes"])
        .finished(3);
    let paid = payments(&desk);
    assert_eq!(states(&desk), ["paid", "paid", "failed"]);
    let lines = ["R-1", "R-2"].map(|reference| {
        assert_ne!(paid[reference].0, failed[reference].0);
        let amount = if reference == "R-1" {
            "100.00"
        } else {
            "200.50"
        };
        format!("{day},{amount},{}\n", paid[reference].0)
    });
    let statement = format!("date,amount,reference\n{}", lines.concat());
    let desk = desk.file("s.csv", statement);
    let said = reconcile(&desk, &[]).finished(0);
    for told in [
        "paid on both sides",
        "not paid on either side",
        "not paid, and replaced by a retry",
    ] {
        assert!(said.out.contains(told), "{}", said.out);
    }
    let found = reconcile(&desk, &["--json"]).finished(0).json();
    for (kind, count) in [("agreed", 2), ("unpaid", 1), ("replaced", 2)] {
        assert_eq!(found["found"][kind]["count"], count, "{kind}: {found}");
    }
    assert_eq!(states(&desk), ["paid", "paid", "failed"]);
    desk.run(&["verify", "b"]).finished(0);
}

/// What proves one payment of a row proves nothing of another one, and the newest is not always meant.
#[test]
fn a_decision_about_a_row_names_the_payment_where_an_earlier_one_is_open_too() {
    let desk = Desk::loaded().file("faults.toml", "reject = 1.0\n");
    let run = |faults: &str, more: &[&str], code: i32| {
        let words = ["run", "b", "--sandbox", "--faults", faults, "--yes"];
        desk.run(&[&words[..], more].concat()).finished(code)
    };
    run("faults.toml", &[], 3);
    let failed = payments(&desk);
    desk.run(&["retry", "b", "R-1", "--sandbox", "--yes"])
        .finished(0);
    run("none", &["--no-wait", "--poll-only"], 4);
    let retried = payments(&desk);
    assert_ne!(retried["R-1"].0, failed["R-1"].0);
    let statement = format!(
        "date,amount,reference\n{},100.00,{}\n",
        today(&desk),
        failed["R-1"].0
    );
    std::fs::write(desk.path("s.csv"), statement).unwrap();
    let said = reconcile(&desk, &[]).finished(3);
    assert!(
        said.err.contains("1 payment not paid here, but paid"),
        "{}",
        said.err
    );
    // The retry has left: whoever looks learns what is to be decided.
    let status = desk.run(&["status", "b"]).finished(0).out;
    let named = format!("payment {} is in conflict", failed["R-1"].0);
    assert!(
        status.contains(&named) && status.contains(&retried["R-1"].0),
        "{status}"
    );
    std::fs::write(
        desk.path("d.csv"),
        format!("{DECISIONS}R-1,paid,on the statement,line 2\n"),
    )
    .unwrap();
    let why = ["--reason", "seen", "--evidence", "line 2", "--yes"];
    for words in [
        &[&["resolve", "b", "R-1", "--paid"][..], &why].concat()[..],
        &["resolve", "b", "--from", "d.csv", "--yes"],
    ] {
        let said = desk.run(words).finished(2).err;
        assert!(
            said.contains("it is not clear which one is decided"),
            "{said}"
        );
        for id in [&failed["R-1"].0, &retried["R-1"].0] {
            assert!(said.contains(id.as_str()), "{said}");
        }
    }
    let by_id = format!(
        "identifier,decision,reason,evidence\n{},paid,on the statement,line 2\n",
        failed["R-1"].0
    );
    std::fs::write(desk.path("d.csv"), by_id).unwrap();
    desk.run(&["resolve", "b", "--from", "d.csv", "--yes"])
        .finished(0);
    // The retry stays what it was, and may be paid as well.
    assert_eq!(payments(&desk)["R-1"], retried["R-1"]);
    let status = desk.run(&["status", "b"]).finished(0).out;
    let named = format!(
        "payment {} is paid, and {}",
        failed["R-1"].0, retried["R-1"].0
    );
    assert!(status.contains(&named), "{status}");
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn a_statement_of_another_account_currency_or_time_is_refused_and_leaves_nothing() {
    let desk = Desk::waiting();
    payments(&desk);
    let day = today(&desk);
    let rows = desk.run(&["status", "b", "--json"]).finished(0).out;
    for (statement, more, with) in [
        (
            format!("date,amount,currency\n{day},100.00,UGX\n").replace("100.00", "100"),
            &[][..],
            "no line of the statement is in a currency",
        ),
        (
            "date,amount\n2020-01-01,100.00\n".to_owned(),
            &[],
            "shows none of the days",
        ),
        (
            format!("date,amount,account\n{day},100.00,111\n"),
            &["--account", "222"],
            "nothing in the statement is of account \"222\"",
        ),
        (
            format!("date,amount,account\n{day},100.00,111\n{day},100.00,222\n"),
            &[],
            "several accounts",
        ),
        ("date,amount\n".to_owned(), &[], "no lines"),
    ] {
        std::fs::write(desk.path("s.csv"), &statement).unwrap();
        let said = reconcile(&desk, more).finished(2);
        assert!(said.err.contains(with), "{}", said.err);
    }
    assert_eq!(desk.run(&["status", "b", "--json"]).finished(0).out, rows);
}

const DECISIONS: &str = "reference,decision,reason,evidence\n";

#[test]
fn a_file_of_decisions_with_a_row_that_is_refused_records_nothing() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let good = "R-1,paid,seen,line 1\n";
    let by_id = format!(
        "identifier,decision,reason,evidence\n{},paid,seen,line 1\n{},paid,seen,line 2\n",
        known["R-1"].0, known["R-1"].0
    );
    let rows = |rows: &str| format!("{DECISIONS}{good}{rows}");
    let cases: Vec<(&str, String, &str, &str)> = vec![
        (
            "a bad decision",
            rows("R-2,payed,seen,line 2\n"),
            "d.csv:3: decision: expected paid or failed, found \"payed\"",
            "decision (paid or failed)",
        ),
        (
            "an empty one",
            rows("R-2,,seen,line 2\n"),
            "d.csv:3: decision: expected paid or failed",
            "decision (paid or failed)",
        ),
        (
            "a reference that nobody has",
            rows("R-9,paid,seen,line 2\n"),
            "d.csv:3: ",
            "",
        ),
        (
            "the same payment twice",
            rows("R-1,paid,seen,line 2\n"),
            "R-1 is decided twice",
            "one line for each payment",
        ),
        (
            "twice by its identifier",
            by_id,
            "is decided twice",
            "one line for each payment",
        ),
        (
            "paid and failed at once",
            rows("R-1,failed,seen,line 2\n"),
            "R-1 is decided twice",
            "one line for each payment",
        ),
        (
            "no reference",
            rows(",paid,seen,line 2\n"),
            "d.csv:3: identifier or reference is empty",
            "say which payment",
        ),
        (
            "no reason",
            rows("R-2,paid,,line 2\n"),
            "d.csv:3: reason is empty",
            "say which payment",
        ),
        (
            "no evidence",
            rows("R-2,paid,seen,\n"),
            "d.csv:3: evidence is empty",
            "say which payment",
        ),
        (
            "a cell too few",
            rows("R-2,paid,seen\n"),
            "d.csv:3",
            "decision (paid or failed)",
        ),
        (
            "a cell too many",
            rows("R-2,paid,seen,line 2,more\n"),
            "d.csv:3",
            "decision (paid or failed)",
        ),
        (
            "no rows",
            DECISIONS.to_owned(),
            "no decision is in the file",
            "decision (paid or failed)",
        ),
        (
            "a quote too few, and the next row's decision in its place",
            "reference,reason,decision,evidence\nR-1,\"never came,failed,ticket 1\nR-2,\"slip seen\",paid,slip 2\n".to_owned(),
            "d.csv:2: has a quoted cell that begins in this line and ends in line 3",
            "close the quote in that line",
        ),
        (
            "the same where a cell ends with a sign of inches",
            "reference,reason,decision,evidence\nR-1,\"never came,failed,ticket 1\nR-2,pipe of 12\",paid,slip 2\n".to_owned(),
            "d.csv:2: a cell goes over several lines",
            "a quote is missing there or below",
        ),
        (
            "a quote that is never closed",
            rows("R-2,paid,seen,\"line 2\nR-3,\tfailed,seen,line 3\n"),
            "d.csv:3: has a quote that is opened in this line and never closed",
            "close the quote in that line",
        ),
        (
            "no such columns",
            format!("a,b,c,d\n{good}"),
            "a column is missing",
            "decision (paid or failed)",
        ),
        (
            "a column too many",
            "reference,identifier,decision,reason,evidence\nR-1,,paid,seen,line 1\n".to_owned(),
            "both columns, identifier and reference",
            "",
        ),
    ];
    let before = desk.run(&["status", "b", "--json"]).finished(0).out;
    let ends = ["\n", "\r\n"];
    let each = cases.iter().flat_map(|case| ends.map(|end| (case, end)));
    for ((what, text, with, hint), end) in each {
        std::fs::write(desk.path("d.csv"), text.replace('\n', end)).unwrap();
        let said = desk
            .run(&["resolve", "b", "--from", "d.csv", "--yes"])
            .finished(2);
        let with = with.replace("five, expected four", "5 columns, expected four");
        assert!(said.err.contains(&with), "{what}: {}", said.err);
        assert!(said.err.contains(hint), "{what}: {}", said.err);
        let after = desk.run(&["status", "b", "--json"]).finished(0).out;
        assert_eq!(after, before, "{what}");
    }
    // One that failed here already has nothing to decide, whatever else stands in the file.
    std::fs::write(desk.path("d.csv"), rows("R-2,paid,seen,line 2\n")).unwrap();
    desk.run(&["resolve", "b", "--from", "d.csv", "--yes"])
        .finished(0);
    let said = desk
        .run(&["resolve", "b", "--from", "d.csv", "--yes"])
        .finished(2);
    assert!(
        said.err
            .contains("d.csv:2: R-1 is paid: there is nothing to decide"),
        "{}",
        said.err
    );
    desk.run(&["verify", "b"]).finished(0);
}

/// Whoever mends a file of a thousand rows learns of all mistakes at once, before the gateway is asked about anything.
#[test]
fn all_rows_of_a_file_of_decisions_that_are_refused_are_told_at_once() {
    let desk = Desk::waiting();
    let before = desk.run(&["status", "b", "--json"]).finished(0).out;
    let told = |text: &str| {
        std::fs::write(desk.path("d.csv"), text).unwrap();
        let said = desk
            .run(&["resolve", "b", "--from", "d.csv", "--yes"])
            .finished(2);
        assert_eq!(desk.run(&["status", "b", "--json"]).finished(0).out, before);
        said.err
    };
    let said = told(&format!(
        "{DECISIONS}R-1,payed,seen,line 1\nR-2,paid,,line 2\nR-1,paid,seen\nR-2,failed,seen,line 4\n"
    ));
    for with in [
        "error: d.csv:2: decision: expected paid or failed, found \"payed\"",
        "error: d.csv:3: reason is empty",
        "error: d.csv:4: the row has 3 cells, expected four",
        "error: d.csv: 3 rows are refused; no decision of the file was recorded",
    ] {
        assert!(said.contains(with), "{with}\n{said}");
    }
    assert_eq!(said.matches("a CSV with the columns").count(), 2, "{said}");
    let said = told(&format!(
        "{DECISIONS}R-8,paid,seen,line 1\nR-1,paid,seen,line 2\nR-9,paid,seen,line 3\nR-1,paid,seen,line 4\n"
    ));
    for with in [
        "d.csv:2: ",
        "d.csv:4: ",
        "d.csv:5: R-1 is decided twice",
        "d.csv: 3 rows",
    ] {
        assert!(said.contains(with), "{with}\n{said}");
    }
    assert!(!said.contains("d.csv:3: "), "{said}");
    // Behind the rows and the header, a spreadsheet writes empty cells, and rows of them.
    let said = told(
        "reference;decision;reason;evidence;;\nR-1;payed;seen;line 1;;\nR-9;paid;seen;line 2;;\n;;;;;\n",
    );
    for with in ["d.csv:2: decision", "d.csv:3: ", "d.csv: 2 rows"] {
        assert!(said.contains(with), "{with}\n{said}");
    }
    let said = told("identifier,decision,reason,evidence\nR-1,paid,seen,line 1\n");
    assert!(said.contains("call the column reference"), "{said}");
    let many: String = (0..50)
        .map(|row| format!("X-{row},paid,seen,line\n"))
        .collect();
    let said = told(&format!("{DECISIONS}{many}"));
    assert_eq!(said.matches("error: ").count(), 21, "{said}");
    assert!(
        said.contains("50 rows are refused, of which the first 20 are told"),
        "{said}"
    );
}

/// A spreadsheet writes the sign of its own country between cells.
#[test]
fn decisions_may_stand_between_semicolons_or_tabs() {
    let desk = Desk::waiting();
    for (sign, row) in [
        (";", "R-1;paid;seen, and read;line 1"),
        ("\t", "R-2\tpaid\tseen; and read\tline 2"),
    ] {
        let text = format!(
            "\u{feff}{}\r\n{row}\r\n",
            DECISIONS.trim().replace(',', sign)
        );
        std::fs::write(desk.path("d.csv"), text).unwrap();
        desk.run(&["resolve", "b", "--from", "d.csv", "--yes"])
            .finished(0);
    }
    assert_eq!(states(&desk)[..2], ["paid", "paid"]);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn decisions_of_a_file_are_recorded_all_or_none() {
    let desk = Desk::waiting().file(
        "d.csv",
        "reference,decision,reason,evidence\nR-1,paid,seen,line 1\nR-2,paid,seen,line 2\nR-9,paid,seen,line 3\n",
    );
    let before = states(&desk);
    let said = desk
        .run(&["resolve", "b", "--from", "d.csv", "--yes"])
        .finished(2);
    assert!(
        said.err.contains("d.csv:4") && said.err.contains("no decision of the file was recorded"),
        "{}",
        said.err
    );
    assert_eq!(states(&desk), before);
    let desk = desk.file(
        "d.csv",
        "reference,decision,reason,evidence\nR-1,paid,seen,line 1\nR-1,paid,seen,line 2\n",
    );
    let said = desk
        .run(&["resolve", "b", "--from", "d.csv", "--yes"])
        .finished(2);
    assert!(said.err.contains("decided twice"), "{}", said.err);
    let desk = desk.file(
        "d.csv",
        "reference,decision,reason,evidence\nR-1,paid,seen,line 1\nR-2,paid,seen,line 2\n",
    );
    let said = desk.run(&["resolve", "b", "--from", "d.csv"]).finished(2);
    assert!(
        said.err.contains("record 2 payments, KES 300.50, as paid"),
        "{}",
        said.err
    );
    desk.run(&["resolve", "b", "--from", "d.csv", "--yes"])
        .finished(0);
    assert_eq!(states(&desk)[..2], ["paid", "paid"]);
    desk.run(&["verify", "b"]).finished(0);
}
