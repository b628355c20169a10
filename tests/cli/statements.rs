//! Statements by a layout of the configuration, out of workbooks, packed and encrypted; and those of the samples.

use std::collections::BTreeMap;
use std::io::Write;

use disburse::domain::{Day, Timestamp, WireZone};
use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook};

use crate::desk::{CONFIGURATION, Desk, Said};
use crate::reconcile::{payments, today};

#[path = "../../examples/make_samples/statements.rs"]
mod samples;

const STATEMENTS: &str = r#"
[files]
decrypt = ["base64", "-d"]

[statements.wallet-1]
currency = "KES"
date_format = "%d/%m/%Y"
decimal = ","
delimiter = ";"
header = 3
paid_out = true
booked = ["Done"]

[statements.wallet-1.columns]
date = "Completed"
amount = "Sum"
reference = "Details"
recipient = "To"
status = "State"
"#;

/// A desk whose batch waits, and the identifier of its first payment.
fn desk() -> (Desk, String, String) {
    let desk = Desk::waiting();
    let id = payments(&desk)["R-1"].0.clone();
    let day = today(&desk);
    (
        desk.file("disburse.toml", format!("{CONFIGURATION}{STATEMENTS}")),
        id,
        day,
    )
}

fn turned(day: &str) -> String {
    day.split('-').rev().collect::<Vec<_>>().join("/")
}

fn found(said: &Said) -> BTreeMap<String, u64> {
    let json = said.json();
    let found = json["found"].as_object().unwrap().iter();
    found
        .map(|(kind, tally)| (kind.clone(), tally["count"].as_u64().unwrap()))
        .collect()
}

#[test]
fn a_statement_is_read_by_a_layout_and_options_come_before_it() {
    let (desk, id, day) = desk();
    let text = format!(
        "Mfano;;;;\nto {0};;;;\nCompleted;Sum;Details;To;State\n{0};100,00;Pay {id};0712345678;Done\n",
        turned(&day)
    );
    let desk = desk.file("s.csv", text);
    let layout = ["reconcile", "b", "s.csv", "--layout", "wallet-1", "--json"];
    let said = desk.run(&layout).finished(3);
    assert_eq!(found(&said)["open_paid_there"], 1, "{said:?}");
    for (more, with) in [
        (
            &["--currency", "UGX"][..],
            "no line of the statement is in a currency",
        ),
        (&["--header", "4"], "s.csv:4: these headers have no"),
        (
            &["--booked", "Ok"],
            "s.csv:4: status: nothing says what \"Done\" means",
        ),
        (
            &["--column", "amount=Total"],
            "s.csv:3: these headers have no \"Total\"",
        ),
        (
            &["--date-format", "%Y-%m-%d"],
            "s.csv:4: date: expected a date",
        ),
        (
            &["--decimal", "."],
            "s.csv:4: amount: expected an amount, found \"100,00\"",
        ),
        (&["--format", "camt"], "--column: expected nothing"),
    ] {
        let said = desk.run(&[&layout[..], more].concat()).finished(2);
        assert!(said.err.contains(with), "{more:?}: {}", said.err);
    }
    let turned = desk
        .run(&[&layout[..], &["--paid-out=false"]].concat())
        .finished(3);
    assert!(
        !found(&turned).contains_key("open_paid_there"),
        "{turned:?}"
    );
    for (name, with) in [
        ("walet-1", "did you mean \"wallet-1\"?"),
        ("nala-1", "is a layout of batch files"),
        ("other", "known are wallet-1"),
    ] {
        let said = desk
            .run(&["reconcile", "b", "s.csv", "--layout", name])
            .finished(2);
        assert!(said.err.contains(with), "{}", said.err);
    }
    let said = desk
        .run(&["check", "s.csv", "--layout", "wallet-1"])
        .finished(2);
    assert!(
        said.err.contains("reads statements, and no batch file"),
        "{}",
        said.err
    );
}

