//! Decisions of people about many payments, from a file.

use crate::desk::Desk;
use crate::reconcile::{payments, states};

pub const DECISIONS: &str = "reference,decision,reason,evidence\n";

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
            "a packed file",
            "PK\u{3}\u{4}".to_owned(),
            "d.csv: is a ZIP archive, not a CSV; nothing was recorded",
            "unpack it first",
        ),
        (
            "nothing",
            String::new(),
            "d.csv: is empty; nothing was recorded",
            "decision (paid or failed)",
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

/// A spreadsheet writes the sign of its own country between cells, and some write UTF-16.
#[test]
fn decisions_are_read_as_spreadsheets_write_them() {
    let desk = Desk::waiting();
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let head = |sign: &str| DECISIONS.trim().replace(',', sign);
    for text in [
        format!(
            "\u{feff}{}\r\nR-1;paid;seen, and read;line 1\r\n",
            head(";")
        )
        .into_bytes(),
        utf16(&format!(
            "{}\r\nR-2\tpaid\tseen; and read\tline 2\r\n",
            head("\t")
        )),
        format!("sep=|\n{}\nR-3|paid|seen|line 3\n", head("|")).into_bytes(),
    ] {
        std::fs::write(desk.path("d.csv"), text).unwrap();
        desk.run(&["resolve", "b", "--from", "d.csv", "--yes"])
            .finished(0);
    }
    assert_eq!(states(&desk), ["paid", "paid", "paid"]);
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

#[test]
fn a_reference_that_a_spreadsheet_may_have_changed_names_no_payment() {
    let rows = "7,B2C_MPESA,254712345678,100.00,KES,KE\n\
                007,B2C_AIRTEL,254733345678,200.50,KES,KE\n\
                12,B2C_MPESA,254712345679,300.00,KES,KE\n";
    let desk = Desk::new().file("ok.csv", format!("{}{rows}", crate::desk::HEADER));
    desk.run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    let run = "run b --sandbox --faults none --no-wait --poll-only";
    desk.run(&run.split(' ').collect::<Vec<_>>()).finished(4);
    let resolve = |desk: &Desk, code: i32| {
        desk.run(&["resolve", "b", "--from", "d.csv", "--sandbox", "--yes"])
            .finished(code)
    };
    for name in ["7", "007", "7.0"] {
        let desk = &desk;
        std::fs::write(
            desk.path("d.csv"),
            format!("{DECISIONS}{name},paid,seen,line 1\n"),
        )
        .unwrap();
        let said = resolve(desk, 2);
        let told = "d.csv:2: it is not clear which payment is meant: a spreadsheet makes the same number of the references 007 and 7";
        assert!(
            said.err.contains(told) && said.err.contains("by its identifier"),
            "{said:?}"
        );
    }
    let desk = desk.file("d.csv", format!("{DECISIONS}12,paid,seen,line 1\n"));
    resolve(&desk, 0);
}
