//! Files of other programs: read by a layout, told in their own words, given back as they came, and proposed for what has none yet.

use std::path::Path;

use crate::desk::{CONFIGURATION, Desk, Said};

/// A sheet with titles, names in two columns, amounts with commas, somebody on hold, and the sum at the end.
const SHEET: &str = "ACME LTD,,,,,\nPayroll November,,,,,\n\
    Emp No,Mobile No,First Name,Last Name,Net Pay,Status\n\
    E-1,0712345671,Ana,Were,\"1,500.50\",\n\
    E-2,0712345672,Ben,Njoroge,200,\n\
    E-3,0712345673,Eva,Otieno,300,On hold\n\
    E-4,0712345674,Leo,Mwangi,,\n\
    TOTAL,,,,\"2,000.50\",\n";

const LAYOUT: &str = r#"
[layouts.sheet-1]
header = 3
decimal = "."
group = ","
empty_amount = "skip"

[layouts.sheet-1.columns]
msisdn = "mobile_no"
amount = "Net Pay"
customer_names = ["First Name", "Last Name"]

[layouts.sheet-1.constants]
service_code = "B2C_MPESA"

[layouts.sheet-1.skip]
"Status" = ["On hold"]

[layouts.sheet-1.total]
column = "Emp No"
marker = "Total"
"#;

/// The layout, with `ignore` among its keys.
fn layout() -> String {
    LAYOUT.replace("header = 3", "header = 3\nignore = [\"Emp No\"]")
}

fn configuration(layout: &str) -> String {
    format!("{CONFIGURATION}{layout}")
}

fn desk() -> Desk {
    Desk::new()
        .file("disburse.toml", configuration(&layout()))
        .file("sheet.csv", SHEET)
        .variable("DISBURSE_PASSWORD", "x")
}

fn load(desk: &Desk, more: &[&str]) -> Said {
    let all = [
        &["load", "sheet.csv", "--batch", "b", "--layout", "sheet-1"],
        more,
    ]
    .concat();
    desk.run(&all)
}

#[test]
fn a_sheet_is_loaded_and_every_row_of_it_is_accounted_for() {
    let desk = desk();
    let said = load(&desk, &[]).finished(0);
    for part in [
        "sheet.csv: 2 rows above the header left out",
        "sheet.csv: line 8 is the sum, 2000.50: the rows above add up to it",
        "sheet.csv: read by layout sheet-1 (",
        "sheet.csv:6: skipped by layout sheet-1: no payment where \"Status\" is \"On hold\"",
        "sheet.csv:7: skipped by layout sheet-1: no payment without an amount",
    ] {
        assert!(said.err.contains(part), "{part}\n{}", said.err);
    }
    assert!(said.out.contains("(skipped)"), "{}", said.out);
    assert!(
        said.out.contains("2 payments loaded into batch b"),
        "{}",
        said.out
    );
    // Nobody is paid by what was skipped, and it is told for good.
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["states"]["ready"]["count"], 2);
    assert_eq!(status["states"]["skipped"]["count"], 2);
    assert_eq!(status["states"]["withdrawn"]["count"], 0);
    assert_eq!(status["states"]["rejected"]["count"], 0);
    // They are in no sum of what is to be paid.
    let status = desk.run(&["status", "b"]).finished(0).out;
    for part in [
        "all rows              2  KES 1,700.50",
        "skipped by the layout  2",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed(&status).contains(&squeezed(part)), "{status}");
    }
    desk.run(&["verify", "b"]).finished(0);
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let report = desk.text("r/payments.csv");
    for part in ["on hold", "without an amount"] {
        assert!(report.to_lowercase().contains(part), "{report}");
    }
    let page = desk.text("r/report.html");
    assert!(
        page.contains("0 of 2 paid, 2 not finished; 2 lines are no payments, as the layout says"),
        "{page}"
    );
    let json: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    let text = json.to_string();
    assert!(text.contains("skipped by layout sheet-1"), "{text}");
    // The same file is there already; with another row it is not.
    let again = load(&desk, &[]).finished(0);
    assert!(
        again.out.contains("already there, unchanged"),
        "{}",
        again.out
    );
    let changed = SHEET.replace("E-4,0712345674", "E-5,0712345675");
    let desk = desk.file("sheet.csv", changed);
    let said = load(&desk, &[]).finished(2);
    assert!(
        said.err
            .contains("batch b exists already, and differs from the file"),
        "{}",
        said.err
    );
}

