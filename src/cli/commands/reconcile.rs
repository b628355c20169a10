//! `reconcile`: a statement of what the money did, held against what is on record.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::settled::{Proposed, Settled, settle};
use crate::cli::Error;
use crate::cli::arguments::ReconcileArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::files::open::open;
use crate::cli::session::{Session, batch_name, sandbox_flag};
use crate::cli::terminal::output;
use crate::domain::{BatchName, Currency, Timestamp, Totals, WireZone};
use crate::journal::{
    FINDINGS_KEPT, Reader, Reconciled, StatementDesk, StatementFacts, StatementFinding,
};
use crate::ledger::Purpose;
use crate::ledger::reconciliation::FindingKind;
use crate::lifecycle::StepContext;
use crate::statement::{self, COLUMNS, Format, Layout, Summary, Terms};

/// Findings of one kind that are shown one by one.
const SHOWN_MAX: usize = 20;

/// `disburse reconcile`.
pub(in crate::cli) async fn reconcile(
    session: &Session,
    arguments: ReconcileArguments,
) -> Result<ExitStatus, Error> {
    let batch = batch_name(&arguments.batch)?;
    let work = Work {
        terms: terms(&arguments)?,
        statement: arguments.statement.clone(),
        findings: arguments.findings.clone(),
        journal: session.journal_path().to_owned(),
        batch: batch.clone(),
        zones: [false, true].map(|rehearsal| session.zone(rehearsal)),
    };
    let found = tokio::task::spawn_blocking(move || work.carry_out())
        .await
        .map_err(|_| Error::unexpected("the reader of the statement failed"))??;
    let journal = session.journal()?;
    let moment = StepContext {
        now: Timestamp::now(),
        jitter: 0,
    };
    let (facts, reconciled) = (found.facts.clone(), found.reconciled.clone());
    let held = found.held.clone();
    let kept = found.kept.clone();
    let in_conflict = journal
        .record_reconciliation(batch.clone(), facts, reconciled, kept, held, moment)
        .await?;
    let settled = match arguments.settle {
        true => settle(session, &journal, &batch, &found.proposed).await?,
        false => Settled {
            recorded: 0,
            left: found.proposed.len() as u64,
        },
    };
    tell(
        session,
        &batch,
        &found,
        in_conflict,
        &settled,
        arguments.settle,
    );
    let open = found.reconciled.of(FindingKind::OpenPaidThere).count;
    let others = FindingKind::ALL.iter().any(|kind| {
        kind.needs_a_person()
            && *kind != FindingKind::OpenPaidThere
            && found.reconciled.of(*kind).count > 0
    });
    match others || open > settled.recorded {
        true => Ok(ExitStatus::Incomplete),
        false => Ok(ExitStatus::Done),
    }
}

fn terms(arguments: &ReconcileArguments) -> Result<Terms, Error> {
    let format = arguments.format.as_deref().map(|name| {
        Format::from_name(name).ok_or_else(|| {
            Error::refused(format!(
                "--format: expected csv, mt940 or camt, found {name:?}"
            ))
        })
    });
    let currency = arguments.currency.as_deref().map(|code| {
        Currency::from_code(&code.to_ascii_uppercase()).ok_or_else(|| {
            Error::refused(format!(
                "--currency: expected a code such as KES, found {code:?}"
            ))
        })
    });
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for column in &arguments.columns {
        let named = column
            .split_once('=')
            .filter(|(name, header)| COLUMNS.contains(name) && !header.trim().is_empty());
        let Some((name, header)) = named else {
            return Err(Error::refused(format!(
                "--column: expected NAME=HEADER, found {column:?}"
            ))
            .hint(format!("NAME is one of {}", COLUMNS.join(", "))));
        };
        columns
            .entry(name.to_owned())
            .or_default()
            .push(header.to_owned());
    }
    let delimiter = arguments.delimiter.map(|sign| {
        u8::try_from(sign).ok().filter(u8::is_ascii).ok_or_else(|| {
            Error::refused(format!(
                "--delimiter: expected one sign such as ; found {sign:?}"
            ))
        })
    });
    if !matches!(arguments.decimal, '.' | ',') {
        return Err(Error::refused(format!(
            "--decimal: expected . or a comma, found {:?}",
            arguments.decimal
        )));
    }
    Ok(Terms {
        format: format.transpose()?,
        account: arguments.account.clone(),
        layout: Layout {
            columns,
            currency: currency.transpose()?,
            date_format: arguments.date_format.clone(),
            delimiter: delimiter.transpose()?,
            decimal: arguments.decimal,
            positive_is_out: arguments.paid_out,
            booked: arguments.booked.clone(),
            pending: arguments.pending.clone(),
        },
    })
}

