//! Workbooks: what is wrong with their rows comes back as a workbook, and goes in again with no digit lost.

use std::fs::File;

use disburse::intake::workbook_rows;
use rust_xlsxwriter::{Format, Formula, Workbook};

use crate::desk::{CONFIGURATION, Desk};

const BANK: &str = "\n[services.BANK]\nkind = \"bank\"\ncurrency_code = \"KES\"\n";

/// Sheets of cells: a text, or a number behind `#`, or a formula behind `=`.
fn book(rows: &[&[&str]]) -> Vec<u8> {
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    for (row, cells) in (0..).zip(rows) {
        for (column, cell) in (0..).zip(*cells) {
            if let Some(number) = cell.strip_prefix('#') {
                sheet
                    .write(row, column, number.parse::<f64>().unwrap())
                    .unwrap();
            } else if cell.starts_with('=') {
                sheet
                    .write(row, column, Formula::new(*cell).set_result("7"))
                    .unwrap();
            } else {
                let text = Format::new().set_num_format("@");
                sheet.write_with_format(row, column, *cell, &text).unwrap();
            }
        }
    }
    book.save_to_buffer().unwrap()
}

fn desk(rows: &[&[&str]], layout: &str) -> Desk {
    Desk::new()
        .file("disburse.toml", format!("{CONFIGURATION}{BANK}{layout}"))
        .file("june.xlsx", book(rows))
        .variable("DISBURSE_PASSWORD", "hunter2")
}

fn texts(desk: &Desk, name: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let file = File::open(desk.path(name)).unwrap();
    workbook_rows(file, |row| rows.push(row.to_vec())).unwrap();
    rows
}

const HEADER: &[&str] = &[
    "reference",
    "service_code",
    "msisdn",
    "amount",
    "customer_names",
    "bank_account_number",
    "bank_code",
    "bank_name",
    "bank_account_name",
];

fn row<'a>(reference: &'a str, msisdn: &'a str, amount: &'a str, account: &'a str) -> [&'a str; 9] {
    [
        reference, "BANK", msisdn, amount, "Ana 007", account, "01", "Mlima", "Ana",
    ]
}

#[test]
fn rows_with_errors_come_back_as_a_workbook_and_only_they_are_added() {
    let good = row("R-1", "254712345678", "#100", "0012345678901");
    let phone = row("R-2", "0712", "#200.5", "0012345678902");
    let lost = row("R-3", "254712345678", "#300", "#1234567890123456");
    let formula = row("R-4", "254712345678", "=1+6", "0012345678904");
    let desk = desk(&[HEADER, &good, &phone, &lost, &formula], "");
    let said = desk
        .run(&["load", "june.xlsx", "--batch", "june", "--on-error", "skip"])
        .finished(0);
    assert!(said.err.contains("june.xlsx:Sheet1!C3"), "{said:?}");
    assert!(said.err.contains("june.corrections.xlsx"), "{said:?}");
    let kept = texts(&desk, "june.corrections.xlsx");
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert_eq!(kept[1][..4], ["R-2", "BANK", "0712", "200.5"]);
    assert_eq!(kept[1][5], "0012345678902");
    assert_eq!(
        kept[2][5], "1234567890123460",
        "the sheet shows fifteen digits"
    );
    let columns = kept[0].clone();
    let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
    assert!(
        kept[2][at("error")].contains("more than 15 digits"),
        "{kept:?}"
    );
    assert!(kept[1][at("rejected_row")].starts_with("row-"), "{kept:?}");

    // As it is, it is refused again: what was wrong is wrong still.
    let again = desk
        .run(&[
            "load",
            "june.corrections.xlsx",
            "--batch",
            "june",
            "--amend",
        ])
        .finished(2);
    assert!(
        again.err.contains("june.corrections.xlsx:Sheet1!F3"),
        "{again:?}"
    );

    let mut mended = kept;
    mended[1][2] = "254712345679".to_owned();
    mended[2][5] = "1234567890123456".to_owned();
    mended[3][3] = "400".to_owned();
    let cells: Vec<Vec<&str>> = mended
        .iter()
        .map(|row| row.iter().map(String::as_str).collect())
        .collect();
    let cells: Vec<&[&str]> = cells.iter().map(Vec::as_slice).collect();
    let desk = desk.file("mended.xlsx", book(&cells));
    desk.run(&["load", "mended.xlsx", "--batch", "june", "--amend"])
        .finished(0);
    let status = desk.run(&["status", "june", "--json"]).finished(0).json();
    let shown = status.to_string();
    assert!(shown.contains("1000.50"), "{shown}");
    // The same again adds nothing.
    let twice = desk
        .run(&["load", "mended.xlsx", "--batch", "june", "--amend"])
        .finished(0);
    assert!(
        twice.err.contains("already") || twice.out.contains("already"),
        "{twice:?}"
    );
}