#[test]
fn what_is_declared_is_what_is_paid() {
    let desk = desk();
    let json = desk
        .run(&["check", "sheet.csv", "--layout", "sheet-1", "--json"])
        .finished(0)
        .json();
    assert_eq!(json["count"], 2);
    assert_eq!(json["skipped"]["count"], 2);
    assert_eq!(json["skipped"]["amounts"], serde_json::json!({}));
    load(
        &desk,
        &["--expect-count", "2", "--expect-total", "KES 1700.50"],
    )
    .finished(0);
}

#[test]
fn a_wrong_sum_refuses_the_file() {
    let desk = desk().file("sheet.csv", SHEET.replace("2,000.50", "2,000.51"));
    desk.refuses(
        &["load", "sheet.csv", "--batch", "b", "--layout", "sheet-1"],
        2,
        &[
            "error: sheet.csv:8: says that its rows add up to 2000.51, but they add up to 1700.50",
            "hint: rows may be missing, doubled or changed in the file: export it again, or ask the person who made it",
        ],
    );
}

#[test]
fn a_layout_that_was_changed_under_its_name_is_refused() {
    let desk = desk();
    load(&desk, &[]).finished(0);
    let other = layout()
        .replace("[\"First Name\", \"Last Name\"]", "\"First Name\"")
        .replace("[\"Emp No\"]", "[\"Emp No\", \"Last Name\"]");
    let desk = desk.file("disburse.toml", configuration(&other));
    for batch in ["b", "c"] {
        let said = desk
            .run(&[
                "load",
                "sheet.csv",
                "--batch",
                batch,
                "--layout",
                "sheet-1",
                "--amend",
            ])
            .finished(2);
        assert!(
            said.err.contains("sheet.csv: layout sheet-1, or the period that it is given, is not as it was when it read sheet.csv for batch b; nothing was loaded"),
            "{}",
            said.err
        );
        assert!(
            said.err
                .contains("save the corrected one under another name, such as sheet-1-b"),
            "{}",
            said.err
        );
    }
    // Next month's file may be read by it: nothing was ever made of that one otherwise.
    let desk = desk.file(
        "sheet.csv",
        SHEET
            .replace("November", "December")
            .replace("E-1,0712345671", "E-9,0712345679")
            .replace("E-2,0712345672", "E-8,0712345678"),
    );
    desk.run(&["check", "sheet.csv", "--layout", "sheet-1"])
        .finished(0);
    // A rehearsal is where a layout is tried.
    let rehearse = [
        "load",
        "sheet.csv",
        "--batch",
        "try",
        "--layout",
        "sheet-1",
        "--sandbox",
    ];
    desk.run(&rehearse).finished(0);
    let desk = desk.file("disburse.toml", configuration(&layout()));
    let again = [
        "load",
        "sheet.csv",
        "--batch",
        "try-2",
        "--layout",
        "sheet-1",
        "--sandbox",
    ];
    desk.run(&again).finished(0);
}

