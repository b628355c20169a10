//! Reports: texts that others wrote are shown, never run.

use std::sync::LazyLock;

use crate::domain::{
    Amount, BatchName, ControlTotals, Currency, Money, Originator, ServiceCode, Timestamp,
};
use crate::ledger::schedule::Scheduled;
use crate::report::{BatchHeader, CalendarWaits, Entry, StateName, Writer};

/// The three files of a report.
struct Files {
    sheet: String,
    document: String,
    page: String,
}

/// How much markup a page has: `<`, `>`, quotes, and `&` that begin no entity.
#[derive(Debug, PartialEq, Eq)]
struct Markup([usize; 4]);

/// What a page may look like: texts that are empty in the file, or on the page, are left out of it.
static EXPECTED: LazyLock<Vec<Markup>> = LazyLock::new(|| {
    let texts = ["", "x", "\u{1b}", "Token 12345678901234567890"];
    texts.iter().map(|text| markup(&write(text).page)).collect()
});

/// One text in every column that takes one: no formula, no markup, no control character, and nothing lost.
pub fn report(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let files = write(&text);
    sheet(&files.sheet, &text);

    let document: serde_json::Value = serde_json::from_str(&files.document).unwrap();
    for name in ["reference", "receiver_narration", "status_description"] {
        let found = document["payments"][0][name].as_str();
        assert_eq!(found.unwrap_or_default(), text, "{name}");
    }

    assert!(
        EXPECTED.contains(&markup(&files.page)),
        "{:?} of {text:?}",
        markup(&files.page)
    );
    let steers = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    // The page's own script is not of the text.
    let own = files.page.rfind("<script>").unwrap();
    assert_eq!(files.page[..own].find(steers), None, "{text:?}");
}

fn sheet(sheet: &str, text: &str) {
    let mut reader = ::csv::Reader::from_reader(sheet.as_bytes());
    let records: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 1, "one payment is one row");
    let steers = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    for cell in &records[0] {
        let begins = cell.trim_start().chars().next().unwrap_or(' ');
        assert!(
            !matches!(begins, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠'),
            "{cell:?}"
        );
        for part in cell.split([';', '|', '\t', '\n', '\r']).skip(1) {
            let begins = part.trim_start().chars().next().unwrap_or(' ');
            assert!(!matches!(begins, '=' | '+' | '-' | '@'), "{cell:?}");
        }
        assert!(
            !cell.starts_with(['\t', '\r']) && !cell.contains(steers),
            "{cell:?}"
        );
    }
    let kept: String = text.chars().filter(|c| !steers(*c)).collect();
    let cell = &records[0][1];
    assert!(is_but_shielded(cell, &kept), "{cell:?} of {text:?}");
}

/// Whether a cell says what it is to say, with apostrophes of ours at its beginning and behind what may separate cells.
fn is_but_shielded(cell: &str, kept: &str) -> bool {
    let mut rest = kept.chars().peekable();
    let mut separated = true;
    for c in cell.chars() {
        if rest.peek() == Some(&c) {
            rest.next();
        } else if c != '\'' || !separated {
            return false;
        }
        separated = matches!(c, ';' | '|' | '\t' | '\n' | '\r');
    }
    rest.next().is_none()
}

fn markup(page: &str) -> Markup {
    let count = |c: char| page.matches(c).count();
    // Texts stand in the script element too, quoted as JSON: a quote there is an escape.
    let (before, rest) = page
        .split_once("<script type=\"application/json\"")
        .unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    let quotes = before.matches('"').count() + after.matches('"').count();
    let entity = |rest: &str| {
        let name: String = rest
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '#')
            .collect();
        !name.is_empty() && rest[name.len()..].starts_with(';')
    };
    let bare = before
        .split('&')
        .skip(1)
        .filter(|rest| !entity(rest))
        .count();
    Markup([count('<'), count('>'), quotes, bare])
}

fn write(text: &str) -> Files {
    let currency = Currency::from_code("KES").unwrap();
    let money = Money {
        amount: Amount::from_minor(4_250_050).unwrap(),
        currency,
    };
    let service = ServiceCode::parse("B2C_MPESA").unwrap();
    let mut control = ControlTotals::default();
    control.add(&service, money);
    let at = |millis: i64| Timestamp::from_millis(1_795_845_600_000 + millis);
    let header = BatchHeader {
        lists_all: false,
        purpose: crate::ledger::Purpose::Gateway,
        name: BatchName::parse("payroll").unwrap(),
        originator: Originator::parse("Acme").unwrap(),
        gateway: "https://gateway.example".to_owned(),
        account: "acme".to_owned(),
        zone: crate::domain::WireZone::utc(),
        created_at: at(0),
        loads: Vec::new(),
        failed_rows: "reports/b/failed.csv".to_owned(),
        control,
        rejected_lines: 0,
        held_lanes: Vec::new(),
        people: Vec::new(),
        paid_twice: Vec::new(),
        paid_twice_count: 0,
        scheduled: Scheduled::default(),
        waits: CalendarWaits::default(),
        behind: None,
        at_work: None,
        statements: Vec::new(),
        evidence_rows: 2,
        evidence_head: "0".repeat(64),
    };
    let entry = Entry {
        line: 2,
        reference: text,
        id: "D6XG76YFHSD4N4GSMC3R7K7EGS",
        service_code: service.as_str(),
        msisdn: "254700000001",
        account_number: text,
        money: Some(money),
        state: StateName::Failed,
        status_code: Some(141),
        status_description: text,
        gateway_transaction_id: text,
        receipt_number: text,
        receiver_narration: text,
        attempts: 1,
        posted_at: Some(at(250)),
        settled_at: Some(at(3_007)),
        note: text,
        customer_names: text,
        narration: text,
        invoice_number: text,
        bank: crate::domain::BankAccount {
            bank_code: text,
            bank_name: text,
            account_name: text,
            account_number: text,
        },
        ..Entry::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), header).unwrap();
    writer.add(&entry).unwrap();
    let report = writer.finish().unwrap();
    assert!(report.reconciliation.adds_up());
    let read = |path| std::fs::read_to_string(path).unwrap();
    Files {
        sheet: read(report.paths.csv),
        document: read(report.paths.json),
        page: read(report.paths.html),
    }
}
