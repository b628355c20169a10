//! The forms a batch may come in: the same rows have the same identifiers, whatever the form.

use std::collections::BTreeSet;

use crate::desk::{Desk, HEADER, ROWS};

fn json_rows() -> Vec<String> {
    let names: Vec<&str> = HEADER.trim_end().split(',').collect();
    ROWS.lines()
        .map(|row| {
            let members: Vec<String> = names
                .iter()
                .zip(row.split(','))
                .map(|(name, cell)| match *name {
                    "amount" => format!("\"{name}\": {cell}"),
                    _ => format!("\"{name}\": \"{cell}\""),
                })
                .collect();
            format!("{{{}}}", members.join(", "))
        })
        .collect()
}

/// The identifiers of the rows of batch `b`.
fn identifiers(desk: &Desk) -> BTreeSet<String> {
    ["R-1", "R-2", "R-3"]
        .into_iter()
        .map(|reference| {
            let said = desk.run(&["explain", "b", reference, "--json"]).finished(0);
            said.json()[0]["payer_transaction_id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[test]
fn the_form_of_the_file_does_not_change_the_identifiers() {
    let expected = identifiers(&Desk::loaded());
    assert_eq!(expected.len(), 3);
    let csv = format!("{HEADER}{ROWS}");
    let utf16: Vec<u8> = std::iter::once(0xfeff)
        .chain(csv.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let cases: [(&str, Vec<u8>, &str); 9] = [
        (
            "semicolons.csv",
            csv.replace(',', ";").into(),
            "semicolons.csv: delimiter ';'\n",
        ),
        (
            "tabs.csv",
            csv.replace(',', "\t").into(),
            "tabs.csv: delimiter TAB\n",
        ),
        ("marked.csv", format!("\u{feff}{csv}").into(), ""),
        ("crlf.csv", csv.replace('\n', "\r\n").into(), ""),
        (
            "quoted.csv",
            csv.replace("B2C_MPESA", "\"B2C_MPESA\"").into(),
            "",
        ),
        ("utf16.csv", utf16, "utf16.csv: read as UTF-16\n"),
        (
            "array.json",
            format!("[{}]", json_rows().join(",\n")).into(),
            "",
        ),
        ("lines.jsonl", json_rows().join("\n").into(), ""),
        (
            "blank.csv",
            csv.replace("R-2", "\n,,,,,\nR-2").into(),
            "blank.csv: 1 empty row skipped\n",
        ),
    ];
    for (name, content, note) in cases {
        let desk = Desk::new().file(name, content);
        let said = desk
            .run(&["load", name, "--batch", "b", "--sandbox"])
            .finished(0);
        assert_eq!(said.err, format!("{note}next: disburse run b --sandbox\n"));
        assert_eq!(identifiers(&desk), expected, "{name}");
    }
}

#[test]
fn the_form_is_taken_from_the_option_before_the_extension() {
    let desk = Desk::new()
        .file("rows.dat", json_rows().join("\n"))
        .file("rows.csv", format!("[{}]", json_rows().join(",")));
    for arguments in [
        &["check", "rows.dat", "--sandbox"][..],
        &["check", "rows.dat", "--sandbox", "--format", "jsonl"],
        &["check", "rows.csv", "--sandbox", "--format", "json"],
    ] {
        desk.run(arguments).finished(0);
    }
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let desk = Desk::new();
    let csv = format!("{HEADER}{ROWS}");
    let said = desk
        .run_with_input(&["load", "-", "--batch", "b", "--sandbox"], &csv)
        .finished(0);
    assert!(
        said.out
            .contains("3 payments loaded into batch b\nevidence: 3 rows, head "),
        "{}",
        said.out
    );
    assert_eq!(identifiers(&desk), identifiers(&Desk::loaded()));
    let said = desk.run_with_input(
        &["check", "-", "--sandbox", "--format", "jsonl"],
        &json_rows().join("\n"),
    );
    assert!(
        said.finished(0)
            .out
            .ends_with("standard input: 3 rows, no errors\n")
    );
    let said = desk.run_with_input(
        &["check", "-", "--sandbox"],
        &format!("{csv}R-4,B2C_MPESA\n"),
    );
    said.refused(
        2,
        &[
            "standard input:5: expected 6 cells as in the header, found 2",
            "the rows with errors are in stdin.corrections.csv, each with its errors in the last column",
            "error: standard input: 1 row with errors",
            "hint: mend them in the file, and check it again",
        ],
    );
    let said = desk.run_with_input(&["check", "-", "--sandbox"], "");
    assert!(
        said.finished(2)
            .err
            .starts_with("error: standard input: is empty\n")
    );
}

#[test]
fn a_pipe_is_read_as_standard_input_alone() {
    let desk = Desk::with_rows();
    let said = desk
        .shell("disburse check <(cat ok.csv) --sandbox")
        .finished(2);
    assert!(said.err.contains("is a pipe, not a file"), "{}", said.err);
    let said = desk
        .shell("cat ok.csv | disburse check - --sandbox")
        .finished(0);
    assert!(said.out.ends_with(": 3 rows, no errors\n"), "{}", said.out);
}

#[test]
fn windows_1252_is_read_when_it_is_named() {
    let row = b"R-1,B2C_MPESA,254712345678,100.00,KES,KE,Jos\xe9\n";
    let desk = Desk::new().file(
        "old.csv",
        [HEADER.trim_end().as_bytes(), b",customer_names\n", row].concat(),
    );
    desk.run(&["check", "old.csv", "--sandbox"]).finished(2);
    let said = desk
        .run(&[
            "check",
            "old.csv",
            "--sandbox",
            "--encoding",
            "windows-1252",
        ])
        .finished(0);
    assert_eq!(said.err, "old.csv: read as Windows-1252\n");
}

#[test]
fn quoted_cells_may_hold_delimiters_and_line_breaks() {
    let header = HEADER.replace('\n', ",narration\n");
    let rows = "R-1,B2C_MPESA,254712345678,100.00,KES,KE,\"bonus, \"\"late\"\"\"\nR-2,B2C_MPESA,254712345679,1.00,KES,KE,x\n";
    let desk = Desk::new().file("quoted.csv", format!("{header}{rows}"));
    let said = desk.run(&["check", "quoted.csv", "--sandbox"]).finished(2);
    // The amount of the second row is below the limit of the service: its line is told right.
    assert!(
        said.err.starts_with("quoted.csv:3: amount: "),
        "{}",
        said.err
    );
}

#[test]
fn rows_without_a_service_take_the_one_that_is_given() {
    let desk = Desk::new().file(
        "plain.csv",
        "msisdn,amount,country_code\n254712345678,100.00,KE\n",
    );
    desk.run(&["check", "plain.csv", "--sandbox"]).finished(2);
    let said = desk
        .run(&[
            "check",
            "plain.csv",
            "--sandbox",
            "--service",
            "B2C_MPESA",
            "--json",
        ])
        .finished(0);
    assert_eq!(said.json()["services"][0]["service_code"], "B2C_MPESA");
}

#[test]
fn headers_of_ones_own_are_mapped_by_the_configuration() {
    let desk = Desk::new().sample("disburse.toml").file(
        "own.csv",
        "Employee,Phone Number,Net Pay,service_code\nWanjiku,254712345678,100.00,B2C_MPESA\n",
    );
    desk.run(&["check", "own.csv"]).finished(0);
}