#[test]
fn rows_with_errors_come_back_in_the_layout_of_the_file() {
    let bad = SHEET.replace("0712345672", "07123456");
    let desk = desk().file("sheet.csv", bad);
    let said = load(&desk, &[]).finished(2);
    assert!(
        said.err.contains("sheet.csv:5: column \"Mobile No\" (msisdn): no such number in the numbering plan of KE (\"07123456\")"),
        "{}",
        said.err
    );
    let said = load(&desk, &["--on-error", "skip"]).finished(0);
    assert!(said.err.contains("mend sheet.corrections.csv, then add it: disburse load --layout sheet-1 sheet.corrections.csv --batch b --amend"), "{}", said.err);
    let corrections = desk.text("sheet.corrections.csv");
    assert!(
        corrections.starts_with("Emp No,Mobile No,First Name,Last Name,Net Pay,Status,rejected_row,raw,error\nE-2,'07123456,Ben,Njoroge,200,,row-"),
        "{corrections}"
    );
    let desk = desk.file(
        "sheet.corrections.csv",
        corrections.replace("'07123456", "0712345672"),
    );
    let said = desk
        .run(&[
            "load",
            "--layout",
            "sheet-1",
            "sheet.corrections.csv",
            "--batch",
            "b",
            "--amend",
        ])
        .finished(0);
    assert!(said.out.contains("1 payment"), "{}", said.out);
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["states"]["ready"]["count"], 2);
    assert_eq!(status["states"]["rejected"]["count"], 0);
    assert_eq!(status["states"]["skipped"]["count"], 2);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn a_report_gives_rows_back_in_our_columns_and_they_go_in_by_them() {
    let desk = desk().file("sheet.csv", SHEET.replace("0712345672", "07123456"));
    load(&desk, &["--on-error", "skip"]).finished(0);
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let failed = desk.text("r/failed.csv");
    assert!(
        failed.starts_with("reference,service_code,msisdn,"),
        "{failed}"
    );
    assert!(failed.contains("B2C_MPESA,'07123456,"), "{failed}");
    let desk = desk.file("failed.csv", failed.replace("'07123456,", "0712345672,"));
    // With the layout of the batch, too, as a person may go on saying it.
    let said = desk
        .run(&[
            "load",
            "failed.csv",
            "--batch",
            "b",
            "--amend",
            "--layout",
            "sheet-1",
        ])
        .finished(0);
    assert!(
        said.err
            .contains("has the columns of disburse, and is read by them, without a layout"),
        "{}",
        said.err
    );
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["states"]["ready"]["count"], 2);
}

#[test]
fn a_layout_that_is_not_there_is_refused_with_the_nearest() {
    let desk = desk();
    desk.refuses(
        &["check", "sheet.csv", "--layout", "shet-1"],
        2,
        &[
            "error: --layout shet-1: there is no such layout",
            "hint: did you mean sheet-1? disburse layout list shows all of them",
        ],
    );
    let said = desk
        .run(&["check", "sheet.csv", "--layout", "121-safaricom-1"])
        .finished(2);
    assert!(
        said.err
            .contains("it does not say what its amounts are multiplied by"),
        "{}",
        said.err
    );
}

