//! How fast the page of a large report is written and searched, and in how much memory.
//!
//! ```text
//! cargo run --release --example page_speed -- write 1000000 DIR    # a report; DIR is made
//! cargo run --release --example page_speed -- search DIR TEXT      # in chromium, opened as a file, from its start to its end
//! ```
//!
//! What `search` prints is the time of the whole browser; a TEXT that is empty shows how much of it is not the search.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the figures are what this program is for"
)]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use disburse::domain::{
    Amount, BatchName, ControlTotals, Currency, Money, Originator, ServiceCode, Timestamp, WireZone,
};
use disburse::ledger::Purpose;
use disburse::ledger::schedule::Scheduled;
use disburse::report::{BatchHeader, Entry, Load, StateName, Writer};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Made-up names.
const FIRST: [&str; 8] = [
    "Wanjiku", "Esther", "Otieno", "Achieng", "Kiprono", "Amina", "Baraka", "Nafula",
];
const LAST: [&str; 7] = [
    "Njoroge", "Kamau", "Odhiambo", "Chebet", "Mwangi", "Hassan", "Wekesa",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["write", rows, dir] => rows
            .parse()
            .map_err(Into::into)
            .and_then(|rows| write(rows, Path::new(dir))),
        ["search", dir, text] => search(Path::new(dir), text),
        _ => Err("say write ROWS DIR or search DIR TEXT".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A spread that is the same each time.
fn mixed(row: u64) -> u64 {
    (row ^ (row >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

/// Of ten thousand payments 9,950 are paid.
fn state(row: u64) -> StateName {
    match mixed(row) % 10_000 {
        0..40 => StateName::Failed,
        40..45 => StateName::InDoubt,
        45..50 => StateName::Acknowledged,
        _ => StateName::Paid,
    }
}

fn money(row: u64) -> Outcome<Money> {
    let minor = 100_000 + i64::try_from(mixed(row) % 9_000_000)?;
    Ok(Money {
        amount: Amount::from_minor(minor).ok_or("no amount")?,
        currency: Currency::from_code("KES").ok_or("no currency")?,
    })
}

const SERVICE: &str = "B2C_MPESA";

/// When the batch was loaded.
const BEGIN: i64 = 1_795_845_600_000;

fn header(rows: u64) -> Outcome<BatchHeader> {
    let service = ServiceCode::parse(SERVICE)?;
    let mut control = ControlTotals::default();
    for row in 1..=rows {
        control.add(&service, money(row)?);
    }
    let begun = Timestamp::from_millis(BEGIN);
    Ok(BatchHeader {
        purpose: Purpose::Rehearsal,
        lists_all: false,
        name: BatchName::parse("grants-2026-11")?,
        originator: Originator::parse("Acme Tea Estates")?,
        gateway: "https://gateway.example/payments".to_owned(),
        created_at: begun,
        loads: vec![Load {
            source: "grants.csv".to_owned(),
            digest: String::new(),
            loaded_at: begun,
        }],
        control,
        failed_rows: "failed.csv".to_owned(),
        rejected_lines: 0,
        evidence_rows: 0,
        evidence_head: String::new(),
        held_lanes: Vec::new(),
        account: String::new(),
        zone: WireZone::from_name("Africa/Nairobi").ok_or("no zone")?,
        people: Vec::new(),
        paid_twice: Vec::new(),
        paid_twice_count: 0,
        scheduled: Scheduled::default(),
        waits: disburse::report::CalendarWaits::default(),
        statements: Vec::new(),
        behind: None,
        at_work: None,
    })
}

fn write(rows: u64, dir: &Path) -> Outcome<()> {
    let header = header(rows)?;
    let at = |millis: u64| Timestamp::from_millis(BEGIN + millis as i64);
    let begun = Instant::now();
    let mut writer = Writer::create(dir, header)?;
    for row in 1..=rows {
        let state = state(row);
        let is_final = matches!(state, StateName::Paid | StateName::Failed);
        let (reference, id) = (format!("EMP-{row:07}"), format!("{:026}", mixed(row)));
        let msisdn = format!("2547{:08}", 10_000_000 + mixed(row) % 80_000_000);
        let name = format!(
            "{} {}",
            FIRST[(mixed(row) % 8) as usize],
            LAST[(mixed(row) % 7) as usize]
        );
        let (receipt, number) = (format!("SK{row:08}"), format!("90071{row:011}"));
        writer.add(&Entry {
            line: row + 1,
            reference: &reference,
            id: &id,
            service_code: SERVICE,
            msisdn: &msisdn,
            account_number: &msisdn,
            money: Some(money(row)?),
            state,
            status_code: is_final.then_some(match state {
                StateName::Paid => 140,
                _ => 110,
            }),
            status_description: match state {
                StateName::Paid => "Payment has been processed",
                StateName::Failed => "invalid customer MSISDN",
                _ => "",
            },
            gateway_transaction_id: &number,
            receipt_number: match state {
                StateName::Paid => &receipt,
                _ => "",
            },
            attempts: 1,
            posted_at: Some(at(row)),
            settled_at: is_final.then(|| at(row + 2_000)),
            customer_names: &name,
            narration: "Cash grant November 2026",
            ..Entry::default()
        })?;
    }
    let report = writer.finish()?;
    told(rows, begun, &report.paths.html, dir)
}

/// Prints how long it took, in how much memory, and what there is now.
fn told(rows: u64, begun: Instant, page: &Path, dir: &Path) -> Outcome<()> {
    let seconds = begun.elapsed().as_secs_f64();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .map_or("unknown", str::trim);
    println!(
        "{rows} payments, all files of the report: {seconds:.2} s, {:.0} payments/s, peak {peak}",
        rows as f64 / seconds
    );
    let bytes = |path: &Path| fs::metadata(path).map(|file| file.len());
    println!("report.html: {} bytes", bytes(page)?);
    let (mut files, mut sum) = (0, 0);
    for folder in fs::read_dir(dir.join("report_files"))? {
        for file in fs::read_dir(folder?.path())? {
            files += 1;
            sum += file?.metadata()?.len();
        }
    }
    println!("report_files: {files} files, {sum} bytes");
    Ok(())
}

fn search(dir: &Path, text: &str) -> Outcome<()> {
    let page = fs::canonicalize(dir.join("report.html"))?;
    let begun = Instant::now();
    let done = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--virtual-time-budget=600000"])
        .args(["--dump-dom"])
        .arg(format!("file://{}#q={text}", page.display()))
        .output()?;
    let seconds = begun.elapsed().as_secs_f64();
    let shown = String::from_utf8_lossy(&done.stdout);
    let found = shown
        .split_once("<output")
        .and_then(|(_, rest)| rest.split_once('>'))
        .and_then(|(_, rest)| rest.split_once("</output>"))
        .map(|(found, _)| found)
        .ok_or("the browser shows no list")?;
    println!("{found}: {seconds:.2} s");
    Ok(())
}
