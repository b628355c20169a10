//! `report`: the journal's rows, as the report takes them.

use std::collections::BTreeMap;
use std::path::Path;

use super::report_accounting::{self, Form};
use super::report_pain002;
use crate::cli::Error;
use crate::cli::arguments::ReportArguments;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::files::failed_rows::{self, FailedRows};
use crate::cli::session::{Commands, Session, batch_name};
use crate::cli::terminal::output;
use crate::cli::words::approvals;
use crate::cli::words::at_work;
use crate::cli::words::behind::{behind, warn_moved};
use crate::cli::words::hours::Unposted;
use crate::cli::words::limits;
use crate::cli::words::rows::{scheduled_note, set_aside_name, state_name};
use crate::cli::words::waiting;
use crate::domain::{BankAccount, BatchName, ControlTotals, PaymentKind, Timestamp, WireZone};
use crate::journal::{
    ActRecord, BatchRecord, LetGo, ListedPayment, ListedRow, PaymentRecord, Reader,
    ReconciliationRecord, RejectedRow, ReportRow, Snapshot, Standing, UnpricedRecord,
};
use crate::ledger::calendar::Calendar;
use crate::ledger::schedule::Scheduled;
use crate::ledger::{HeldFor, Purpose};
use crate::lifecycle::State;
use crate::report::{
    AtWork, BatchHeader, CalendarWaits, Deed, Entry, Load, Prepaid, Report, StateName, Stated,
    Writer, remove_leftover,
};

/// The file of a report that has every row.
const PAYMENTS: &str = "payments.csv";

/// The workbook of earlier releases.
const BOOK_BEFORE: &str = "payments.xlsx";

/// `disburse report`.
pub(in crate::cli) async fn report(
    session: &Session,
    arguments: ReportArguments,
) -> Result<ExitStatus, Error> {
    let batch = batch_name(&arguments.batch)?;
    let reader = Reader::open(session.location()?)?;
    warn_moved(&reader)?;
    if let Some(text) = behind(&reader, &session.zone(false))? {
        output::complain("warning", &text);
    }
    drop(reader);
    if let Some(file) = &arguments.pain002 {
        let told = report_pain002::write(session, &batch, file, arguments.message.as_deref())?;
        match (&arguments.out, session.common.json) {
            (None, true) => output::json(&told.to_json()),
            _ => output::line_unless(session.common.json, &told.to_text()),
        }
    }
    for (file, form) in [
        (&arguments.accounting, Form::Journal),
        (&arguments.camt054, Form::Camt054),
    ] {
        let Some(file) = file else {
            continue;
        };
        let told = report_accounting::write(session, &batch, file, form)?;
        match (&arguments.out, session.common.json) {
            (None, true) => output::json(&told.to_json()),
            _ => output::line_unless(session.common.json, &told.to_text()),
        }
    }
    let Some(out) = &arguments.out else {
        return Ok(ExitStatus::Done);
    };
    refuse_to_lose_names(session, &batch, out)?;
    let written = write(session, &batch, out, arguments.all_rows).await?;
    let paths = &written.paths;
    if session.common.json {
        let mut told = serde_json::json!({
            "html": paths.html, "csv": paths.csv, "xlsx": paths.xlsx, "json": paths.json,
            "finished": written.reconciliation.finished(), "adds_up": written.reconciliation.adds_up(),
        });
        if let Some(rows) = &paths.html_rows {
            told["html_rows"] = serde_json::json!(rows);
        }
        output::json(&told);
    } else {
        let rows = paths.html_rows.as_ref();
        let files = [&paths.html].into_iter().chain(rows);
        for path in files.chain([&paths.csv, &paths.xlsx, &paths.json]) {
            output::line(&output::name(&path.display().to_string()));
        }
    }
    if written.reconciliation.adds_up() {
        return Ok(ExitStatus::Done);
    }
    for difference in written.reconciliation.differences() {
        output::complain("error", &difference.to_string());
    }
    Err(Error::unexpected(
        "the report does not add up to the control totals",
    ))
}

