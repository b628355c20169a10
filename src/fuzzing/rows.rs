//! Batch files: CSV, JSON arrays and JSON lines.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::file::File;
use super::reference;
use crate::domain::{
    Amount, AmountField, Country, Currency, DATE_RECEIVED, Instruction, Money, NOT_BEFORE, ORIGIN,
    PaymentKind, ServiceCode, WireZone,
};
use crate::intake::{
    COLUMNS, Encoding, FIELD_BYTES_MAX, Format, Options, ROW_BYTES_MAX, Reader, Row, RowError,
    Rules, ServiceRule,
};
use crate::ledger::shield::shielded;

/// The bank columns and the members they become.
const BANK: [&str; 4] = [
    "bank_code",
    "bank_name",
    "bank_account_name",
    "bank_account_number",
];
/// How many good rows of one file are written and read again.
const AGAIN_MAX: usize = 8;

/// A service of every kind.
pub(super) static RULES: LazyLock<Arc<Rules>> = LazyLock::new(|| {
    let service = |code: &str, kind, currency: &str, min| {
        let rule = ServiceRule {
            kind,
            currency: Currency::from_code(currency),
            min: Amount::from_minor(min),
            max: Amount::from_minor(500_000_000_000),
            account_format: None,
            takes_landlines: false,
        };
        (ServiceCode::parse(code).unwrap(), rule)
    };
    Arc::new(Rules {
        services: BTreeMap::from([
            service("B2C_MPESA", PaymentKind::MobileMoney, "KES", 1_000),
            service("B2C_MTN_UG", PaymentKind::MobileMoney, "UGX", 500),
            service("AIRTIME", PaymentKind::Airtime, "KES", 0),
            service("BANK", PaymentKind::Bank, "KES", 0),
            service("RTGS", PaymentKind::Rtgs, "", 0),
            service("POWER", PaymentKind::BillPrepaid, "KES", 0),
            service("WATER", PaymentKind::BillPostpaid, "", 0),
        ]),
        default_service: ServiceCode::parse("B2C_MPESA").ok(),
        default_country: Country::from_code("KE"),
        default_currency: Currency::from_code("KES"),
        columns: BTreeMap::from([("Phone".to_owned(), "msisdn".to_owned())]),
        zone: WireZone::from_name("Africa/Nairobi"),
        ..Rules::default()
    })
});

/// A CSV file: each row of the file is one row, good or with its error, and no cell is lost or moved.
pub fn csv(bytes: &[u8]) {
    for encoding in [Encoding::Utf8, Encoding::Windows1252] {
        let options = Options {
            format: Some(Format::Csv),
            encoding,
            sheet: crate::intake::SheetOptions::default(),
            layout: None,
        };
        let file = checked(bytes, &options);
        if encoding == Encoding::Utf8 {
            reference::csv(bytes, &file, &options, &RULES);
        }
    }
}

/// A JSON array or JSON lines: accepted only where the general reader accepts it, and with as many rows.
pub fn json(bytes: &[u8]) {
    let options = Options {
        format: Some(Format::Json),
        ..Options::default()
    };
    let file = checked(bytes, &options);
    reference::json(bytes, &file);
}

/// A pain.001 message: whatever its elements hold, its totals are those of its rows, and each row is good or has its error.
pub fn pain001(bytes: &[u8]) {
    let options = Options {
        format: Some(Format::Pain001),
        ..Options::default()
    };
    let file = checked(bytes, &options);
    let text = String::from_utf8_lossy(bytes);
    if file.error.is_none() {
        // Nothing is paid out of a file that was not read to its end.
        assert!(text.contains("CstmrCdtTrfInitn") || text.contains('\0'));
    }
}

/// Hands out `step` bytes at a time, so that everything is torn somewhere.
struct Drip(Cursor<Vec<u8>>, usize);

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}

fn read(bytes: &[u8], options: &Options, step: usize) -> File {
    let input = Drip(Cursor::new(bytes.to_vec()), step);
    let mut file = File {
        form: None,
        rows: Vec::new(),
        error: None,
    };
    match Reader::open(input, options, Arc::clone(&RULES)) {
        Ok(mut reader) => {
            file.form = Some(reader.form());
            for row in reader.by_ref() {
                match row {
                    Ok(row) => file.rows.push(row),
                    Err(error) => file.error = Some(error),
                }
            }
            for note in reader.notes() {
                super::assert_shown(&note, 700);
            }
        }
        Err(error) => file.error = Some(error),
    }
    file
}