/// What is done away from the runtime: the statement is read, and met with the payments.
struct Work {
    terms: Terms,
    statement: PathBuf,
    findings: Option<PathBuf>,
    journal: PathBuf,
    batch: BatchName,
    zones: [WireZone; 2],
}

/// What came of it.
struct Found {
    facts: StatementFacts,
    summary: Summary,
    reconciled: Reconciled,
    kept: Vec<StatementFinding>,
    held: Vec<(i64, String)>,
    proposed: Vec<Proposed>,
    purpose: Purpose,
    again: bool,
}

impl Work {
    fn carry_out(&self) -> Result<Found, Error> {
        let reader = Reader::open(&self.journal)?;
        let snapshot = reader.snapshot(&self.batch)?;
        let purpose = snapshot.record()?.purpose;
        let mut desk = StatementDesk::new()?;
        let (summary, digest) = self.read(&mut desk)?;
        let source = self.source();
        let [gateways, rehearsals] = &self.zones;
        let zone = match purpose {
            Purpose::Rehearsal => rehearsals,
            Purpose::Gateway | Purpose::Unknown => gateways,
        };
        let mut list = self.findings.as_deref().map(List::create).transpose()?;
        let (mut kept, mut held, mut proposed) = (Vec::new(), Vec::new(), Vec::new());
        let (mut kind, mut of_kind) = (FindingKind::Agreed, 0);
        let mut unwritten = None;
        let reconciled = snapshot.reconcile(&mut desk, summary.period, zone, &mut |finding| {
            if finding.kind != kind {
                (kind, of_kind) = (finding.kind, 0);
            }
            of_kind += 1;
            if let Some(list) = &mut list
                && unwritten.is_none()
            {
                unwritten = list.add(&finding).map_err(std::io::Error::other).err();
            }
            if finding.holds
                && let (Some(payment), Some(entry)) = (&finding.payment, &finding.entry)
            {
                held.push((payment.seq, entry.place.clone()));
            }
            proposed.extend(Proposed::of(&finding, &source, &digest));
            if finding.kind.needs_a_person() && of_kind <= FINDINGS_KEPT {
                kept.push(finding);
            }
            Ok(())
        })?;
        let unwritten = unwritten.or(list.and_then(|list| list.finish().err()));
        if let Some(error) = unwritten {
            let name = self.findings.as_deref().unwrap_or(Path::new(""));
            return Err(Error::unexpected(format!(
                "{}: cannot be written: {error}",
                name.display()
            )));
        }
        self.refuse_foreign(&summary, &reconciled)?;
        let again = snapshot
            .reconciliations()?
            .iter()
            .any(|known| known.summary["digest"] == digest.as_str());
        let facts = facts(source, digest, &summary);
        Ok(Found {
            facts,
            summary,
            reconciled,
            kept,
            held,
            proposed,
            purpose,
            again,
        })
    }

    fn source(&self) -> String {
        let name = self.statement.file_name().unwrap_or_default();
        name.to_string_lossy()
            .chars()
            .filter(|c| !c.is_control())
            .take(128)
            .collect()
    }

    fn read(&self, desk: &mut StatementDesk) -> Result<(Summary, String), Error> {
        let input: Box<dyn Read> = match self.statement.as_os_str() == "-" {
            true => Box::new(std::io::stdin()),
            false => Box::new(open(&self.statement)?),
        };
        let mut hashed = Hashed {
            inner: input,
            hash: Sha256::new(),
        };
        let mut fault = None;
        let outcome = statement::read(
            BufReader::with_capacity(1 << 16, &mut hashed),
            &self.terms,
            &mut |entry| match desk.add(&entry) {
                Ok(()) => true,
                Err(error) => {
                    fault = Some(error);
                    false
                }
            },
        );
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        let name = self.statement.display();
        let summary = outcome.map_err(|error| {
            Error::refused(format!("{name}: {error}; nothing was recorded")).hint(error.hint())
        })?;
        if summary.entries == 0 {
            return Err(Error::refused(format!(
                "{name}: the statement has no lines; nothing was recorded"
            ))
            .hint("fetch the statement of the days on which the batch was paid"));
        }
        Ok((
            summary,
            data_encoding::HEXLOWER.encode(&hashed.hash.finalize()),
        ))
    }

