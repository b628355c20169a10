//! Files that are no batch: each is named for what it is, and leaves no trace.

use std::fs;

use crate::desk::{Desk, HEADER, ROWS};

const WHOLE: &str = "export it again; a batch has a header and at least one row";
const SHEET: &str =
    "open it in the spreadsheet program and save it as XLSX, which is read as it is";

/// The file, the content, the error, the hint.
type Case = (&'static str, Vec<u8>, &'static str, &'static str);

fn cases() -> Vec<Case> {
    let head = HEADER.trim_end();
    let row = ROWS.lines().next().unwrap();
    let text = |text: String| text.into_bytes();
    vec![
        ("empty.csv", Vec::new(), "empty.csv: is empty", WHOLE),
        (
            "header.csv",
            text(HEADER.into()),
            "header.csv: has a header and no rows",
            "there is nothing to pay; check the export",
        ),
        (
            "empty.json",
            text("[]".into()),
            "empty.json: holds no payments",
            "there is nothing to pay; check the export",
        ),
        (
            "unknown.csv",
            text(format!("{head},narations\n{row},x\n")),
            "unknown.csv: has an unknown column \"narations\" (did you mean \"narration\"?)",
            "rename it, or map it in [columns]; further members of extraData are named extra.NAME\nis it a file of another program? disburse layout guess unknown.csv says what its columns seem to be, and proposes a layout to read it by",
        ),
        (
            "doubled.csv",
            text(format!("{head},amount\n{row},1.00\n")),
            "doubled.csv: has the column amount twice, as columns 4 and 7",
            "keep one of them",
        ),
        (
            "missing.csv",
            text("msisdn,service_code\n254712345678,B2C_MPESA\n".into()),
            "missing.csv: has no column amount",
            "every row needs it; the first line must hold the names of the columns\nis it a file of another program? disburse layout guess missing.csv says what its columns seem to be, and proposes a layout to read it by",
        ),
        (
            "gzip.csv",
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03+".to_vec(),
            "gzip.csv: is cut off, or has something behind the end of its gzip data",
            "fetch the file again, or pack it again; nothing of it was read",
        ),
        (
            "xlsx.csv",
            b"PK\x03\x04\x14\0\0\0[Content_Types].xml....xl/workbook.xml".to_vec(),
            "xlsx.csv: is an Excel workbook (XLSX), not CSV or JSON",
            SHEET,
        ),
        (
            "xls.csv",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(),
            "xls.csv: is an old Excel workbook (XLS) or another Office document, not CSV or JSON",
            SHEET,
        ),
        (
            "latin.csv",
            [
                HEADER.as_bytes(),
                b"R-\xe9,B2C_MPESA,254712345678,1.00,KES,KE\n",
            ]
            .concat(),
            "latin.csv:2: is not UTF-8: byte 3 of the line is 0xE9 (byte 67 of the file)",
            "save it again as \"CSV UTF-8\"; or, if it comes from an older Windows program, add --encoding windows-1252",
        ),
        (
            "quote.csv",
            text(format!(
                "{HEADER}{ROWS}R-4,B2C_MPESA,\"254712345678,1.00,KES,KE\n"
            )),
            "quote.csv:5: has a quote that is opened in this line and never closed",
            "close the quote in that line; a quote inside a quoted cell is written twice",
        ),
        (
            "broken.json",
            text("[{\"reference\": \"R-1\",\n".into()),
            "",
            "write an array of objects, or one object per line; nothing after this line could be read",
        ),
    ]
}

/// What is printed: the error, and its hints, one in a line.
fn lines(error: &str, hints: &str) -> Vec<String> {
    let hints = hints.split('\n').map(|hint| format!("hint: {hint}"));
    [format!("error: {error}")]
        .into_iter()
        .chain(hints)
        .collect()
}

#[test]
fn each_is_named_and_leaves_an_existing_journal_as_it_was() {
    let mut desk = Desk::loaded();
    for (name, content, error, hint) in cases() {
        desk = desk.file(name, content);
        for command in [
            &["load", name, "--batch", "n", "--sandbox"][..],
            &["check", name, "--sandbox"],
        ] {
            if error.is_empty() {
                let said = desk.run(command).finished(2);
                assert!(
                    said.err.starts_with(&format!("error: {name}:")),
                    "{}",
                    said.err
                );
                assert!(said.err.contains(hint), "{}", said.err);
            } else {
                let lines = lines(error, hint);
                let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
                desk.refuses(command, 2, &lines);
            }
        }
    }
}

#[test]
fn a_file_of_another_kind_makes_no_journal() {
    let mut desk = Desk::new();
    for (name, content, error, hint) in cases() {
        // A quote that is never closed shows only at the end.
        if error.is_empty() || name == "quote.csv" {
            continue;
        }
        desk = desk.file(name, content);
        let lines = lines(error, hint);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        desk.refuses(&["load", name, "--batch", "n", "--sandbox"], 2, &lines);
        desk.refuses(&["pay", name, "--batch", "n", "--sandbox"], 2, &lines);
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let desk = Desk::loaded();
    fs::create_dir(desk.path("folder.csv")).unwrap();
    let gone =
        "hint: check the name: it is looked for from the folder in which the command is given";
    for (name, lines) in [
        (
            "nowhere.csv",
            &["error: nowhere.csv: no such file", gone][..],
        ),
        (
            "nowhere/at/all.csv",
            &["error: nowhere/at/all.csv: no such file", gone],
        ),
        (
            "folder.csv",
            &["error: folder.csv: is a folder; name a file in it"],
        ),
    ] {
        desk.refuses(&["check", name, "--sandbox"], 2, lines);
        desk.refuses(&["load", name, "--batch", "n", "--sandbox"], 2, lines);
    }
}

#[test]
fn ragged_rows_are_all_named_and_nothing_is_loaded() {
    let desk = Desk::loaded().file(
        "ragged.csv",
        format!("{HEADER}{ROWS}R-4,B2C_MPESA\nR-5,B2C_MPESA,254712345678,1,500.00,KES,KE\n"),
    );
    let journal = fs::read(desk.path("disburse.db")).unwrap();
    let said = desk.run(&["load", "ragged.csv", "--batch", "n", "--sandbox"]);
    said.refused(
        2,
        &[
            "ragged.csv:5: expected 6 cells as in the header, found 2",
            "ragged.csv:6: expected 6 cells as in the header, found 7",
            "the rows with errors are in ragged.corrections.csv, each with its errors in the last column",
            "error: ragged.csv: 2 rows with errors; nothing was loaded",
            "hint: mend them in the file and load it again; or load the good rows alone with --on-error skip, and add the \
             mended ragged.corrections.csv with --amend",
        ],
    );
    assert!(fs::read(desk.path("disburse.db")).unwrap() == journal);
    desk.run(&["status", "n"]).finished(2);
}

#[test]
fn ten_megabytes_in_one_field_are_one_bad_row() {
    let field = "x".repeat(10_000_000);
    let desk = Desk::loaded()
        .file(
            "wide.csv",
            format!("{HEADER}R-4,{field},254712345678,1.00,KES,KE\n{ROWS}"),
        )
        .file(
            "quoted.csv",
            format!("{HEADER}R-4,\"{field}\",254712345678,1.00,KES,KE\n{ROWS}"),
        )
        .file(
            "wide.json",
            format!("[{{\"reference\": \"R-4\", \"narration\": \"{field}\"}}]"),
        );
    let journal = fs::read(desk.path("disburse.db")).unwrap();
    for (name, line) in [("wide.csv", 2), ("quoted.csv", 2), ("wide.json", 1)] {
        let said = desk.run(&["load", name, "--batch", "n", "--sandbox"]);
        let stem = name.split('.').next().unwrap();
        let first = said.err.lines().next().unwrap();
        assert!(
            first.starts_with(&format!(
                "{name}:{line}: expected at most 65536 bytes in a row, found 100000"
            )),
            "{first}"
        );
        said.refused(
            2,
            &[
                first,
                &format!("the rows with errors are in {stem}.corrections.csv, each with its errors in the last column"),
                &format!("error: {name}: 1 row with errors; nothing was loaded"),
                &format!(
                    "hint: mend them in the file and load it again; or load the good rows alone with --on-error skip, and \
                     add the mended {stem}.corrections.csv with --amend"
                ),
            ],
        );
    }
    assert!(fs::read(desk.path("disburse.db")).unwrap() == journal);
}

#[test]
fn options_that_say_how_to_read_are_checked() {
    let desk = Desk::with_rows();
    for (option, value, error) in [
        (
            "--format",
            "yaml",
            "--format yaml: expected csv, json, jsonl or pain.001",
        ),
        (
            "--encoding",
            "latin",
            "--encoding latin: expected utf-8, utf-16, windows-1252 or iso-8859-1",
        ),
        (
            "--expect-total",
            "1,00.0.1",
            "--expect-total 1,00.0.1: expected digits and at most one decimal point",
        ),
        (
            "--expect-total",
            "100.005",
            "--expect-total 100.005: KES has 2 decimals, found 3",
        ),
        (
            "--expect-total",
            "KEZ 100",
            "--expect-total KEZ 100: KEZ is no currency of ISO 4217",
        ),
    ] {
        let error = format!("error: {error}");
        let mut lines = vec![error.as_str()];
        if option == "--expect-total" {
            lines.push("hint: write currency and total, as in --expect-total \"KES 412955.45\"");
        }
        desk.refuses(&["check", "ok.csv", "--sandbox", option, value], 2, &lines);
    }
    desk.refuses(
        &["check", "ok.csv", "--sandbox", "--format", "json"],
        2,
        &[
            "error: ok.csv: is not JSON: it begins with 'r'",
            "hint: name the format with --format csv, json, jsonl or pain.001",
        ],
    );
}