fn checked(bytes: &[u8], options: &Options) -> File {
    let file = read(bytes, options, usize::MAX);
    // In small pieces it is the same file.
    let torn = read(bytes, options, 1 + bytes.len() % 7 + bytes.len() / 64);
    assert_eq!(torn.form, file.form);
    assert_eq!(torn.rows, file.rows);
    let told = |file: &File| {
        file.error
            .as_ref()
            .map(|error| (error.line(), error.to_string()))
    };
    // The delimiter is looked for in what has arrived of the header, 4 KiB at least: what is wrong with a longer one may be
    // told in other words.
    if file.form.is_some() || bytes.len() < 4_096 {
        assert_eq!(told(&torn), told(&file));
    } else {
        assert!(torn.error.is_some() && file.error.is_some());
    }

    let lines = 1 + bytes
        .iter()
        .filter(|byte| matches!(byte, b'\n' | b'\r'))
        .count() as u64;
    let mut last = 0;
    for row in &file.rows {
        let line = match row {
            Row::Good(instruction) => instruction.line,
            Row::Unpriced(row) => row.line,
            Row::Bad(bad) | Row::Skipped(bad) => bad.line,
        };
        // Two objects of an array may share a line.
        assert!(
            line > last
                || line == last && matches!(options.format, Some(Format::Json | Format::Pain001)),
            "line {line} after {last}"
        );
        assert!(line <= lines, "line {line} of {lines}");
        last = line;
        match row {
            Row::Good(instruction) => good(instruction, instruction.money.currency),
            Row::Unpriced(row) => good(row, row.money),
            Row::Bad(bad) | Row::Skipped(bad) => {
                assert!(!bad.errors.is_empty(), "a bad row says why");
                for error in &bad.errors {
                    assert_eq!(error.line, line);
                    told_of_row(error);
                }
                super::assert_shown(&bad.error_text(), 64 * 1024);
            }
        }
    }
    if let Some(error) = &file.error {
        super::assert_shown(&error.to_string(), 4_096);
        super::assert_shown(&error.hint().unwrap_or_default(), 1_024);
        assert!(
            error.line().is_none_or(|line| (1..=lines).contains(&line)),
            "{error}"
        );
    }
    again(&file);
    file
}

fn told_of_row(error: &RowError) {
    super::assert_shown(&error.to_string(), 1_024);
    assert!(!error.message.is_empty());
}

/// What is good fits the wire as it is.
fn good<M: AmountField>(row: &Instruction<M>, currency: Currency) {
    let digits = row.money.digits();
    if !digits.is_empty() {
        let amount = Amount::parse(&digits, currency).expect("an amount reads back");
        assert_eq!(Money { amount, currency }.to_string(), digits);
    }
    let texts = [
        &row.account_number,
        &row.narration,
        &row.customer_names,
        &row.invoice_number,
        &row.payment_mode,
        &row.hub_id,
    ];
    let extra = row.extra.iter().map(|(_, value)| value.as_str());
    for text in texts.into_iter().map(|text| text.as_str()).chain(extra) {
        assert!(
            text.len() <= FIELD_BYTES_MAX && !text.contains(char::is_control),
            "{text:?}"
        );
        assert_eq!(text.trim().len(), text.len(), "{text:?}");
    }
    assert!(
        row.extra
            .iter()
            .all(|(name, value)| !name.is_empty() && !value.is_empty())
    );
    let control = |(name, _): &(String, String)| !is_inner(name) && name.contains(char::is_control);
    assert!(!row.extra.iter().any(control));
    for reserved in ["pushToOriginator", "callbackUrl"] {
        assert!(
            row.extra
                .iter()
                .all(|(name, _)| !name.eq_ignore_ascii_case(reserved))
        );
    }
    assert!(!format!("{row:?}").contains(row.msisdn.as_str()));
}