    /// Refuses a statement that cannot be about the batch: what it does not show would be called missing.
    fn refuse_foreign(&self, summary: &Summary, reconciled: &Reconciled) -> Result<(), Error> {
        let (name, batch) = (self.statement.display(), &self.batch);
        if !reconciled.shares_currency {
            return Err(Error::refused(format!(
                "{name}: no line of the statement is in a currency of batch {batch}; nothing was recorded"
            ))
            .hint("name the statement of the account that the batch was paid from"));
        }
        if !reconciled.shares_days && reconciled.of(FindingKind::NotCovered).count > 0 {
            let days = summary.period.map_or_else(String::new, |period| {
                format!(" from {} to {}", period.from, period.to)
            });
            return Err(Error::refused(format!(
                "{name}: the statement{days} shows none of the days on which batch {batch} was paid; nothing was recorded"
            ))
            .hint("fetch the statement of those days"));
        }
        Ok(())
    }
}

/// What was read, with its digest.
struct Hashed<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

fn facts(source: String, digest: String, summary: &Summary) -> StatementFacts {
    let balance = |minor: Option<i128>| {
        let (minor, currency) = (minor?, summary.currency?);
        let mut totals = Totals::default();
        totals.add_minor(currency, minor.abs());
        let told = totals.decimals().into_values().next().unwrap_or_default();
        Some(format!(
            "{} {}{told}",
            currency.code(),
            if minor < 0 { "-" } else { "" }
        ))
    };
    StatementFacts {
        source,
        digest,
        format: summary.format.to_owned(),
        account: summary.account.clone(),
        period: summary.period,
        opening: balance(summary.opening),
        closing: balance(summary.closing),
        balanced: summary.balanced,
        entries: summary.entries,
        fees: summary.fees.clone(),
    }
}

/// The list of all findings.
struct List(csv::Writer<BufWriter<std::fs::File>>);

impl List {
    fn create(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|error| {
                Error::refused(format!(
                    "{}: cannot be made: {error}; nothing was recorded",
                    path.display()
                ))
                .hint("name a file that is not there yet")
            })?;
        let mut writer = csv::Writer::from_writer(BufWriter::new(file));
        let headers = [
            "finding",
            "payer_transaction_id",
            "reference",
            "line",
            "state",
            "amount",
            "currency_code",
            "statement_line",
            "statement_date",
            "statement_amount",
            "statement_currency_code",
            "statement_reference",
            "matched",
        ];
        writer
            .write_record(headers)
            .map_err(|error| Error::unexpected(format!("{}: {error}", path.display())))?;
        Ok(Self(writer))
    }

    fn add(&mut self, finding: &StatementFinding) -> Result<(), csv::Error> {
        let mut cells = vec![finding.kind.name().to_owned()];
        match &finding.payment {
            Some(payment) => cells.extend([
                payment.id.to_string(),
                plain(&payment.reference),
                payment.line.to_string(),
                payment.state.name().to_owned(),
                payment.money.to_string(),
                payment.money.currency.code().to_owned(),
            ]),
            None => cells.extend(std::iter::repeat_n(String::new(), 6)),
        }
        match &finding.entry {
            Some(entry) => cells.extend([
                entry.place.clone(),
                entry.day.to_string(),
                entry.money.to_string(),
                entry.money.currency.code().to_owned(),
                plain(&entry.reference),
            ]),
            None => cells.extend(std::iter::repeat_n(String::new(), 5)),
        }
        cells.push(finding.by.map_or("", |by| by.in_words()).to_owned());
        self.0.write_record(cells)
    }

    fn finish(mut self) -> std::io::Result<()> {
        self.0.flush()?;
        let mut inner = self
            .0
            .into_inner()
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        inner.flush()?;
        inner
            .into_inner()
            .map_err(std::io::Error::other)?
            .sync_all()
    }
}

