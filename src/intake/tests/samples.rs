//! The files in `samples/`.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use super::*;

fn sample(name: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("samples")
        .join(name);
    let options = Options {
        format: Format::from_path(&path),
        ..Options::default()
    };
    let reader = Reader::open(File::open(path).unwrap(), &options, rules()).unwrap();
    reader.map(Result::unwrap).collect()
}

#[test]
fn the_samples_are_valid() {
    for (name, rows) in [
        ("payroll.csv", 1000),
        ("refunds.csv", 200),
        ("nightly.json", 150),
        ("nightly.jsonl", 150),
    ] {
        let found = sample(name);
        assert_eq!(errors(&found), [""; 0], "{name}");
        assert_eq!(found.len(), rows, "{name}");
        let references: BTreeSet<&str> = found
            .iter()
            .map(|row| good(row).reference.as_ref().unwrap().as_str())
            .collect();
        assert_eq!(
            references.len(),
            rows,
            "{name}: every reference is there once"
        );
    }
}

#[test]
fn some_refunds_are_equal_in_all_but_their_reference() {
    let rows = sample("refunds.csv");
    let contents: BTreeSet<[u8; 32]> = rows
        .iter()
        .map(|row| {
            let mut instruction = good(row).clone();
            instruction.reference = None;
            instruction.content_hash()
        })
        .collect();
    assert!(contents.len() < rows.len());
}

#[test]
fn every_mistake_of_the_sample_is_found() {
    let rows = sample("mistakes.csv");
    let found = errors(&rows);
    let expected = [
        "3: msisdn: expected 12 digits for KE, found 11 (\"25471234567\")",
        "4: msisdn: a spreadsheet turned this number into scientific notation",
        "5: msisdn: a national number that lost its leading zero",
        "6: msisdn: is a number of UG, the row says KE",
        "7: msisdn: no such number in the numbering plan of KE",
        "8: msisdn: expected a phone number",
        "9: service_code: unknown service \"B2C_MPSEA\", did you mean \"B2C_MPESA\"?",
        "10: amount: has thousands separators; write 1234.50 (\"1,234.50\")",
        "11: amount: has thousands separators; write 1234.50 (\"1.234,50\")",
        "12: amount: has thousands separators; write 1234.50 (\"1 234.50\")",
        "13: amount: has a decimal comma; write 1234.50",
        "14: amount: has a currency sign; write 1500",
        "15: amount: is a date",
        "16: amount: a formula failed in the spreadsheet",
        "17: amount: KES has 2 decimals, found 3 (\"10.005\")",
        "18: amount: must not be negative",
        "19: amount: must be more than zero",
        "20: amount: expected an amount",
        "21: amount: expected at least 10.00 KES for B2C_MPESA, found 5.00",
        "22: amount: expected at most 250000.00 KES for B2C_MPESA, found 300000.00",
        "23: currency_code: expected KES, which B2C_MPESA pays, found \"UGX\"",
        "24: currency_code: expected three letters of ISO 4217",
        "25: country_code: expected capital letters, KE",
        "26: expected 7 cells as in the header, found 6",
        "27: expected 7 cells as in the header, found 8",
        "28: text follows the closing quote in narration",
        "29: narration: must not contain the character U+0007",
        "30: narration: expected at most 4096 bytes in a cell, found 5006",
        "31: reference: a spreadsheet turned this number into scientific notation",
        "32: service_code: unknown service",
        "32: msisdn: expected 12 digits",
        "32: amount: has a comma that may separate thousands or decimals",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found} instead of {expected}");
    }
    // What is left is right by itself: references used twice and equal rows show when the whole file was seen.
    assert_eq!(
        rows.iter()
            .filter(|row| matches!(row, Row::Good(_)))
            .count(),
        6
    );
}

#[test]
fn the_workbook_of_the_samples_is_valid() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/payroll.xlsx");
    let input = File::open(path).unwrap();
    let reader = Reader::open_workbook(input, &Options::default(), rules()).unwrap();
    let found: Vec<Row> = reader.map(Result::unwrap).collect();
    assert_eq!(errors(&found), [""; 0]);
    assert_eq!(found.len(), 40);
}
