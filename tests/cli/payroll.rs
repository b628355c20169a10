//! The workbook of a payroll office: a title, numbers without their zeros, names of networks, the sum, and signatures below it. Made up.

use rust_xlsxwriter::{Format, Workbook, Worksheet};

use crate::desk::{CONFIGURATION, Desk};

const NETWORKS: [(&str, &str); 2] = [
    ("\"Safaricom\" = \"\"", "\"Safaricom\" = \"B2C_MPESA\""),
    ("\"Airtel\" = \"\"", "\"Airtel\" = \"B2C_AIRTEL\""),
];

/// Asserts that a command is refused, with these among its words.
#[track_caller]
fn refused(desk: &Desk, arguments: &[&str], parts: &[&str]) {
    let said = desk.run(arguments).finished(2);
    for part in parts {
        assert!(said.err.contains(part), "{part}\n{}", said.err);
    }
    assert_eq!(said.out, "");
}

/// What a test changes of the sheet.
type Change = fn(&mut Worksheet);

fn write(sheet: &mut Worksheet, row: u32, cells: &[&str]) {
    for (column, cell) in (0..).zip(cells) {
        match cell.strip_prefix('#') {
            Some(number) => sheet.write(row, column, number.parse::<f64>().unwrap()),
            None if cell.is_empty() => continue,
            None => sheet.write(row, column, *cell),
        }
        .unwrap();
    }
}

/// A sheet with one person for each row, the sum of 300.75 and two signatures.
fn sheet(name: &str, amount: &str, change: Change) -> Vec<u8> {
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    sheet.set_name(name).unwrap();
    sheet
        .merge_range(0, 0, 0, 5, "UMOJA TEA PACKERS LTD", &Format::new())
        .unwrap();
    write(
        sheet,
        2,
        &[
            "Employee No",
            "Employee Name",
            "Phone",
            "Network",
            "Bank A/C",
            amount,
            "Department",
        ],
    );
    let rows: [&[&str]; 5] = [
        &[
            "E001",
            "Ana Were",
            "#712345671",
            "Safaricom",
            "1100123456701",
            "#100.5",
            "Field",
        ],
        &[
            "E002",
            "Ben Njoroge",
            "0733345672",
            "Airtel",
            "1100123456702",
            "#200.25",
            "Office",
        ],
        &["TOTAL", "", "", "", "", "#300.75"],
        &["Prepared by: J. Mwangi"],
        &["Approved by: A. Otieno"],
    ];
    for (at, row) in (3..).zip(rows) {
        write(sheet, at, row);
    }
    change(sheet);
    book.save_to_buffer().unwrap()
}

fn desk(name: &str, amount: &str, change: Change) -> Desk {
    Desk::new().file(name, sheet("Payroll", amount, change))
}

/// Keeps the layout that was proposed, with its services filled in.
fn keep(desk: Desk, proposed: &str) -> Desk {
    let at = proposed.find("\n[layouts.").unwrap();
    let mut layout = proposed[at..].to_owned();
    for (open, filled) in NETWORKS {
        layout = layout.replace(open, filled);
    }
    desk.file("disburse.toml", format!("{CONFIGURATION}{layout}"))
        .variable("DISBURSE_PASSWORD", "hunter2")
}