#[test]
fn a_layouts_columns_come_back_under_their_own_headers() {
    let layout = "[layouts.l-1]\nheader = 3\n[layouts.l-1.columns]\nmsisdn = \"Mobile\"\namount = \"Net Pay\"\n\
        [layouts.l-1.constants]\nservice_code = \"B2C_MPESA\"\n";
    let desk = desk(
        &[
            &["ACME"],
            &["June"],
            &["Mobile", "Net Pay"],
            &["0712345671", "#10"],
            &["07123", "#20"],
        ],
        layout,
    );
    let arguments = ["--batch", "b", "--layout", "l-1"];
    let said = desk
        .run(&[&["load", "june.xlsx", "--on-error", "skip"][..], &arguments].concat())
        .finished(0);
    assert!(said.err.contains("june.xlsx:Sheet1!A5"), "{said:?}");
    let mut kept = texts(&desk, "june.corrections.xlsx");
    assert_eq!(kept[0][..2], ["Mobile", "Net Pay"]);
    assert_eq!(kept[1][..2], ["07123", "20"]);
    kept[1][0] = "0712345672".to_owned();
    let cells: Vec<Vec<&str>> = kept
        .iter()
        .map(|row| row.iter().map(String::as_str).collect())
        .collect();
    let cells: Vec<&[&str]> = cells.iter().map(Vec::as_slice).collect();
    let desk = desk.file("mended.xlsx", book(&cells));
    desk.run(&[&["load", "mended.xlsx", "--amend"][..], &arguments].concat())
        .finished(0);
}

#[test]
fn a_report_has_the_failed_rows_as_a_workbook_too() {
    let good = row("R-1", "254712345678", "#100", "0012345678901");
    let bad = row("R-2", "0712", "#200.5", "0012345678902");
    let desk = desk(&[HEADER, &good, &bad], "");
    desk.run(&["load", "june.xlsx", "--batch", "june", "--on-error", "skip"])
        .finished(0);
    let said = desk.run(&["report", "june", "--out", "r"]).finished(0);
    assert!(said.err.contains("r/failed.xlsx"), "{said:?}");
    let mut kept = texts(&desk, "r/failed.xlsx");
    assert_eq!(kept.len(), 2, "{kept:?}");
    let columns = kept[0].clone();
    let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
    assert_eq!(kept[1][at("msisdn")], "0712");
    assert_eq!(kept[1][at("bank_account_number")], "0012345678902");
    kept[1][at("msisdn")] = "0712345679".to_owned();
    let cells: Vec<Vec<&str>> = kept
        .iter()
        .map(|row| row.iter().map(String::as_str).collect())
        .collect();
    let cells: Vec<&[&str]> = cells.iter().map(Vec::as_slice).collect();
    let desk = desk.file("r/failed.xlsx", book(&cells));
    desk.run(&["load", "r/failed.xlsx", "--batch", "june", "--amend"])
        .finished(0);
    // A person's file stays where it is.
    let before = std::fs::read(desk.path("r/failed.xlsx")).unwrap();
    desk.run(&["report", "june", "--out", "r"]).finished(0);
    assert_eq!(std::fs::read(desk.path("r/failed.xlsx")).unwrap(), before);
}
