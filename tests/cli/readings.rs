//! One file, read in two ways: nobody is paid twice for it, and nobody another amount.

use rust_xlsxwriter::{Format, Workbook};

use crate::desk::{CONFIGURATION, Desk};

const FILE: &str =
    "Emp No,msisdn,Amount,Before\nE-1,0712345671,250000,100000\nE-2,0712345672,300000,100000\n";

const LAYOUTS: &str = r#"
[layouts.cents-1]
amount_factor = "0.01"
ignore = ["Before"]

[layouts.cents-1.columns]
reference = "Emp No"
msisdn = "msisdn"
amount = "Amount"

[layouts.cents-1.constants]
service_code = "B2C_MPESA"

[layouts.before-1]
amount_factor = "0.01"
ignore = ["Amount"]

[layouts.before-1.columns]
reference = "Emp No"
msisdn = "msisdn"
amount = "Before"

[layouts.before-1.constants]
service_code = "B2C_MPESA"
"#;

fn desk() -> Desk {
    Desk::new()
        .file("disburse.toml", format!("{CONFIGURATION}{LAYOUTS}"))
        .file("cents.csv", FILE)
        .variable("DISBURSE_PASSWORD", "x")
}

#[test]
fn a_file_that_was_loaded_is_not_loaded_again_by_another_layout() {
    let desk = desk();
    let load = ["load", "cents.csv", "--batch", "a", "--layout", "cents-1"];
    desk.run(&load).finished(0);
    let other = ["load", "cents.csv", "--batch", "b", "--layout", "before-1"];
    let said = desk.run(&other).finished(2);
    for part in [
        "cents.csv: was loaded as batch a before, read by layout cents-1, and that batch has payments; nothing was loaded",
        "disburse cancel a",
    ] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    // Nobody is paid by it any more.
    desk.run(&["cancel", "a", "--yes"]).finished(0);
    desk.run(&other).finished(0);
    // What is only tried is read in any way.
    let rehearsed = [&other[..3], &["r", "--layout", "before-1", "--sandbox"]].concat();
    desk.run(&rehearsed).finished(0);
}

#[test]
fn what_is_added_to_a_batch_is_read_as_the_batch_was() {
    let desk = desk();
    let load = ["load", "cents.csv", "--batch", "a", "--layout", "cents-1"];
    desk.run(&load).finished(0);
    let more = "reference,msisdn,amount\nE-3,254712345673,400000\n";
    let desk = desk.file("more.csv", more);
    let add = [
        "load",
        "more.csv",
        "--batch",
        "a",
        "--amend",
        "--service",
        "B2C_MPESA",
    ];
    let said = desk.run(&add).finished(2);
    for part in [
        "more.csv: names no layout, and all that batch a has was read by layout cents-1; nothing was loaded",
        "Add --layout cents-1",
    ] {
        assert!(said.err.contains(part), "{}", said.err);
    }
    // Rows that this program has written to be mended have our columns, whatever the file had.
    let bad = FILE
        .replace("E-", "F-")
        .replace("0712345671", "0712345673")
        .replace("0712345672", "071");
    let desk = desk.file("bad.csv", bad);
    let skip = [
        "load",
        "bad.csv",
        "--batch",
        "c",
        "--layout",
        "cents-1",
        "--on-error",
        "skip",
    ];
    desk.run(&skip).finished(0);
    let mended = desk
        .text("bad.corrections.csv")
        .replace("071,", "0712345674,");
    let desk = desk.file("bad.corrections.csv", mended);
    let amend = [
        "load",
        "bad.corrections.csv",
        "--batch",
        "c",
        "--amend",
        "--layout",
        "cents-1",
    ];
    desk.run(&amend).finished(0);
    let total = desk.run(&["status", "c", "--json"]).json();
    assert_eq!(total["amounts"]["KES"], "5500.00", "{total}");
}

/// Signs of amounts as they are typed where a comma stands in front of decimals, and the same people held back in some way.
const COMMAS: &str = r#"
[layouts.commas-1]
decimal = ","
group = "."
ignore = ["Name"]

[layouts.commas-1.columns]
reference = "Emp No"
msisdn = "Phone"
amount = "Amount"

[layouts.commas-1.constants]
service_code = "B2C_MPESA"

[layouts.commas-1.total]
column = "Name"
marker = "Total"
"#;

fn commas() -> Desk {
    Desk::new()
        .file("disburse.toml", format!("{CONFIGURATION}{COMMAS}"))
        .variable("DISBURSE_PASSWORD", "x")
}