#[test]
fn the_proposed_layout_reads_the_file_once_its_services_are_filled_in() {
    let desk = desk("Nov copy.xlsx", "Amount (KES)", |_| {});
    let said = desk
        .run(&[
            "layout",
            "guess",
            "Nov copy.xlsx",
            "--sandbox",
            "--sheet",
            "Payroll",
            "--name",
            "umoja-1",
        ])
        .finished(0);
    for line in [
        "sheet = \"Payroll\"",
        "lost_zero = \"restore\"",
        "amount = \"Amount (KES)\"",
        "currency_code = \"KES\"",
        "\"Airtel\" = \"\"",
        "\"Safaricom\" = \"\"",
        "\"Employee No\" = [\"Prepared by:*\", \"Approved by:*\"]",
        "marker = \"TOTAL\"",
    ] {
        assert!(
            said.out.lines().any(|found| found == line),
            "{line}\n{}",
            said.out
        );
    }
    assert!(said.out.contains("# Configured: "), "{}", said.out);
    assert!(
        said.out.contains("its header is that of a bank account"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("empty_amount"), "{}", said.out);
    for part in [
        "1 of the 2 phone numbers have lost the zero",
        "\"Employee No\" seems to name people, and not payments",
        "next: look at each line of it, keep it, then: disburse check 'Nov copy.xlsx' --layout umoja-1 --sheet Payroll --sandbox",
    ] {
        assert!(said.err.contains(part), "{part}\n{}", said.err);
    }
    // As it was proposed it is refused, before the file is read.
    let at = said.out.find("[layouts.").unwrap();
    let desk = desk.file("disburse.toml", &said.out[at..]);
    let check = ["check", "Nov copy.xlsx", "--layout", "umoja-1", "--sandbox"];
    refused(
        &desk,
        &check,
        &[
            "error: --layout umoja-1: which service_code stands for \"Airtel\" is not said yet: its line in [layouts.umoja-1.values.service_code] is empty",
            "hint: write the service there that pays such rows",
        ],
    );
    let desk = keep(desk, &said.out);
    let checked = desk.run(&check).finished(0);
    assert!(checked.out.contains("2 rows, no errors"), "{}", checked.out);
    for part in [
        "1 phone number was taken with the zero that it had lost, in line 4",
        "line 6 is the sum, 300.75: the rows above add up to it",
        "Payroll!7: skipped by layout umoja-1: no payment where \"Employee No\" is \"Prepared by:*\"",
    ] {
        assert!(checked.err.contains(part), "{part}\n{}", checked.err);
    }
}

#[test]
fn nobody_is_left_out_by_a_proposal_for_want_of_an_amount() {
    // Of a sheet without a sum the signatures are the last rows, and no reason to skip whoever has no amount.
    let desk = desk("a.xlsx", "Net Pay", |sheet| {
        for column in [0, 5] {
            sheet.clear_cell(5, column);
        }
        write(sheet, 8, &["E003", "Eva Otieno", "0712345673", "Safaricom"]);
    });
    let said = desk
        .run(&["layout", "guess", "a.xlsx", "--sandbox"])
        .finished(0);
    assert!(!said.out.contains("\nempty_amount"), "{}", said.out);
    assert!(
        said.out.contains(
            "# line 9 has no amount, or one of zero, and a reference, a name or a recipient."
        ),
        "{}",
        said.out
    );
    assert!(said.err.contains("such rows stay errors"), "{}", said.err);
    let desk = keep(desk, &said.out);
    let checked = desk
        .run(&["check", "a.xlsx", "--layout", "a-1"])
        .finished(2);
    assert!(checked.err.contains("a.xlsx:Payroll!F9"), "{}", checked.err);
}

#[test]
fn what_is_hidden_is_asked_about_and_kept() {
    let desk = desk("a.xlsx", "Net Pay", |sheet| {
        sheet.set_column_hidden(6).unwrap();
    });
    let guess = ["layout", "guess", "a.xlsx", "--sandbox"];
    refused(
        &desk,
        &guess,
        &["error: a.xlsx:Payroll!G3: has a hidden column"],
    );
    for what in ["include", "skip"] {
        let said = desk
            .run(&[&guess[..], &["--hidden", what]].concat())
            .finished(0);
        assert!(
            said.out.contains(&format!("\nhidden = \"{what}\"\n")),
            "{}",
            said.out
        );
        assert!(
            said.err.contains(&format!(
                "disburse check a.xlsx --layout a-1 --hidden {what} --sandbox"
            )),
            "{}",
            said.err
        );
    }
    refused(
        &desk,
        &[&guess[..], &["--hidden", "all"]].concat(),
        &["error: --hidden all: expected include or skip"],
    );
}

#[test]
fn merged_cells_in_the_header_leave_no_layout_to_keep() {
    let desk = desk("a.xlsx", "Net Pay", |sheet| {
        sheet
            .merge_range(2, 6, 2, 7, "Department", &Format::new())
            .unwrap();
    });
    refused(
        &desk,
        &["layout", "guess", "a.xlsx", "--sandbox"],
        &[
            "error: a.xlsx:Payroll!G3: has merged cells in the row with the names of the columns",
            "hint: unmerge them in the spreadsheet program",
        ],
    );
}

#[test]
fn a_first_file_is_led_to_its_layout() {
    let desk = desk("Nov copy.xlsx", "Net Pay", |_| {})
        .file("u v.csv", "Emp,Cell phone,Pay\nE1,0712345671,50\n");
    let next = |name: &str| {
        format!("hint: is it a file of another program? disburse layout guess '{name}' says")
    };
    refused(
        &desk,
        &["check", "Nov copy.xlsx", "--sandbox"],
        &[
            "error: Nov copy.xlsx: has unknown columns \"Employee No\"",
            &next("Nov copy.xlsx"),
        ],
    );
    refused(
        &desk,
        &["load", "u v.csv", "--batch", "b", "--sandbox"],
        &[
            "error: u v.csv: has unknown columns \"Emp\"",
            &next("u v.csv"),
        ],
    );
}

const LAYOUT: &str = r#"
[layouts.umoja-1]
sheet = "Payroll"
lost_zero = "restore"
ignore = ["*"]

[layouts.umoja-1.columns]
reference = "Employee No"
customer_names = "Employee Name"
msisdn = "Phone"
service_code = "Network"
amount = "Net Pay"

[layouts.umoja-1.values.service_code]
"Safaricom" = "B2C_MPESA"
"Airtel" = "B2C_AIRTEL"

[layouts.umoja-1.skip]
"Employee No" = ["* by: *"]

[layouts.umoja-1.total]
column = "Employee No"
marker = "Total"
"#;

fn configured(change: Change) -> Desk {
    desk("nov.xlsx", "Net Pay", change)
        .file("disburse.toml", format!("{CONFIGURATION}{LAYOUT}"))
        .variable("DISBURSE_PASSWORD", "hunter2")
}

/// The command that a load prints for the rows that it has set aside.
fn proposed(said: &str) -> Vec<String> {
    let at = said.find("then add it: disburse ").unwrap();
    let line = said[at..].lines().next().unwrap();
    let words = line.split("disburse ").nth(1).unwrap().split(' ');
    words
        .map(|word| word.trim_matches('\'').to_owned())
        .collect()
}

#[test]
fn corrections_go_in_by_the_command_that_the_program_proposes() {
    let desk = configured(|sheet| write(sheet, 3, &["E001", "Ana Were", "#7123"]));
    let said = desk
        .run(&[
            "load",
            "nov.xlsx",
            "--layout",
            "umoja-1",
            "--batch",
            "nov",
            "--on-error",
            "skip",
        ])
        .finished(0);
    let command = proposed(&said.err);
    assert!(command.contains(&"--layout".to_owned()), "{command:?}");
    // As it was written it is refused for its mistake, and for no other reason.
    let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
    let again = desk.run(&arguments).finished(2);
    assert!(
        again.err.contains("nov.corrections.xlsx:Payroll!C2"),
        "{}",
        again.err
    );
    // Mended in a program that names its sheet anew, it goes in all the same.
    let file = std::fs::File::open(desk.path("nov.corrections.xlsx")).unwrap();
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    let mut row = 0;
    disburse::intake::workbook_rows(file, |cells| {
        let cells: Vec<&str> = cells
            .iter()
            .map(|cell| if cell == "7123" { "0712345671" } else { cell })
            .collect();
        write(sheet, row, &cells);
        row += 1;
    })
    .unwrap();
    let desk = desk.file("nov.corrections.xlsx", book.save_to_buffer().unwrap());
    let added = desk.run(&arguments).finished(0);
    assert!(added.out.contains("1 payment"), "{}", added.out);
    let status = desk.run(&["status", "nov", "--json"]).json();
    assert_eq!(status["states"]["ready"]["count"], 2);
    // Any other workbook is to have the sheet that its layout names.
    let desk = desk.file("dec.xlsx", sheet_named("December"));
    refused(
        &desk,
        &["check", "dec.xlsx", "--layout", "umoja-1"],
        &["error: dec.xlsx: has no sheet \"Payroll\"; it has \"December\""],
    );
}

fn sheet_named(name: &str) -> Vec<u8> {
    sheet(name, "Net Pay", |_| {})
}

#[test]
fn a_number_whose_zero_was_put_back_is_the_whole_number() {
    let columns = LAYOUT.replace("reference = \"Employee No\"\n", "");
    let desk = configured(|_| {})
        .file("disburse.toml", format!("{CONFIGURATION}{columns}"))
        .file(
            "again.csv",
            "service_code,msisdn,amount,customer_names\nB2C_MPESA,254712345671,100.50,Ana Were\n",
        );
    desk.run(&["load", "nov.xlsx", "--layout", "umoja-1", "--batch", "nov"])
        .finished(0);
    let said = desk
        .run(&["load", "again.csv", "--batch", "again"])
        .finished(2);
    assert!(said.err.contains("repeat"), "{}", said.err);
    // Nothing is put back where no layout says so.
    let strict = LAYOUT.replace("lost_zero = \"restore\"\n", "");
    let desk = desk.file("disburse.toml", format!("{CONFIGURATION}{strict}"));
    let said = desk
        .run(&["check", "nov.xlsx", "--layout", "umoja-1"])
        .finished(2);
    assert!(said.err.contains("lost its leading zero"), "{}", said.err);
}

#[test]
fn the_period_is_a_part_of_each_reference_and_is_said_at_each_load() {
    let layout = LAYOUT.replace("lost_zero", "period = \"required\"\nlost_zero");
    let desk = configured(|_| {}).file("disburse.toml", format!("{CONFIGURATION}{layout}"));
    let load = |batch: &str, more: &[&str]| {
        let first = ["load", "nov.xlsx", "--layout", "umoja-1", "--batch", batch];
        desk.run(&[&first[..], more].concat())
    };
    let said = load("nov", &[]).finished(2);
    assert!(
        said.err
            .contains("the period that the file pays becomes a part of each"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("hint: add --period with the month"),
        "{}",
        said.err
    );
    let said = load("nov", &["--period", "Nov"]).finished(2);
    assert!(
        said.err.contains("expected a year and a month"),
        "{}",
        said.err
    );
    let said = load("nov", &["--period", "2026-11"]).finished(0);
    assert!(
        said.err
            .contains("the period 2026-11 is added to each reference"),
        "{}",
        said.err
    );
    let told = desk.run(&["explain", "nov", "E001-2026-11"]);
    assert_eq!(told.code, 0, "{told:?}");
    // Said again it is there; with another period neither the batch nor the file is read.
    load("nov", &["--period", "2026-11"]).finished(0);
    for batch in ["nov", "dec"] {
        let said = load(batch, &["--period", "2026-12"]).finished(2);
        assert!(said.err.contains("umoja-1"), "{}", said.err);
    }
    // The same people in another file, a month later.
    let next = sheet("Payroll", "Net Pay", |sheet| {
        write(
            sheet,
            3,
            &["E001", "Ana Were", "#712345671", "Safaricom", "", "#110.5"],
        );
        write(sheet, 5, &["TOTAL", "", "", "", "", "#310.75"]);
    });
    let desk = desk.file("dec.xlsx", next);
    let dec = [
        "load", "dec.xlsx", "--layout", "umoja-1", "--batch", "dec", "--period",
    ];
    let said = desk.run(&[&dec[..], &["2026-11"]].concat()).finished(2);
    assert!(said.err.contains("E001-2026-11"), "{}", said.err);
    desk.run(&[&dec[..], &["2026-12"]].concat()).finished(0);
    // It is no option for files that are read otherwise.
    for arguments in [
        &["check", "dec.xlsx", "--period", "2026-12"][..],
        &[
            "check", "dec.xlsx", "--layout", "nala-1", "--period", "2026-12",
        ],
    ] {
        let said = desk.run(arguments).finished(2);
        assert!(said.err.contains("--period 2026-12: "), "{}", said.err);
    }
}

#[test]
fn dates_that_nothing_waits_for_are_told() {
    let check = ["check", "nov.xlsx", "--layout", "umoja-1"];
    for (header, first, told) in [
        ("Payment Date", "2026-12-24", true),
        ("Payment Date", "", false),
        ("Date of Birth", "1990-01-02", false),
    ] {
        let mut book = Workbook::new();
        let sheet = book.add_worksheet();
        sheet.set_name("Payroll").unwrap();
        write(
            sheet,
            0,
            &[
                "Employee No",
                "Employee Name",
                "Phone",
                "Network",
                "Net Pay",
                header,
            ],
        );
        write(
            sheet,
            1,
            &[
                "E001",
                "Ana Were",
                "0712345671",
                "Safaricom",
                "#100.5",
                first,
            ],
        );
        write(sheet, 2, &["TOTAL", "", "", "", "#100.5"]);
        let desk = configured(|_| {}).file("nov.xlsx", book.save_to_buffer().unwrap());
        let said = desk.run(&check).finished(0);
        let text = "column \"Payment Date\" is not read by layout umoja-1: 1 row has a date in it, but no payment waits for its date";
        assert_eq!(said.err.contains(text), told, "{header}: {}", said.err);
        assert_eq!(
            said.err.contains("is not read by"),
            told,
            "{header}: {}",
            said.err
        );
    }
}

#[test]
fn the_example_of_a_template_is_not_set_aside() {
    for form in ["--csv", "--xlsx"] {
        let desk = Desk::new();
        let made = desk
            .run(&["template", "mobile_money", form, "--sandbox"])
            .finished(0);
        let name = made.out.trim();
        refused(
            &desk,
            &[
                "load",
                name,
                "--batch",
                "b",
                "--sandbox",
                "--on-error",
                "skip",
            ],
            &[
                "this is the example row of a template, and no payment: remove it from the file; nothing was loaded",
            ],
        );
    }
}

#[test]
fn a_date_of_a_layout_that_comes_along_is_told_as_it_is_paid_at_once() {
    let bank = "bank_msisdn = \"254712345678\"\ntime_zone";
    let services = "\n[services.BANK]\nkind = \"bank\"\ncurrency_code = \"KES\"\n";
    let desk = Desk::new()
        .file(
            "disburse.toml",
            CONFIGURATION.replace("time_zone", bank) + services,
        )
        .variable("DISBURSE_PASSWORD", "hunter2");
    let name = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/samples/layouts/erpnext-bank-remittance-1.csv"
    );
    let said = desk
        .run(&[
            "check",
            name,
            "--layout",
            "erpnext-bank-remittance-1",
            "--service",
            "BANK",
        ])
        .finished(0);
    assert!(
        said.err.contains("column \"Payment Date\" is not read by layout erpnext-bank-remittance-1: 2 rows have dates in it, but no payment waits for its date"),
        "{}",
        said.err
    );
}
