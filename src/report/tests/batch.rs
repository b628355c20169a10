//! A made-up batch for the tests, and the writing of it.

use std::fs;
use std::path::Path;

use crate::domain::{
    Actor, Amount, BankAccount, BatchName, ControlTotals, Currency, Money, Originator, ServiceCode,
    Timestamp,
};
use crate::ledger::schedule::Scheduled;
use crate::report::{BatchHeader, CalendarWaits, Deed, Entry, Load, Report, StateName, Writer};

pub(super) fn money(minor: i64, code: &str) -> Money {
    Money {
        amount: Amount::from_minor(minor).unwrap(),
        currency: Currency::from_code(code).unwrap(),
    }
}

/// 2026-11-28T06:00:00Z and some milliseconds.
pub(super) fn at(millis: i64) -> Option<Timestamp> {
    Some(Timestamp::from_millis(1_795_845_600_000 + millis))
}

/// Control totals that agree with the entries.
pub(in crate::report) fn header(entries: &[Entry<'_>]) -> BatchHeader {
    let mut control = ControlTotals::default();
    let valid = |entry: &&Entry<'_>| !entry.state.is_set_aside();
    for entry in entries.iter().filter(valid) {
        let service = ServiceCode::parse(entry.service_code).unwrap();
        match entry.money {
            Some(money) => control.add(&service, money),
            None => {
                let currency = Currency::from_code(entry.currency_text).unwrap();
                control.add_many(&service, 1, currency, 0);
            }
        }
    }
    BatchHeader {
        lists_all: false,
        purpose: crate::ledger::Purpose::Gateway,
        name: BatchName::parse("payroll-2026-11").unwrap(),
        originator: Originator::parse("Acme Tea Estates").unwrap(),
        gateway: "https://gateway.example/v1/global-api/payments".to_owned(),
        created_at: at(-60_000).unwrap(),
        loads: vec![Load {
            source: "/srv/in/payroll.csv".to_owned(),
            digest: "8f14e45fceea167a5a36dedd4bea2543-7".to_owned(),
            loaded_at: at(-60_000).unwrap(),
        }],
        control,
        failed_rows: "reports/payroll-2026-11/failed.csv".to_owned(),
        rejected_lines: entries.len() as u64 - entries.iter().filter(valid).count() as u64,
        evidence_rows: 1234,
        evidence_head: "5f".repeat(32),
        held_lanes: Vec::new(),
        account: "acme".to_owned(),
        zone: crate::domain::WireZone::from_name("Africa/Nairobi").unwrap(),
        people: vec![Deed {
            reason: None,
            at: at(-60_000).unwrap(),
            act: "load".to_owned(),
            about: Some("payroll.csv".to_owned()),
            by: Actor::new("root", "desk-7", Some("ana")),
        }],
        paid_twice: Vec::new(),
        paid_twice_count: 0,
        scheduled: Scheduled::default(),
        waits: CalendarWaits::default(),
        behind: None,
        at_work: None,
        statements: Vec::new(),
    }
}

pub(super) fn write(dir: &Path, header: BatchHeader, entries: &[Entry<'_>]) -> Report {
    let mut writer = Writer::create(dir, header).unwrap();
    for entry in entries {
        writer.add(entry).unwrap();
    }
    writer.finish().unwrap()
}

/// Writes a report that adds up and returns its three files as text: CSV, JSON, HTML.
pub(super) fn texts(entries: &[Entry<'_>]) -> [String; 3] {
    let dir = tempfile::tempdir().unwrap();
    let report = write(dir.path(), header(entries), entries);
    assert!(
        report.reconciliation.adds_up(),
        "{:?}",
        report.reconciliation.differences()
    );
    read(dir.path())
}

pub(super) fn read(dir: &Path) -> [String; 3] {
    ["payments.csv", "report.json", "report.html"]
        .map(|name| fs::read_to_string(dir.join(name)).unwrap())
}

pub(super) fn paid(line: u64) -> Entry<'static> {
    Entry {
        line,
        reference: "EMP-0001",
        id: "D6XG76YFHSD4N4GSMC3R7K7EGS",
        service_code: "B2C_MPESA",
        msisdn: "254700000001",
        account_number: "254700000001",
        money: Some(money(4_250_050, "KES")),
        state: StateName::Paid,
        status_code: Some(140),
        status_description: "accepted",
        gateway_transaction_id: "9007199254740993",
        receipt_number: "SKT4ABC123",
        customer_names: "Esther Njoroge",
        narration: "Salary November 2026",
        invoice_number: "INV-77",
        attempts: 1,
        posted_at: at(250),
        settled_at: at(3_007),
        ..Entry::default()
    }
}

/// One payment in every bucket, in two currencies.
pub(super) fn mixed() -> Vec<Entry<'static>> {
    let open = |line, id, state| Entry {
        line,
        id,
        state,
        settled_at: None,
        receipt_number: "",
        status_code: None,
        status_description: "",
        reference: "EMP-9",
        ..paid(line)
    };
    vec![
        paid(2),
        Entry {
            status_code: Some(110),
            status_description: "invalid customer MSISDN",
            receipt_number: "",
            ..open(3, "00000000000000000000000003", StateName::Failed)
        },
        Entry {
            line: 4,
            service_code: "B2C_MPESSA",
            msisdn: "25471234567x",
            amount_text: "1,234.50",
            currency_text: "KES",
            state: StateName::Rejected,
            note: "amount: expected digits and at most one decimal point (\"1,234.50\")",
            ..Entry::default()
        },
        open(5, "00000000000000000000000005", StateName::InDoubt),
        Entry {
            posted_at: None,
            attempts: 0,
            gateway_transaction_id: "",
            ..open(6, "00000000000000000000000006", StateName::Ready)
        },
        open(7, "00000000000000000000000007", StateName::Posting),
        open(8, "00000000000000000000000008", StateName::Acknowledged),
        Entry {
            service_code: "RTGS_UG",
            account_number: "01109876543210",
            bank: BankAccount {
                bank_code: "02",
                bank_name: "Bonde Commercial Bank",
                account_name: "Tausi Printers",
                account_number: "01109876543210",
            },
            money: Some(money(3_700_000, "UGX")),
            status_code: Some(148),
            ..open(9, "00000000000000000000000009", StateName::Delivered)
        },
        Entry {
            posted_at: None,
            attempts: 0,
            note: "withdrawn: left the company",
            ..open(10, "00000000000000000000000010", StateName::Cancelled)
        },
        open(11, "00000000000000000000000011", StateName::Conflict),
        Entry {
            posted_at: None,
            attempts: 0,
            gateway_transaction_id: "",
            service_code: "WATER",
            money: None,
            currency_text: "KES",
            ..open(12, "00000000000000000000000012", StateName::Unpriced)
        },
        Entry {
            line: 13,
            service_code: "B2C_MPESA",
            msisdn: "254712345678",
            money: Some(money(123_450, "KES")),
            state: StateName::Withdrawn,
            note: "repeats line 2; withdrawn by ana on desk-7: “a duplicate”",
            ..Entry::default()
        },
        Entry {
            line: 14,
            reference: "TOTAL",
            money: Some(money(9_000_000, "KES")),
            state: StateName::Skipped,
            note: "skipped by layout staff-1: no payment where \"No\" is \"TOTAL\"",
            ..Entry::default()
        },
    ]
}