#[test]
fn a_packed_or_encrypted_statement_is_the_one_inside() {
    let (desk, id, day) = desk();
    let text = format!("date,amount,reference\n{day},-100.00,{id}\n");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("june.csv", options).unwrap();
    zip.write_all(text.as_bytes()).unwrap();
    let zip = zip.finish().unwrap().into_inner();
    let desk = desk
        .file("s.csv", &text)
        .file("s.csv.gz", &packed)
        .file("s.zip", &zip)
        .file("s.csv.gz.gpg", data_encoding::BASE64.encode(&packed))
        .file("cut.gz", &packed[..packed.len() - 3]);
    let digest = |name: &str| {
        let said = desk
            .run(&["reconcile", "b", name, "--currency", "KES", "--json"])
            .finished(3);
        assert_eq!(found(&said)["open_paid_there"], 1, "{name}");
        said.json()["digest"].as_str().unwrap().to_owned()
    };
    let plain = digest("s.csv");
    for name in ["s.csv.gz", "s.zip", "s.csv.gz.gpg"] {
        assert_eq!(digest(name), plain, "{name}");
    }
    let said = desk
        .run(&["reconcile", "b", "s.zip", "--currency", "KES"])
        .finished(3);
    assert!(said.err.contains("unpacked from ZIP"), "{}", said.err);
    assert!(
        said.out.contains("was compared with the batch before"),
        "{}",
        said.out
    );
    let said = desk
        .run(&["reconcile", "b", "cut.gz", "--currency", "KES"])
        .finished(2);
    assert!(said.err.contains("cut.gz"), "{}", said.err);
    let said = desk
        .shell("disburse reconcile b - --currency KES < s.csv.gz")
        .finished(3);
    assert!(
        said.out.contains("open here, and paid in the statement"),
        "{}",
        said.out
    );
}

/// A sheet with one payment, and what is odd in it.
fn book(id: &str, day: &str, odd: &str) -> Vec<u8> {
    let mut book = Workbook::new();
    let date = Format::new().set_num_format("dd/mm/yyyy");
    let sheet = book.add_worksheet();
    sheet.set_name("June").unwrap();
    sheet.write(0, 0, "Statement of the wallet").unwrap();
    for (column, name) in (0..).zip(["Date", "Amount", "Reference", "Recipient", "Remark"]) {
        sheet.write(2, column, name).unwrap();
    }
    let moment = ExcelDateTime::parse_from_str(day).unwrap();
    sheet.write_with_format(3, 0, &moment, &date).unwrap();
    sheet.write(3, 1, -100.0).unwrap();
    sheet.write(3, 2, id).unwrap();
    sheet.write(3, 3, 254_712_345_678_f64).unwrap();
    match odd {
        "formula" => {
            sheet
                .write(3, 1, Formula::new("=-50*2").set_result("-100"))
                .unwrap();
        }
        "remark" => {
            sheet
                .write(3, 4, Formula::new("=1+1").set_result("2"))
                .unwrap();
        }
        "hidden" => {
            sheet.set_row_hidden(3).unwrap();
        }
        "digits" => {
            sheet.write(3, 2, 1_234_567_890_123_456_f64).unwrap();
        }
        "dated" => {
            sheet.write_with_format(3, 1, &moment, &date).unwrap();
        }
        "merged" => {
            sheet
                .merge_range(3, 1, 4, 1, "-100", &Format::new())
                .unwrap();
        }
        "sum" => {
            sheet.write(4, 0, "Total").unwrap();
            sheet
                .write(4, 1, Formula::new("=SUM(B4:B4)").set_result("-100"))
                .unwrap();
        }
        "wrong sum" => {
            sheet.write(4, 0, "Total").unwrap();
            sheet.write(4, 1, -101).unwrap();
        }
        "several" => {
            book.add_worksheet().write(0, 0, "more").unwrap();
        }
        _ => {}
    }
    book.save_to_buffer().unwrap()
}

#[test]
fn a_sheet_is_read_as_batches_are_and_its_cells_are_named() {
    let (desk, id, day) = desk();
    let reconcile = |odd: &str, more: &[&str]| {
        std::fs::write(desk.path("s.xlsx"), book(&id, &day, odd)).unwrap();
        desk.run(
            &[
                &["reconcile", "b", "s.xlsx", "--currency", "KES", "--json"][..],
                more,
            ]
            .concat(),
        )
    };
    for (odd, with, more) in [
        (
            "formula",
            "s.xlsx:June!B4: amount: is a formula",
            Some(&["--formulas", "stored"][..]),
        ),
        (
            "hidden",
            "s.xlsx:June!A4: has a hidden row",
            Some(&["--hidden", "include"]),
        ),
        (
            "digits",
            "s.xlsx:June!C4: reference: is a number of more than 15 digits",
            None,
        ),
        (
            "wrong sum",
            "s.xlsx:June!A5: the statement does not add up",
            None,
        ),
        ("dated", "s.xlsx:June!B4: amount: is a date", None),
        (
            "merged",
            "s.xlsx:June!B4: amount: is one of several cells that are merged",
            None,
        ),
        (
            "several",
            "several sheets with data",
            Some(&["--sheet", "June"]),
        ),
    ] {
        let said = reconcile(odd, &[]).finished(2);
        assert!(said.err.contains(with), "{odd}: {}", said.err);
        assert!(
            said.err.contains("nothing was recorded"),
            "{odd}: {}",
            said.err
        );
        if let Some(more) = more {
            let said = reconcile(odd, more).finished(3);
            assert_eq!(found(&said)["open_paid_there"], 1, "{odd}: {said:?}");
        }
    }
    // What decides nothing may be what it likes, and numbers have a point whatever the texts have.
    for (odd, more) in [("", &[][..]), ("sum", &[]), ("remark", &["--decimal", ","])] {
        let said = reconcile(odd, more).finished(3);
        assert_eq!(found(&said)["open_paid_there"], 1, "{odd}: {said:?}");
        assert_eq!(said.json()["format"], "XLSX");
    }
    let said = reconcile("hidden", &["--hidden", "skip"]).finished(2);
    assert!(said.err.contains("no lines"), "{}", said.err);
}

