//! How fast a statement is held against a batch, and in how much memory.
//!
//! ```text
//! cargo run --release --example reconcile_speed -- write 1000000 DIR     # batch.csv, and what a gateway and a bank say of it
//! disburse load DIR/batch.csv --batch speed --sandbox --journal DIR/speed.db
//! cargo run --release --example reconcile_speed -- reconcile DIR/speed.db DIR/statement.csv
//! cargo run --release --example reconcile_speed -- reconcile DIR/speed.db DIR/statement.xml
//! ```
//!
//! Each is a process of its own, so that its peak of memory (VmHWM) is its own.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the figures are what this program is for"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use disburse::domain::{
    BatchName, Currency, Day, IdentifierForm, IdentifierScheme, Originator, Reference, RowKey,
    Timestamp, Totals, WireZone,
};
use disburse::journal::{Reader, StatementDesk, StatementFacts};
use disburse::statement::{self, Terms};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const BATCH: &str = "speed";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["write", rows, dir] => rows
            .parse()
            .map_err(Into::into)
            .and_then(|rows| write(rows, Path::new(dir))),
        ["reconcile", journal, file] => reconcile(Path::new(journal), Path::new(file)),
        _ => Err("say write ROWS DIR or reconcile JOURNAL FILE".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn told(what: &str, lines: u64, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .map_or("unknown", str::trim);
    println!(
        "{what}: {lines} in {seconds:.2} s, {:.0}/s, peak {peak}",
        lines as f64 / seconds
    );
}

/// A row: its reference, its number and its amount in the smallest unit, all made up.
fn row(number: u64) -> (String, String, u64) {
    let msisdn = format!("2547{:08}", 10_000_000 + number % 80_000_000);
    let cents = (1_000 + number % 90_000) * 100 + number % 100;
    (format!("EMP-{number:07}"), msisdn, cents)
}

fn write(rows: u64, dir: &Path) -> Outcome<()> {
    let scheme = IdentifierScheme {
        originator: Originator::parse("sandbox")?,
        batch: BatchName::parse(BATCH)?,
        form: IdentifierForm::default(),
    };
    let create = |name: &str| File::create(dir.join(name)).map(BufWriter::new);
    let (mut batch, mut csv) = (create("batch.csv")?, create("statement.csv")?);
    let mut xml = create("statement.xml")?;
    let day = Day::of(Timestamp::now(), &WireZone::utc());
    writeln!(batch, "reference,service_code,msisdn,amount,currency_code")?;
    writeln!(csv, "date,amount,reference,receipt,recipient,balance")?;
    let sum: u64 = (1..=rows).map(|number| row(number).2).sum();
    let decimal = |cents: u64| format!("{}.{:02}", cents / 100, cents % 100);
    let balance = |code: &str, cents: u64| {
        format!(
            "<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy=\"KES\">{}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>",
            decimal(cents)
        )
    };
    writeln!(
        xml,
        "<Document xmlns=\"urn:iso:std:iso:20022:tech:xsd:camt.053.001.08\"><BkToCstmrStmt><Stmt>{}{}",
        balance("OPBD", sum),
        balance("CLBD", 0)
    )?;
    let mut left = sum;
    for number in 1..=rows {
        let (reference, msisdn, cents) = row(number);
        let id = scheme.derive(&RowKey::Reference(&Reference::parse(&reference)?), 0);
        let amount = decimal(cents);
        left -= cents;
        writeln!(batch, "{reference},B2C_MPESA,{msisdn},{amount},KES")?;
        writeln!(
            csv,
            "{day},-{amount},{id},MP{number:08},{msisdn},{}",
            decimal(left)
        )?;
        writeln!(
            xml,
            "<Ntry><Amt Ccy=\"KES\">{amount}</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>{day}</Dt></BookgDt>\
             <NtryDtls><TxDtls><Refs><EndToEndId>{reference}</EndToEndId><TxId>{id}</TxId></Refs><RltdPties><CdtrAcct><Id><Othr>\
             <Id>{msisdn}</Id></Othr></Id></CdtrAcct></RltdPties></TxDtls></NtryDtls></Ntry>"
        )?;
    }
    writeln!(xml, "</Stmt></BkToCstmrStmt></Document>")?;
    batch.flush()?;
    csv.flush()?;
    xml.flush()?;
    Ok(())
}

fn reconcile(journal: &Path, file: &Path) -> Outcome<()> {
    let begun = Instant::now();
    let terms = Terms {
        currency: Currency::from_code("KES"),
        ..Terms::default()
    };
    let mut desk = StatementDesk::new()?;
    let mut fault = None;
    let summary = statement::read(File::open(file)?, &terms, &mut |entry| {
        fault = desk.add(&entry).err();
        fault.is_none()
    });
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    let summary = summary?;
    told(
        &format!("lines of {} read", summary.format),
        summary.entries,
        begun,
    );
    let reader = Reader::open(&journal.into())?;
    let snapshot = reader.snapshot(&BatchName::parse(BATCH)?)?;
    let facts = StatementFacts {
        source: file.display().to_string(),
        digest: String::new(),
        format: summary.format.to_owned(),
        account: None,
        kind: summary.source().kind,
        period: summary.period,
        opening: None,
        closing: None,
        balanced: false,
        entries: summary.entries,
        fees: Totals::default(),
    };
    let mut findings = 0_u64;
    let found = snapshot.reconcile(&mut desk, &facts, &WireZone::utc(), &mut |_| {
        findings += 1;
        Ok(())
    })?;
    let lines: usize = desk.lines()?.iter().map(String::len).sum();
    println!("  kept of lines for later statements: {lines} bytes");
    for (kind, tally) in &found.found {
        println!("  {}: {}", kind.name(), tally.count);
    }
    told(
        "lines held against payments, reading and all",
        findings,
        begun,
    );
    Ok(())
}
