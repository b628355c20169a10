//! Statements of what the money did, held against a batch.

use std::collections::BTreeMap;

use crate::decisions::DECISIONS;
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

/// The day of the report, where the gateway is.
pub fn today(desk: &Desk) -> String {
    let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    let at: jiff::Timestamp = report["created_at"].as_str().unwrap().parse().unwrap();
    at.in_tz("Africa/Nairobi").unwrap().date().to_string()
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

pub fn states(desk: &Desk) -> [String; 3] {
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

/// A statement that proves two payments, and shows the third by its amount and its recipient alone.
pub fn proving_two(desk: &Desk) -> String {
    let known = payments(desk);
    let day = today(desk);
    format!(
        "date,amount,reference,recipient\n{day},100.00,{},254712345678\n{day},200.50,,254733345678\n{day},300.00,{},254712345679\n",
        known["R-1"].0, known["R-3"].0
    )
}

#[test]
fn what_a_statement_proves_is_written_down_for_resolve() {
    let desk = Desk::waiting();
    let statement = proving_two(&desk);
    let desk = desk
        .file("s, \"June\".csv", &statement)
        .file("there.csv", "mine");
    let statement = [
        "reconcile",
        "b",
        "s, \"June\".csv",
        "--currency",
        "KES",
        "--paid-out",
    ];
    let with = |more: &[&str]| desk.run(&[&statement[..], more].concat());
    let said = with(&["--decisions", "there.csv"]).finished(2);
    assert!(said.err.contains("nothing was recorded"), "{}", said.err);
    assert_eq!(desk.text("there.csv"), "mine");
    with(&["--decisions", "d.csv", "--settle"]).finished(2);
    let said = with(&["--decisions", "d.csv"]).finished(3);
    let told = "A decision for each proven one stands in d.csv: look at it, then: disburse resolve b --from d.csv --sandbox. All of the file is one order. The others one at a time:";
    assert!(said.err.contains(told), "{}", said.err);
    assert_eq!(desk.text("d.csv").lines().count(), 3);
    // Nothing moves before somebody says so.
    assert!(!states(&desk).contains(&"paid".to_owned()));
    desk.run(&["resolve", "b", "--from", "d.csv", "--sandbox", "--yes"])
        .finished(0);
    assert_eq!(states(&desk), ["paid", "acknowledged", "paid"]);
    let told = desk.run(&["explain", "b", "R-1"]).finished(0).out;
    assert!(
        told.contains("a statement shows it paid") && told.contains("line 2"),
        "{told}"
    );
    desk.run(&["verify", "b"]).finished(0);
}

/// Its day and its month were exchanged, or the clock is wrong.
#[test]
fn a_line_of_a_day_to_come_is_refused_with_its_place() {
    let desk = Desk::waiting();
    let known = payments(&desk);
    let today: jiff::civil::Date = today(&desk).parse().unwrap();
    for (ahead, code) in [(9, 3), (12, 2)] {
        let day = today.checked_add(jiff::Span::new().days(ahead)).unwrap();
        let statement = format!("date,amount,reference\n{day},100.00,{}\n", known["R-1"].0);
        std::fs::write(desk.path("s.csv"), statement).unwrap();
        let said = reconcile(&desk, &["--settle"]).finished(code);
        if code == 2 {
            assert!(
                said.err
                    .contains(&format!("s.csv: line 2: the line is dated {day}"))
                    && said.err.contains("nothing was recorded"),
                "{}",
                said.err
            );
        }
    }
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
    // Whoever looks at the batch later learns of it, too.
    let advice = "ask the gateway's people for the second amount back";
    assert!(said.out.contains(advice), "{}", said.out);
    let status = desk.run(&["status", "b"]).finished(0).out;
    let told = "the statement s.csv, compared at ";
    assert_eq!(status.matches(told).count(), 1, "{status}");
    assert!(
        status.contains(": paid twice in the statement (1)."),
        "{status}"
    );
    let all = desk.run(&["status"]).finished(0).out;
    let note = "a statement shows payments otherwise";
    assert!(all.contains(note), "{all}");
    let status = desk.run(&["status", "b", "--json"]).finished(0).json();
    let of_statements = status["statement_discrepancies"].as_array().unwrap();
    assert_eq!(of_statements.len(), 1, "{status}");
    assert_eq!(of_statements[0]["found"]["twice_there"], 1, "{status}");
    let findings = desk.text("f.csv");
    let mut rows = csv::Reader::from_reader(findings.as_bytes());
    let mut row = rows.records().map(Result::unwrap);
    let row = row.find(|row| &row[0] == "twice_there").unwrap();
    assert_eq!((&row[7], &row[13]), ("line 2", "line 4; line 5"));
    // The same statement once more is no second finding; another one is.
    reconcile(&desk, &[]).finished(3);
    let of_statements = |desk: &Desk| {
        let status = desk.run(&["status", "b", "--json"]).finished(0).json();
        status["statement_discrepancies"].as_array().unwrap().len()
    };
    assert_eq!(of_statements(&desk), 1);
    std::fs::write(desk.path("s.csv"), format!("{statement}{}", line("more"))).unwrap();
    reconcile(&desk, &[]).finished(3);
    assert_eq!(of_statements(&desk), 2);
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
        ("\"to y\"", "s.csv:2: has a quoted cell that"),
        (
            "to y, 12\"",
            "s.csv:2: has a quoted cell that begins in this line and ends in line 3",
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
    // What is said of payments is said of those alone that it is about.
    let held = "a statement showed that money left";
    assert!(told.contains(held), "{told}");
    let told = desk.run(&["explain", "b", "R-3"]).finished(0).out;
    assert!(!told.contains(held), "{told}");
}

/// Money that left under the name of a payment has left, whatever amount the statement has for it.
#[test]
fn what_left_in_another_amount_is_never_paid_again_unseen() {
    let desk = Desk::loaded().file("faults.toml", "reject = 1.0\n");
    let failing = ["run", "b", "--sandbox", "--faults", "faults.toml", "--yes"];
    desk.run(&failing).finished(3);
    let known = payments(&desk);
    assert_eq!(states(&desk), ["failed", "failed", "failed"]);
    let day = today(&desk);
    let line = |amount: &str, row: &str| format!("{day},{amount},{}\n", known[row].0);
    // A cent less, in two parts, and a part that may be a charge.
    let statement = format!(
        "date,amount,reference\n{}{}{}{}",
        line("99.99", "R-1"),
        line("100.00", "R-2"),
        line("100.50", "R-2"),
        line("30.00", "R-3"),
    );
    let desk = desk.file("s.csv", &statement);
    let said = reconcile(&desk, &[]).finished(3);
    assert!(
        said.err
            .contains("2 payments not paid here, but paid in the statement"),
        "{}",
        said.err
    );
    assert_eq!(states(&desk), ["conflict", "conflict", "failed"]);
    let told = desk.run(&["explain", "b", "R-3"]).finished(0).out;
    assert!(
        told.contains("the statement s.csv, compared at ")
            && told.contains(": another amount in the statement; line 5, ")
            && told.contains("to do: ask the gateway's people what was paid"),
        "{told}"
    );
    // The third one alone is paid anew, and whoever orders that is told.
    let said = desk.run(&["retry", "b", "--yes"]).finished(0).err;
    let warned = "warning: statements have shown something of 1 failed payment of batch b";
    assert!(said.contains(warned), "{said}");
    desk.run(&["run", "b", "--sandbox", "--faults", "none", "--yes"])
        .finished(3);
    assert_eq!(states(&desk), ["conflict", "conflict", "paid"]);
    desk.run(&["verify", "b"]).finished(0);
}

/// However a line of a statement is written that is about a payment, nobody pays that once more unseen.
#[test]
fn a_payment_is_held_in_whatever_way_a_line_names_it() {
    let desk = Desk::loaded().file("faults.toml", "reject = 1.0\n");
    let failing = ["run", "b", "--sandbox", "--faults", "faults.toml", "--yes"];
    desk.run(&failing).finished(3);
    let known = payments(&desk);
    let [one, two] = ["R-1", "R-2"].map(|row| known[row].0.clone());
    let day = today(&desk);
    std::fs::copy(desk.path("disburse.db"), desk.path("before.db")).unwrap();
    let groups: Vec<String> = one
        .as_bytes()
        .chunks(4)
        .map(|part| String::from_utf8(part.to_vec()).unwrap())
        .collect();
    let (front, back) = one.split_at(13);
    let number = "254712345678";
    let line = |amount: &str, reference: &str, rest: &str| {
        format!("{day},{amount},\"{reference}\",{rest}\n")
    };
    let done = ",,Completed";
    for (what, lines, held) in [
        ("nothing of ours", line("100.00", "rent", done), 0),
        (
            "a small line beside the amount and the number",
            format!(
                "{}{}",
                line("20.00", &one, done),
                line("100.00", "x", &format!("{number},,Completed"))
            ),
            1,
        ),
        ("announced", line("100.00", &one, ",,Pending"), 1),
        ("tried", line("100.00", &one, ",,Failed"), 0),
        (
            "two in one",
            line("300.50", "salaries", &format!(",{one} {two},Completed")),
            2,
        ),
        (
            "in small letters",
            line("100.00", &one.to_lowercase(), done),
            1,
        ),
        ("cut off", line("100.00", &one[..16], done), 1),
        ("in groups", line("100.00", &groups.join(" "), done), 1),
        (
            "over two lines",
            line("100.00", &format!("{front}\n{back}"), done),
            1,
        ),
        (
            "by its number in a text",
            line(
                "100.00",
                "x",
                &format!(",Salary to {number} - ANN,Completed"),
            ),
            1,
        ),
    ] {
        std::fs::copy(desk.path("before.db"), desk.path("disburse.db")).unwrap();
        // The words of the status are read, whatever their column is called.
        let head = "date,amount,reference,recipient,description,Transaction Status\n";
        std::fs::write(desk.path("s.csv"), format!("{head}{lines}")).unwrap();
        let code = if what == "tried" { 0 } else { 3 };
        reconcile(&desk, &[]).finished(code);
        let found = states(&desk);
        let conflicts = found.iter().filter(|state| *state == "conflict").count();
        assert_eq!(conflicts, held, "{what}: {found:?}");
        assert_eq!(found[0] == "conflict", held > 0, "{what}");
    }
}

/// Parts of an amount stand in the statements of several weeks; a statement that is compared twice has its lines once.
#[test]
fn parts_of_an_amount_are_added_up_over_statements() {
    let desk = Desk::loaded().file("faults.toml", "reject = 1.0\n");
    let failing = ["run", "b", "--sandbox", "--faults", "faults.toml", "--yes"];
    desk.run(&failing).finished(3);
    let known = payments(&desk);
    let day = today(&desk);
    for (amount, receipt, expected) in [
        ("30.00", "A1", "failed"),
        ("30.00", "A1", "failed"),
        ("30.00", "B2", "conflict"),
    ] {
        let lines = format!("{day},{amount},{receipt} {}\n", known["R-1"].0);
        std::fs::write(
            desk.path("s.csv"),
            format!("date,amount,reference\n{lines}"),
        )
        .unwrap();
        reconcile(&desk, &[]).finished(3);
        assert_eq!(states(&desk)[0], expected, "{receipt}");
    }
    desk.run(&["verify", "b"]).finished(0);
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