#[test]
fn the_statements_of_the_samples_are_those_that_are_made_and_reconcile() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/samples/");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    let (refunds, bank) = (read("refunds.csv"), read("bank.csv"));
    for (name, bytes) in samples::all(&refunds, &bank, samples::DAY).unwrap() {
        let kept = std::fs::read(format!("{folder}statements/{name}")).unwrap();
        assert!(kept == bytes, "{name}: cargo run --example make_samples");
    }
    // As a rehearsal of today, held against statements of today.
    let desk = Desk::new()
        .sample("refunds.csv")
        .sample("bank.csv")
        .file("disburse.toml", read("statements/statements.toml"));
    for (file, batch) in [
        ("refunds.csv", samples::WALLET_BATCH),
        ("bank.csv", samples::BANK_BATCH),
    ] {
        desk.run(&["load", file, "--batch", batch, "--sandbox"])
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
        let said = desk.run(&run);
        assert!(matches!(said.code, 0 | 3 | 4), "{said:?}");
    }
    let nairobi = WireZone::from_name("Africa/Nairobi").unwrap();
    let day = Day::of(Timestamp::now(), &nairobi).to_string();
    let mut told = String::new();
    for (name, bytes) in samples::all(&refunds, &bank, &day).unwrap() {
        std::fs::write(desk.path(name), bytes).unwrap();
        let (batch, more) = match name.starts_with("wallet") {
            true => (samples::WALLET_BATCH, &["--layout", "wallet-1"][..]),
            false => (samples::BANK_BATCH, &[][..]),
        };
        let said = desk
            .run(&[&["reconcile", batch, name, "--json"][..], more].concat())
            .finished(3);
        let json = said.json();
        // How far the sandbox has come by the end of the run hangs on the machine.
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for (kind, count) in found(&said) {
            let kind = match kind.as_str() {
                "agreed" | "open_paid_there" => "paid there".to_owned(),
                "missing_there" | "open_missing" => "not there".to_owned(),
                _ => kind,
            };
            *kinds.entry(kind).or_default() += count;
        }
        told.push_str(&format!(
            "{name}: balanced {}, fees {}, {kinds:?}\n",
            json["balanced"], json["fees"]
        ));
    }
    insta::assert_snapshot!(told);
    desk.run(&["verify", samples::WALLET_BATCH]).finished(0);
}

/// What a statement cannot mean is refused, and not read as something else.
#[test]
fn a_statement_that_was_read_the_wrong_way_round_is_refused() {
    let desk = Desk::waiting();
    let known = crate::reconcile::payments(&desk);
    let day = crate::reconcile::today(&desk);
    let id = &known["R-1"].0;
    let refused = |statement: &str, more: &[&str], with: &str| {
        std::fs::write(desk.path("s.csv"), statement).unwrap();
        let given = ["reconcile", "b", "s.csv", "--currency", "KES"];
        let said = desk.run(&[&given, more].concat()).finished(2).err;
        assert!(said.contains(with), "{said}");
    };
    let head = "date,amount,reference,recipient\n";
    // Amounts above zero that were paid out, and nobody said so.
    refused(
        &format!("{head}{day},100.00,{id},\n"),
        &[],
        "the statement shows more payments of batch b come back than leave: 1 payment would have come back",
    );
    refused(
        &format!("{head}{day},100.00,,2.54712E+11\n"),
        &["--paid-out"],
        "s.csv:2: recipient: a spreadsheet has taken it for a number and rounded it, found \"2.54712E+11\"",
    );
    refused(
        &format!("{head}{day},1.200,{id},\n"),
        &["--paid-out"],
        "s.csv:2: amount: three digits stand behind its sign, which may be thousands, found \"1.200\"",
    );
}
