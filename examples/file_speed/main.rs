//! How fast workbooks and payment messages are read, and workbooks written, and in how much memory.
//!
//! ```text
//! cargo run --release --example file_speed -- write 200000 DIR    # a workbook to read, seven texts and numbers a row
//! cargo run --release --example file_speed -- read DIR/rows.xlsx
//! cargo run --release --example file_speed -- message 200000 DIR  # a pain.001 message to read
//! cargo run --release --example file_speed -- read DIR/rows.xml
//! cargo run --release --example file_speed -- report 200000 DIR   # the whole report, report.xlsx with it
//! ```
//!
//! Each is a process of its own, so that its peak of memory (VmHWM) is its own.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the figures are what this program is for"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use disburse::domain::{
    Amount, BatchName, ControlTotals, Country, Currency, Money, Originator, ServiceCode, Timestamp,
    WireZone,
};
use disburse::intake::{BookCell, NEW_SHEET, Options, Reader, Row, Rules, TextBook};
use disburse::ledger::Purpose;
use disburse::ledger::schedule::Scheduled;
use disburse::report::{BatchHeader, CalendarWaits, Entry, Load, StateName, Writer};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const COLUMNS: [&str; 7] = [
    "reference",
    "service_code",
    "msisdn",
    "amount",
    "currency_code",
    "customer_names",
    "narration",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["write", rows, dir] => rows
            .parse()
            .map_err(Into::into)
            .and_then(|rows| write(rows, dir)),
        ["read", file] => read(Path::new(file)),
        ["message", rows, dir] => rows
            .parse()
            .map_err(Into::into)
            .and_then(|rows| message(rows, dir)),
        ["report", rows, dir] => rows
            .parse()
            .map_err(Into::into)
            .and_then(|rows| report(rows, dir)),
        _ => Err("say write ROWS DIR, message ROWS DIR, read FILE or report ROWS DIR".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn told(what: &str, (count, unit): (u64, &str), begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .map_or("unknown", str::trim);
    println!(
        "{what}: {count} {unit} in {seconds:.2} s, {:.0} {unit}/s, peak {peak}",
        count as f64 / seconds
    );
}

/// A number in the plan of its country, made up.
fn number(row: u64) -> String {
    format!("2547{:08}", 10_000_000 + row % 80_000_000)
}

fn write(rows: u64, dir: &str) -> Outcome<()> {
    let begun = Instant::now();
    let mut book = TextBook::create(File::create(Path::new(dir).join("rows.xlsx"))?, NEW_SHEET)?;
    book.write_row(COLUMNS.map(BookCell::Text))?;
    for row in 1..=rows {
        let (reference, msisdn) = (format!("EMP-{row:07}"), number(row));
        let amount = format!("{}.{:02}", 1_000 + row % 90_000, row % 100);
        book.write_row([
            BookCell::Text(&reference),
            BookCell::Text("B2C_MPESA"),
            BookCell::Text(&msisdn),
            BookCell::Number(&amount),
            BookCell::Text("KES"),
            BookCell::Text("Wanjiku Otieno"),
            BookCell::Text("Salary November 2026"),
        ])?;
    }
    book.finish()?;
    told("a workbook of texts written", (rows * 7, "cells"), begun);
    Ok(())
}

/// Writes a message as an ERP exports it: five hundred payments in each of its orders, each transfer with a name, a number and a text.
fn message(rows: u64, dir: &str) -> Outcome<()> {
    const OF_AN_ORDER: u64 = 500;
    let begun = Instant::now();
    let mut out = BufWriter::new(File::create(Path::new(dir).join("rows.xml"))?);
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:pain.001.001.09\"><CstmrCdtTrfInitn>\n\
         <GrpHdr><MsgId>SPEED-1</MsgId><CreDtTm>2026-11-20T07:30:00Z</CreDtTm><NbOfTxs>{rows}</NbOfTxs>\
         <InitgPty><Nm>Kilele Foods (made up)</Nm></InitgPty></GrpHdr>"
    )?;
    for row in 1..=rows {
        if row % OF_AN_ORDER == 1 {
            writeln!(
                out,
                "<PmtInf><PmtInfId>ORDER-{row}</PmtInfId><PmtMtd>TRF</PmtMtd><ReqdExctnDt><Dt>2026-11-20</Dt></ReqdExctnDt>\
                 <Dbtr><Nm>Kilele Foods (made up)</Nm></Dbtr>"
            )?;
        }
        writeln!(
            out,
            "  <CdtTrfTxInf>\n    <PmtId><InstrId>I-{row}</InstrId><EndToEndId>EMP-{row:07}</EndToEndId></PmtId>\n    \
             <Amt><InstdAmt Ccy=\"KES\">{}.{:02}</InstdAmt></Amt>\n    \
             <Cdtr><Nm>Wanjiku Otieno</Nm></Cdtr>\n    \
             <CdtrAcct><Prxy><Tp><Cd>TELE</Cd></Tp><Id>+254-{}</Id></Prxy></CdtrAcct>\n    \
             <RmtInf><Ustrd>Salary November 2026</Ustrd></RmtInf>\n  </CdtTrfTxInf>",
            1_000 + row % 90_000,
            row % 100,
            &number(row)[3..],
        )?;
        if row % OF_AN_ORDER == 0 || row == rows {
            writeln!(out, "</PmtInf>")?;
        }
    }
    writeln!(out, "</CstmrCdtTrfInitn></Document>")?;
    out.flush()?;
    told("a message written", (rows, "transfers"), begun);
    Ok(())
}

fn read(file: &Path) -> Outcome<()> {
    let begun = Instant::now();
    let rules = Rules {
        default_country: Country::from_code("KE"),
        default_service: Some(ServiceCode::parse("B2C_MPESA")?),
        zone: WireZone::from_name("Africa/Nairobi"),
        ..Rules::default()
    };
    let (options, rules, input) = (Options::default(), Arc::new(rules), File::open(file)?);
    let is_message = file.extension().is_some_and(|ending| ending == "xml");
    let reader = match is_message {
        true => Reader::open(input, &options, rules)?,
        false => Reader::open_workbook(input, &options, rules)?,
    };
    let (mut good, mut bad) = (0_u64, 0_u64);
    for row in reader {
        match row? {
            Row::Good(_) | Row::Unpriced(_) => good += 1,
            Row::Bad(_) | Row::Skipped(_) => bad += 1,
        }
    }
    told(
        &format!("{good} rows read and checked, {bad} with errors"),
        match is_message {
            true => (good + bad, "transfers"),
            false => ((good + bad) * 7, "cells"),
        },
        begun,
    );
    Ok(())
}

fn header(control: ControlTotals, at: Timestamp) -> Outcome<BatchHeader> {
    Ok(BatchHeader {
        purpose: Purpose::Rehearsal,
        lists_all: true,
        name: BatchName::parse("speed")?,
        originator: Originator::parse("sandbox")?,
        gateway: String::new(),
        created_at: at,
        loads: vec![Load {
            source: "rows.xlsx".to_owned(),
            digest: String::new(),
            loaded_at: at,
        }],
        control,
        failed_rows: String::new(),
        rejected_lines: 0,
        evidence_rows: 0,
        evidence_head: String::new(),
        held_lanes: Vec::new(),
        account: String::new(),
        zone: WireZone::utc(),
        people: Vec::new(),
        paid_twice: Vec::new(),
        paid_twice_count: 0,
        scheduled: Scheduled::default(),
        waits: CalendarWaits::default(),
        statements: Vec::new(),
        behind: None,
        at_work: None,
    })
}

fn report(rows: u64, dir: &str) -> Outcome<()> {
    let begun = Instant::now();
    let service = ServiceCode::parse("B2C_MPESA")?;
    let currency = Currency::from_code("KES").ok_or("no currency")?;
    let money = Money {
        amount: Amount::from_minor(150_050).ok_or("no amount")?,
        currency,
    };
    let mut control = ControlTotals::default();
    for _ in 0..rows {
        control.add(&service, money);
    }
    let at = Timestamp::from_millis(1_795_845_600_000);
    let header = header(control, at)?;
    let mut writer = Writer::create(Path::new(dir), header)?;
    for row in 1..=rows {
        let (reference, msisdn, id) = (format!("EMP-{row:07}"), number(row), format!("{row:026}"));
        writer.add(&Entry {
            line: row + 1,
            reference: &reference,
            id: &id,
            service_code: service.as_str(),
            msisdn: &msisdn,
            account_number: &msisdn,
            money: Some(money),
            state: StateName::Paid,
            status_code: Some(140),
            status_description: "Payment has been processed",
            gateway_transaction_id: &id,
            receipt_number: &reference,
            attempts: 1,
            posted_at: Some(at),
            settled_at: Some(at),
            customer_names: "Wanjiku Otieno",
            narration: "Salary November 2026",
            ..Entry::default()
        })?;
    }
    writer.finish()?;
    // Those that are not empty, in the sheet of payments.
    told(
        "a report written, all files of it",
        (rows * 18, "cells"),
        begun,
    );
    Ok(())
}