/// Says in a report what waits for signatures, for a limit, for the dates of its batch, or for its service to open.
fn tell_waits(
    header: &mut BatchHeader,
    (snapshot, standing): (&Snapshot<'_>, &Standing),
    (settings, calendar): (Option<&Settings>, &Calendar),
    commands: Commands<'_>,
) -> Result<(), Error> {
    let unposted = Unposted::of(standing, calendar, &header.zone, Timestamp::now());
    let mut texts = Vec::new();
    if !standing.is_finished() {
        let rule = settings.and_then(|settings| settings.approval().ok());
        // A signature that cannot be read is told by `status`.
        let found = snapshot.approvals(rule.flatten()).ok();
        let found = found.and_then(|of| approvals::next(commands, &of, standing.unpriced));
        // The report itself says which run is next.
        let run = format!("; then: {}", commands.run());
        let text = |(why, next): (String, String)| {
            let next = next.strip_suffix(&run).unwrap_or(&next);
            format!("{why}; {next}")
        };
        texts.extend(found.map(text));
        let zone = settings.map_or_else(WireZone::utc, |of| of.limits.limits.zone.clone());
        let limited = snapshot.limited()?;
        let hint = limits::limited_hint(&limited, &commands.run(), commands.batch.as_str());
        texts.extend(limits::limited_text(&limited, &zone).map(|text| format!("{text}; {hint}")));
        let exposed = limits::exposed((snapshot, commands), standing, settings)?;
        texts.extend(exposed.map(|(_, text)| text));
    }
    texts.extend(unposted.texts(commands));
    header.waits = CalendarWaits {
        texts,
        count: unposted.waiting_count(),
    };
    Ok(())
}

/// Refuses to write a report without names over one that may have them.
fn refuse_to_lose_names(session: &Session, batch: &BatchName, out: &Path) -> Result<(), Error> {
    let reader = Reader::open(session.location()?)?;
    let Some(LetGo {
        archive: Some(file),
        at,
    }) = reader.snapshot(batch)?.let_go()?
    else {
        return Ok(());
    };
    if !out.join(PAYMENTS).exists() {
        return Ok(());
    }
    let name = output::name(&out.display().to_string());
    let since = session.zone(false).format_named(at);
    Err(Error::refused(format!(
        "batch {batch} has been archived since {since}, and this journal no longer has its names and numbers: the \
        report in {name} stays as it is"
    ))
    .hint(format!(
        "to write it with names, in the folder of the archives: disburse archive read {} --report FOLDER. Without names: --out another folder",
        output::quoted(&file)
    )))
}

/// Writes the report of a batch as it stands now.
pub(in crate::cli) async fn write(
    session: &Session,
    batch: &BatchName,
    out: &Path,
    lists_all: bool,
) -> Result<Report, Error> {
    write_for(session, batch, (out, out), lists_all).await
}

/// The same of a report that is moved to another folder, which it speaks of.
pub(in crate::cli) async fn write_for(
    session: &Session,
    batch: &BatchName,
    (out, told): (&Path, &Path),
    lists_all: bool,
) -> Result<Report, Error> {
    let own = session.clone();
    let (batch, out, told) = (batch.clone(), out.to_owned(), told.to_owned());
    tokio::task::spawn_blocking(move || {
        let (report, failed) = write_now(&own, (&batch, &out, &told), lists_all, None)?;
        if let Some(file) = &failed
            && !own.common.quiet
        {
            output::note(file);
        }
        Ok(report)
    })
    .await
    .map_err(|_| Error::unexpected("the report's writer failed"))?
}

/// Writes the report of a batch as it stands now, and says what is in the file of failed rows, where there is one.
///
/// `failed_rows`: by what name a person finds that file, where that is not where it is written.
pub(in crate::cli) fn write_now(
    session: &Session,
    (batch, out, told): (&BatchName, &Path, &Path),
    lists_all: bool,
    failed_rows: Option<String>,
) -> Result<(Report, Option<String>), Error> {
    let reader = Reader::open(session.location()?)?;
    let snapshot = reader.snapshot(batch)?;
    let standing = snapshot.standing()?;
    let purpose = standing.purpose;
    let record = snapshot.record()?;
    let loads = record.loads.clone();
    let mut header = header(
        record,
        &standing,
        snapshot.control()?,
        snapshot.acts()?,
        statements(snapshot.reconciliations_today()?),
        session.zone(purpose == Purpose::Rehearsal),
        told,
    );
    header.lists_all = lists_all;
    header.failed_rows = failed_rows.unwrap_or(header.failed_rows);
    add_waits(session, &snapshot, &standing, &mut header)?;
    header.behind = behind(&reader, &header.zone)?;
    let is_behind = header.behind.is_some();
    let mut writer = Writer::create(out, header)?;
    let sources = loads.iter().map(|load| load.source.as_str());
    let mut failed = FailedRows::of((out, told), (batch, purpose), sources, is_behind);
    let (kinds, commands) = (Kinds::of(session), Commands { batch, purpose });
    add_all(&snapshot, &mut writer, &mut failed, (&kinds, commands))?;
    let report = writer.finish()?;
    // What an earlier release has written in its place, and nobody has touched since.
    let _ = remove_leftover(&out.join(BOOK_BEFORE));
    // What does not add up is looked into before anything is paid anew.
    let failed = match report.reconciliation.adds_up() {
        true => failed.finish()?,
        false => None,
    };
    let told = failed.map(|file| file.text(batch, purpose == Purpose::Rehearsal));
    Ok((report, told))
}

/// Returns what the advice about the rows of a batch rests on; sums and deeds are not in it.
pub(in crate::cli) fn header_for_advice(
    session: &Session,
    (reader, snapshot): (&Reader, &Snapshot<'_>),
    standing: &Standing,
    failed_rows: String,
) -> Result<BatchHeader, Error> {
    let zone = session.zone(standing.purpose == Purpose::Rehearsal);
    let (control, acts) = (ControlTotals::default(), Vec::new());
    let record = snapshot.record()?;
    let nowhere = Path::new("");
    let mut header = header(record, standing, control, acts, Vec::new(), zone, nowhere);
    header.failed_rows = failed_rows;
    if at_work::runs(session.location()?, snapshot, &header.name)? {
        let ask = snapshot.asked_next()?.filter(|at| *at > Timestamp::now());
        let asks_at = ask.map(|at| header.zone.clock(at));
        header.at_work = Some(AtWork { asks_at });
    }
    header.behind = behind(reader, &header.zone)?;
    add_waits(session, snapshot, standing, &mut header)?;
    Ok(header)
}

/// Adds what waits, and for what.
fn add_waits(
    session: &Session,
    snapshot: &Snapshot<'_>,
    standing: &Standing,
    header: &mut BatchHeader,
) -> Result<(), Error> {
    let is_rehearsal = standing.purpose == Purpose::Rehearsal;
    header.scheduled = snapshot.scheduled(Timestamp::now())?;
    let calendar = session.calendar(is_rehearsal);
    let settings = session.settings(is_rehearsal, Vec::new()).ok();
    let batch = header.name.clone();
    let commands = Commands {
        batch: &batch,
        purpose: standing.purpose,
    };
    let known = (settings.as_ref(), &calendar);
    tell_waits(header, (snapshot, standing), known, commands)
}

/// Adds each row of the batch, and those that failed to their file.
fn add_all(
    snapshot: &Snapshot<'_>,
    writer: &mut Writer,
    failed: &mut FailedRows,
    (kinds, commands): (&Kinds, Commands<'_>),
) -> Result<(), Error> {
    snapshot.list(|row| {
        #[cfg(debug_assertions)]
        crate::failpoints::pass("in-report");
        match row {
            ListedRow::Plain(payment) => add_plain(writer, kinds, &payment),
            ListedRow::Other(ReportRow::Payment(record)) => {
                let service = record.payment.instruction.service.as_str();
                failed.add(&record, kinds.kind(service))?;
                add_payment(writer, kinds, &record, commands)
            }
            ListedRow::Other(ReportRow::Unpriced(record)) => add_unpriced(writer, &record),
            ListedRow::Other(ReportRow::Rejected(row)) => {
                failed.add_rejected(&row)?;
                add_rejected(writer, &row, StateName::Rejected, &row.errors)
            }
            ListedRow::Other(ReportRow::Withdrawn(row, withdrawal)) => {
                let state = set_aside_name(Some(&withdrawal));
                let note = match state {
                    StateName::Skipped => row.errors.clone(),
                    _ => format!("{}; {withdrawal}", row.errors),
                };
                add_rejected(writer, &row, state, &note)
            }
        }
    })
}

/// What the services of the configuration sell. A report asks for no configuration: without one, nothing is known.
pub(in crate::cli) struct Kinds(BTreeMap<String, PaymentKind>);

impl Kinds {
    pub(in crate::cli) fn of(session: &Session) -> Self {
        let services = session
            .settings(false, Vec::new())
            .map(|settings| settings.services)
            .unwrap_or_default();
        let kinds = services
            .into_iter()
            .map(|(code, service)| (code.as_str().to_owned(), service.kind));
        Self(kinds.collect())
    }

    pub(in crate::cli) fn kind(&self, service: &str) -> Option<PaymentKind> {
        self.0.get(service).copied()
    }

    pub(in crate::cli) fn prepaid(&self, service: &str) -> Prepaid {
        match self.0.get(service) {
            None => Prepaid::Unknown,
            Some(PaymentKind::BillPrepaid) => Prepaid::Yes,
            Some(_) => Prepaid::No,
        }
    }
}

fn statements(records: Vec<ReconciliationRecord>) -> Vec<Stated> {
    let stated = |record: ReconciliationRecord| Stated {
        at: record.at,
        summary: record.summary,
        findings: record.findings,
    };
    records.into_iter().map(stated).collect()
}

fn header(
    record: BatchRecord,
    standing: &Standing,
    control: ControlTotals,
    acts: Vec<ActRecord>,
    statements: Vec<Stated>,
    zone: WireZone,
    out: &Path,
) -> BatchHeader {
    let deed = |act: ActRecord| Deed {
        at: act.at,
        act: act.act,
        about: act.about,
        reason: act.reason,
        by: act.by,
    };
    BatchHeader {
        lists_all: false,
        name: record.name,
        originator: record.originator,
        purpose: record.purpose,
        gateway: record.gateway.unwrap_or_default(),
        zone,
        failed_rows: failed_rows::name_in(out),
        account: record.account.unwrap_or_default(),
        created_at: record.created_at,
        rejected_lines: record.loads.iter().map(|load| load.rejected).sum(),
        loads: record
            .loads
            .into_iter()
            .map(|load| Load {
                source: load.source,
                digest: load.digest,
                loaded_at: load.loaded_at,
            })
            .collect(),
        control,
        evidence_rows: standing.evidence.length,
        evidence_head: standing.evidence.hex(),
        paid_twice: standing.paid_twice.clone(),
        paid_twice_count: standing.paid_twice_count,
        scheduled: Scheduled::default(),
        waits: CalendarWaits::default(),
        statements,
        held_lanes: standing
            .held
            .iter()
            .filter(|lane| lane.held_for == HeldFor::Float)
            .map(|lane| lane.service.clone())
            .collect(),
        people: acts.into_iter().map(deed).collect(),
        behind: None,
        at_work: None,
    }
}

fn add_plain(writer: &mut Writer, kinds: &Kinds, payment: &ListedPayment<'_>) -> Result<(), Error> {
    let note = scheduled_note(payment.state, Some(payment.not_before));
    writer.add(&Entry {
        line: payment.line,
        reference: payment.reference,
        id: payment.id,
        service_code: payment.service,
        msisdn: payment.msisdn,
        account_number: payment.account_number,
        money: Some(payment.money),
        state: state_name(payment.state),
        status_code: payment.code.map(i64::from),
        status_description: payment.status_description,
        gateway_transaction_id: payment.gateway_transaction_id,
        receipt_number: payment.receipt_number,
        receiver_narration: payment.receiver_narration,
        prepaid: kinds.prepaid(payment.service),
        attempts: payment.attempts,
        posted_at: payment.posted_at,
        settled_at: payment.settled_at,
        application_id: payment.application_id,
        customer_names: payment.customer_names,
        narration: payment.narration,
        invoice_number: payment.invoice_number,
        bank: payment.bank,
        note: note.as_deref().unwrap_or_default(),
        ..Entry::default()
    })?;
    Ok(())
}

fn add_payment(
    writer: &mut Writer,
    kinds: &Kinds,
    record: &PaymentRecord,
    commands: Commands<'_>,
) -> Result<(), Error> {
    let row = &record.payment.instruction;
    let note = note(record, commands);
    writer.add(&Entry {
        line: row.line,
        reference: row
            .reference
            .as_ref()
            .map_or("", |reference| reference.as_str()),
        id: record.payment.id.as_str(),
        service_code: row.service.as_str(),
        msisdn: row.msisdn.as_str(),
        account_number: &row.account_number,
        money: Some(row.money),
        state: state_name(record.life.state),
        status_code: record.life.code.map(i64::from),
        status_description: record.status_description.as_deref().unwrap_or_default(),
        gateway_transaction_id: record.gateway_transaction_id.as_deref().unwrap_or_default(),
        receipt_number: record.receipt_number.as_deref().unwrap_or_default(),
        receiver_narration: record.receiver_narration.as_deref().unwrap_or_default(),
        prepaid: kinds.prepaid(row.service.as_str()),
        attempts: record.life.attempts,
        posted_at: record.life.posted_at,
        settled_at: record.settled_at,
        note: &note,
        application_id: record.application_id.as_deref().unwrap_or_default(),
        customer_names: &row.customer_names,
        narration: &row.narration,
        invoice_number: &row.invoice_number,
        bank: BankAccount::among(&row.extra),
        ..Entry::default()
    })?;
    Ok(())
}

fn add_unpriced(writer: &mut Writer, record: &UnpricedRecord) -> Result<(), Error> {
    let row = &record.row;
    let bill = record.bill.as_ref();
    writer.add(&Entry {
        line: row.line,
        reference: row
            .reference
            .as_ref()
            .map_or("", |reference| reference.as_str()),
        id: record.id.as_str(),
        service_code: row.service.as_str(),
        msisdn: row.msisdn.as_str(),
        account_number: &row.account_number,
        currency_text: row.money.code(),
        state: match record.withdrawn_at {
            Some(_) => StateName::Cancelled,
            None => StateName::Unpriced,
        },
        status_code: bill.and_then(|bill| bill.code).map(i64::from),
        settled_at: record.withdrawn_at,
        note: bill.map_or("", |bill| &bill.description),
        customer_names: &row.customer_names,
        narration: &row.narration,
        invoice_number: &row.invoice_number,
        ..Entry::default()
    })?;
    Ok(())
}

/// Of the cells of a rejected row no more is shown: nothing has held them to the limits of the wire.
const CELL_CHARS: usize = 256;

fn add_rejected(
    writer: &mut Writer,
    row: &RejectedRow,
    state: StateName,
    note: &str,
) -> Result<(), Error> {
    // As they were written; earlier releases kept no cells.
    let cells: serde_json::Value = serde_json::from_str(&row.cells).unwrap_or_default();
    let cell = |name: &str| cells[name].as_str().unwrap_or_default();
    let cell = |name: &str| -> String { cell(name).chars().take(CELL_CHARS).collect() };
    let [names, narration, invoice] = ["customer_names", "narration", "invoice_number"].map(cell);
    writer.add(&Entry {
        line: row.line,
        reference: &row.reference,
        customer_names: &names,
        narration: &narration,
        invoice_number: &invoice,
        service_code: &row.service_code,
        msisdn: &row.msisdn,
        account_number: &row.account_number,
        money: row.money,
        amount_text: &row.amount_text,
        currency_text: &row.currency_code,
        state,
        note,
        ..Entry::default()
    })?;
    Ok(())
}

fn note(record: &PaymentRecord, commands: Commands<'_>) -> String {
    let mut parts = Vec::new();
    let not_before = record.payment.instruction.not_before_text();
    parts.extend(scheduled_note(record.life.state, not_before));
    if let Some(replaced) = record.replaces {
        parts.push(format!("retry of {replaced}, which had failed"));
    }
    parts.extend(
        record
            .earlier_decisions
            .iter()
            .map(|decision| format!("the earlier one was {decision}")),
    );
    if record.earlier_conflict {
        parts.push("an earlier attempt came into conflict: it may have been paid too".to_owned());
    }
    if let Some(words) = &record.named_otherwise {
        parts.push(format!("the gateway spoke of another payment, {words}"));
    }
    if let Some(retry) = record.replaced_by {
        parts.push(match record.life.state {
            State::Paid => format!("paid after all: its retry {retry} is not paid as well"),
            _ => format!("it may have been paid after all, beside its retry {retry}"),
        });
    }
    for other in &record.loaded_anew {
        parts.push(format!(
            "loaded anew as {} in batch {}: {}",
            other.id,
            other.batch,
            StateName::words_of(other.state)
        ));
    }
    if let Some(waits) = record.waits_for {
        parts.push(waiting::waits(commands, record.payment.id, waits));
    }
    if let Some(decision) = &record.decision {
        parts.push(decision.clone());
    }
    if record.life.state == State::InDoubt && record.life.due_at.is_none() {
        parts.push("no longer asked about: decide with `disburse resolve`".to_owned());
    }
    parts.join("; ")
}