/// A good row that is written as CSV or as JSON is read as the same row.
fn again(file: &File) {
    let mut written: Vec<(Vec<Cell>, &Row)> = Vec::new();
    for row in &file.rows {
        let cells = match row {
            Row::Good(instruction) => cells(instruction),
            Row::Unpriced(row) => cells(row),
            Row::Bad(_) | Row::Skipped(_) => continue,
        };
        let whole: usize = cells.iter().map(|cell| 2 * cell.text.len() + 24).sum();
        // Split over many columns, a row may hold more than it may in one cell.
        let fits = cells.iter().all(|cell| cell.text.len() <= FIELD_BYTES_MAX);
        if fits && whole <= ROW_BYTES_MAX {
            written.push((cells, row));
        }
        if written.len() == AGAIN_MAX {
            break;
        }
    }
    if written.is_empty() {
        return;
    }
    let mut lines = String::new();
    let mut sheet = ::csv::Writer::from_writer(Vec::new());
    let header: Vec<&str> = COLUMNS.into_iter().chain(["extra"]).collect();
    sheet.write_record(&header).unwrap();
    for (cells, _) in &written {
        let members = cells.iter().map(|cell| match cell.is_json {
            true => format!("\"{}\":{}", cell.name, cell.text),
            false => format!("\"{}\":{}", cell.name, Value::from(cell.text.as_str())),
        });
        lines.push_str(&format!("{{{}}}\n", members.collect::<Vec<_>>().join(",")));
        let cell = |name: &&str| {
            let cell = cells.iter().find(|cell| cell.name == *name);
            // The columns are those of a file that is mended, in which shields come off.
            cell.map_or_else(String::new, |cell| shielded(&cell.text).into_owned())
        };
        sheet.write_record(header.iter().map(cell)).unwrap();
    }
    let sheet = sheet.into_inner().unwrap();
    for (bytes, format) in [
        (lines.into_bytes(), Format::JsonLines),
        (sheet, Format::Csv),
    ] {
        let options = Options {
            format: Some(format),
            ..Options::default()
        };
        let read = read(&bytes, &options, usize::MAX);
        assert!(read.error.is_none(), "{:?}", read.error);
        assert_eq!(read.rows.len(), written.len());
        for (found, (_, expected)) in read.rows.iter().zip(&written) {
            assert_same(found, expected, &bytes);
        }
    }
}

fn assert_same(found: &Row, expected: &Row, bytes: &[u8]) {
    let same = match (found, expected) {
        (Row::Good(found), Row::Good(expected)) => is_same(found, expected),
        (Row::Unpriced(found), Row::Unpriced(expected)) => is_same(found, expected),
        _ => false,
    };
    let errors = match found {
        Row::Bad(bad) | Row::Skipped(bad) => bad.error_text(),
        _ => String::new(),
    };
    assert!(
        same,
        "not the same again: {errors} {:?}",
        String::from_utf8_lossy(bytes)
    );
}

fn is_same<M: AmountField + Clone + PartialEq>(
    found: &Instruction<M>,
    expected: &Instruction<M>,
) -> bool {
    let mut found = found.clone();
    found.line = expected.line;
    found == *expected && found.content_hash() == expected.content_hash()
}

/// Returns whether a member of `extra` is none of `extraData`.
fn is_inner(name: &str) -> bool {
    [DATE_RECEIVED, NOT_BEFORE, ORIGIN].contains(&name)
}

/// One column of a row.
struct Cell {
    name: &'static str,
    text: String,
    is_json: bool,
}

/// Returns the row by the names of its columns.
fn cells<M: AmountField>(row: &Instruction<M>) -> Vec<Cell> {
    let kind = RULES.services.get(&row.service).map(|rule| rule.kind);
    let is_bank = matches!(kind, Some(PaymentKind::Bank | PaymentKind::Rtgs));
    let (bank, extra) = row.extra.split_at(if is_bank { BANK.len() } else { 0 });
    let account = if is_bank { "" } else { &row.account_number };
    let reference = row.reference.as_ref();
    let document = row.document.as_ref();
    let digits = row.money.digits();
    let own = [
        ("reference", reference.map_or("", |name| name.as_str())),
        ("service_code", row.service.as_str()),
        ("msisdn", row.msisdn.as_str()),
        ("account_number", account),
        ("amount", &digits),
        ("currency_code", row.money.currency().code()),
        ("country_code", row.country.code()),
        ("narration", &row.narration),
        ("customer_names", &row.customer_names),
        ("invoice_number", &row.invoice_number),
        ("payment_mode", &row.payment_mode),
        ("hub_id", &row.hub_id),
        ("document", document.map_or("", |path| &path.written)),
    ];
    let bank = bank.iter().map(|(_, value)| value.as_str());
    let mut cells: Vec<Cell> = own
        .into_iter()
        .chain(BANK.into_iter().zip(bank))
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| Cell {
            name,
            text: text.to_owned(),
            is_json: false,
        })
        .collect();
    let inner = [
        ("date_payment_received", row.date_received()),
        ("not_before", row.not_before_text()),
        ("origin", row.origin()),
    ];
    for (name, text) in inner {
        cells.extend(text.map(|text| Cell {
            name,
            text: text.to_owned(),
            is_json: false,
        }));
    }
    let extra: Vec<_> = extra.iter().filter(|(name, _)| !is_inner(name)).collect();
    if !extra.is_empty() {
        // The order of the members is the order they are sent in.
        let members = extra.iter().map(|(name, value)| {
            format!(
                "{}:{}",
                Value::from(name.as_str()),
                Value::from(value.as_str())
            )
        });
        cells.push(Cell {
            name: "extra",
            text: format!("{{{}}}", members.collect::<Vec<_>>().join(",")),
            is_json: true,
        });
    }
    cells
}