/// What a sample needs beside its layout, and what its rows come to.
type Sample = (&'static str, &'static [&'static str], i32, &'static str);

#[test]
fn every_sample_is_read_by_its_layout() {
    let samples: [Sample; 9] = [
        (
            "mifos-msisdn-1",
            &["--service", "B2C_MPESA"],
            2,
            "samples/layouts/mifos-msisdn-1.csv:4: column \"payee_identifier_type\": the file has neither the bank",
        ),
        (
            "stellar-sms-1",
            &["--service", "B2C_MPESA"],
            0,
            "2 rows, no errors",
        ),
        ("mpesa-bulk-1", &[], 0, "2 rows, no errors"),
        (
            "kotani-1",
            &["--service", "B2C_MPESA"],
            0,
            "2 rows, no errors",
        ),
        (
            "nala-1",
            &["--service", "B2C_MPESA"],
            2,
            "samples/layouts/nala-1.csv:4: column \"Send Amount\": the amount is said in the currency of the sender",
        ),
        (
            "paypal-payouts-1",
            &["--service", "B2C_MPESA"],
            2,
            "samples/layouts/paypal-payouts-1.csv:3: column 1: this gateway pays to no e-mail address",
        ),
        (
            "erpnext-bank-remittance-1",
            &["--service", "BANK_TRANSFER"],
            0,
            "2 rows, no errors",
        ),
        (
            "odoo-payment-report-kes-1",
            &["--service", "BANK_TRANSFER"],
            2,
            "bank_name: expected a value, which BANK_TRANSFER needs",
        ),
        (
            "mtn-bulk-1",
            &["--service", "B2C_MTN_UG"],
            0,
            "2 rows, no errors",
        ),
    ];
    let own = "[layouts.ours-1]\nlike = \"121-safaricom-1\"\namount_factor = \"1500\"\n[layouts.ours-2]\nlike = \"121-airtel-1\"\namount_factor = \"1500\"\n";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let desk = Desk::new()
        .file(
            "disburse.toml",
            format!("[profiles.p]\nbank_msisdn = \"254700000001\"\n{own}"),
        )
        .file(
            "ug.toml",
            "[profiles.p]\ncountry_code = \"UG\"\ncurrency_code = \"UGX\"\n",
        );
    std::os::unix::fs::symlink(root.join("samples"), desk.path("samples")).unwrap();
    for (name, more, code, expected) in samples {
        let file = format!("samples/layouts/{name}.csv");
        let mut arguments = vec![
            "check",
            &file,
            "--layout",
            name,
            "--sandbox",
            "--corrections",
            "c.csv",
        ];
        arguments.extend(more);
        if name.starts_with("mtn") {
            arguments.extend(["--config", "ug.toml"]);
        }
        let said = desk.run(&arguments);
        assert!(
            said.code == code && format!("{}{}", said.out, said.err).contains(expected),
            "{name}: {said:?}"
        );
    }
    for (name, file, total) in [
        ("ours-1", "121-safaricom-1", "6,000.00"),
        ("ours-2", "121-airtel-1", "4,500.00"),
    ] {
        let file = format!("samples/layouts/{file}.csv");
        let said = desk
            .run(&["check", &file, "--layout", name, "--sandbox"])
            .finished(0);
        assert!(said.out.contains(total), "{name}: {}", said.out);
    }
}

#[test]
fn layouts_are_listed_and_shown_as_the_configuration_has_them() {
    let desk = desk();
    let said = desk.run(&["layout", "list"]).finished(0);
    for name in ["sheet-1", "mifos-msisdn-1", "paypal-payouts-1"] {
        assert!(said.out.contains(name), "{name}: {}", said.out);
    }
    let shown = desk.run(&["layout", "show", "sheet-1"]).finished(0).out;
    let desk = desk.file("disburse.toml", configuration(&shown));
    assert_eq!(
        desk.run(&["layout", "show", "sheet-1"]).finished(0).out,
        shown
    );
    load(&desk, &[]).finished(0);
}

#[test]
fn a_layout_that_was_guessed_reads_its_file() {
    let desk = Desk::new().file("pay roll.csv", SHEET);
    let said = desk
        .run(&[
            "layout",
            "guess",
            "pay roll.csv",
            "--sandbox",
            "--service",
            "B2C_MPESA",
        ])
        .finished(0);
    for part in [
        "Mobile No",
        "\"Mobile No\" is another word for it",
        "line 4: KES 1,500.50 to ********5671 (Ana Were) through B2C_MPESA, reference E-1",
        "[layouts.pay-roll-1]",
        "header = 3",
        "group = \",\"",
        "marker = \"TOTAL\"",
    ] {
        assert!(said.out.contains(part), "{part}\n{}", said.out);
    }
    let at = said.out.find("[layouts.").unwrap();
    let proposed = &said.out[at..];
    let desk = desk.file("disburse.toml", proposed);
    let check = [
        "check",
        "pay roll.csv",
        "--layout",
        "pay-roll-1",
        "--sandbox",
        "--service",
        "B2C_MPESA",
    ];
    // Whoever has no amount is left out by a person's word alone.
    let said = desk.run(&check).finished(2);
    assert!(
        said.err
            .contains("pay roll.csv:7: column \"Net Pay\" (amount)"),
        "{}",
        said.err
    );
    let skips = proposed.replace("header = 3", "header = 3\nempty_amount = \"skip\"");
    let desk = desk.file("disburse.toml", skips);
    let said = desk.run(&check).finished(0);
    assert!(said.out.contains("3 rows, no errors"), "{}", said.out);
}