const HEADER: [&str; 4] = ["Emp No", "Phone", "Name", "Amount"];

#[test]
fn numbers_of_a_sheet_are_numbers_whatever_signs_its_texts_have() {
    let desk = commas();
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    sheet.write_row(0, 0, HEADER).unwrap();
    for (row, (reference, name)) in (1..).zip([("E-1", "Ana"), ("E-2", "Ben")]) {
        sheet
            .write_row(row, 0, [reference, "0712345671", name])
            .unwrap();
    }
    let two = Format::new().set_num_format("#,##0.00");
    sheet.write_with_format(1, 3, 12.34, &two).unwrap();
    sheet.write(2, 3, "1.234,50").unwrap();
    sheet.write(3, 2, "Total").unwrap();
    sheet.write_with_format(3, 3, 1246.84, &two).unwrap();
    book.save(desk.path("c.xlsx")).unwrap();
    let checked = desk
        .run(&["check", "c.xlsx", "--layout", "commas-1", "--json"])
        .finished(0)
        .json();
    assert_eq!(checked["amounts"]["KES"], "1246.84", "{checked}");
}

#[test]
fn somebody_who_is_called_total_is_no_sum() {
    let rows = format!(
        "{};\nE-1;0712345671;Ana;1.500,50\nE-2;0712345672;Total;1.500,50\n;;Total;3.001,00\n",
        HEADER.join(";")
    )
    .replace("Amount;", "Amount");
    let desk = commas().file("t.csv", rows);
    let said = desk
        .run(&["check", "t.csv", "--layout", "commas-1"])
        .finished(2);
    assert!(
        said.err.contains(
            "t.csv:3: column \"Name\": is marked as the row with the sum, but names somebody to pay"
        ),
        "{}",
        said.err
    );
}

#[test]
fn an_account_that_the_sheet_shows_with_more_zeros_is_refused() {
    let desk = commas();
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    let header = ["reference", "service_code", "msisdn", "amount"];
    sheet.write_row(0, 0, header).unwrap();
    let padded = Format::new().set_num_format("0000");
    sheet.write_with_format(1, 0, 17.0, &padded).unwrap();
    sheet
        .write_row(1, 1, ["B2C_MPESA", "0712345671", "100"])
        .unwrap();
    book.save(desk.path("p.xlsx")).unwrap();
    let said = desk.run(&["check", "p.xlsx"]).finished(2);
    assert!(
        said.err.contains(
            "p.xlsx:Sheet1!A2: reference: is a number that the sheet shows with zeros or letters which are not in it"
        ),
        "{}",
        said.err
    );
}

#[test]
fn a_row_that_is_struck_out_in_whatever_column_is_not_paid() {
    let desk = commas();
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    let header = [
        "reference",
        "service_code",
        "msisdn",
        "amount",
        "customer_names",
    ];
    sheet.write_row(0, 0, header).unwrap();
    let line = Format::new().set_font_strikethrough();
    for (row, name) in [(1, "Ann"), (2, "Ben"), (3, "Cid")] {
        let reference = format!("S{row}");
        let number = format!("071234567{row}");
        let cells = [&reference, "B2C_MPESA", &number, "100"];
        sheet.write_row(row, 0, cells).unwrap();
        sheet.write(row, 4, name).unwrap();
    }
    sheet.write_with_format(2, 4, "Ben", &line).unwrap();
    for (column, text) in [
        (0, "S3"),
        (1, "B2C_MPESA"),
        (2, "0712345673"),
        (3, "100"),
        (4, "Cid"),
    ] {
        sheet.write_with_format(3, column, text, &line).unwrap();
    }
    book.save(desk.path("s.xlsx")).unwrap();
    let said = desk
        .run(&[
            "load",
            "s.xlsx",
            "--batch",
            "s",
            "--sandbox",
            "--on-error",
            "skip",
        ])
        .finished(0);
    for place in [
        "s.xlsx:Sheet1!E3: customer_names",
        "s.xlsx:Sheet1!A4: reference",
    ] {
        assert!(
            said.err
                .contains(&format!("{place}: is struck out in the sheet")),
            "{}",
            said.err
        );
    }
    assert_eq!(said.err.matches("is struck out").count(), 2, "{}", said.err);
    // What was set aside is not paid as it stands.
    let again = desk
        .run(&[
            "load",
            "s.corrections.xlsx",
            "--batch",
            "s",
            "--sandbox",
            "--amend",
        ])
        .finished(2);
    assert!(again.err.contains("amount"), "{}", again.err);
}