/// A spreadsheet program must not take a cell for a formula.
fn plain(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

fn tell(
    session: &Session,
    batch: &BatchName,
    found: &Found,
    in_conflict: u64,
    settled: &Settled,
    settling: bool,
) {
    let facts = &found.facts;
    if session.common.json {
        let counts: serde_json::Map<String, serde_json::Value> = found
            .reconciled
            .found
            .iter()
            .map(|(kind, tally)| {
                (
                    kind.name().to_owned(),
                    serde_json::json!({"count": tally.count, "amounts": tally.amounts.decimals()}),
                )
            })
            .collect();
        output::json(&serde_json::json!({
            "batch": batch.as_str(), "statement": facts.source, "digest": facts.digest, "format": facts.format,
            "account": facts.account, "from": facts.period.map(|period| period.from.to_string()),
            "to": facts.period.map(|period| period.to.to_string()), "opening": facts.opening, "closing": facts.closing,
            "balanced": facts.balanced, "entries": facts.entries, "fees": facts.fees.decimals(), "found": counts,
            "in_conflict": in_conflict, "recorded_as_paid": settled.recorded, "proposed": settled.left,
        }));
        return;
    }
    tell_statement(found);
    for (kind, tally) in &found.reconciled.found {
        output::line(&format!(
            "{:>9}  {}, {}",
            output::grouped(&tally.count.to_string()),
            kind.in_words(),
            output::amounts(&tally.amounts)
        ));
        if !kind.needs_a_person() {
            continue;
        }
        let mut of_kind = found.kept.iter().filter(|finding| finding.kind == *kind);
        for finding in of_kind.by_ref().take(SHOWN_MAX) {
            output::line(&format!("             {}", sentence(finding)));
        }
        if tally.count > SHOWN_MAX as u64 {
            output::line("             … --findings FILE writes all of them");
        }
    }
    tell_next(session, batch, found, in_conflict, settled, settling);
}

fn tell_statement(found: &Found) {
    let facts = &found.facts;
    let account = facts.account.as_deref().map_or_else(
        || "account not named".to_owned(),
        |account| format!("account {}", output::name(account)),
    );
    let days = facts.period.map_or_else(String::new, |period| {
        format!(", {} to {}", period.from, period.to)
    });
    output::line(&format!(
        "{}: {}, {account}{days}, {}",
        output::name(&facts.source),
        facts.format,
        output::counted(facts.entries, "line")
    ));
    match (&facts.opening, &facts.closing, facts.balanced) {
        (Some(opening), Some(closing), true) => output::line(&format!(
            "  opening balance {opening}, closing balance {closing}: its lines add up"
        )),
        _ => output::line(
            "  it has no balances to be held against its lines: that none is missing is not shown",
        ),
    }
    if !found.summary.fees.decimals().is_empty() {
        output::line(&format!("  charges: {}", output::amounts(&facts.fees)));
    }
    if found.again {
        output::line("  this very statement was held against the batch before");
    }
}

fn sentence(finding: &StatementFinding) -> String {
    let mut parts = Vec::new();
    if let Some(payment) = &finding.payment {
        let called = match payment.reference.as_str() {
            "" => payment.id.to_string(),
            reference => format!("{} ({})", output::name(reference), payment.id),
        };
        parts.push(format!(
            "{called}, line {}, {} {}, {} here",
            payment.line,
            payment.money.currency,
            output::grouped(&payment.money.to_string()),
            payment.state.in_words()
        ));
    }
    if let Some(entry) = &finding.entry {
        let named = match entry.reference.as_str() {
            "" => String::new(),
            reference => format!(", {}", output::name(reference)),
        };
        parts.push(format!(
            "statement {}: {}, {} {}{named}",
            entry.place,
            entry.day,
            entry.money.currency,
            output::grouped(&entry.money.to_string())
        ));
    }
    if let Some(by) = finding.by {
        parts.push(by.in_words().to_owned());
    }
    parts.join("; ")
}

fn tell_next(
    session: &Session,
    batch: &BatchName,
    found: &Found,
    in_conflict: u64,
    settled: &Settled,
    settling: bool,
) {
    let flag = sandbox_flag(found.purpose);
    if in_conflict > 0 {
        output::complain(
            "warning",
            &format!(
                "{} not paid here, and paid in the statement: in conflict from now on, so that no retry pays again. Decide each: \
                 disburse resolve {batch} --id ID --paid|--failed{flag} --reason TEXT --evidence TEXT",
                output::counted(in_conflict, "payment")
            ),
        );
    }
    if settled.recorded > 0 {
        output::line(&format!(
            "{} recorded as paid on the statement's word",
            output::counted(settled.recorded, "payment")
        ));
    }
    if settled.left > 0 && !settling {
        let proven = found.proposed.iter().filter(|one| one.proven).count() as u64;
        session.note(&format!(
            "{} open here and paid there, {proven} of them proven by identifier or receipt: with --settle these are recorded as paid, and the others asked one by one. One at a time:",
            output::counted(settled.left, "payment")
        ));
        for one in found.proposed.iter().take(SHOWN_MAX) {
            session.note(&format!(
                "  disburse resolve {batch} --id {} --paid --reason 'a statement shows it paid' --evidence {}",
                one.id,
                output::quoted(&one.evidence)
            ));
        }
    }
    if found.reconciled.of(FindingKind::MissingThere).count
        + found.reconciled.of(FindingKind::OpenMissing).count
        > 0
    {
        session.note("what a statement does not show proves nothing: look at the next one, and ask the gateway's people");
    }
}
