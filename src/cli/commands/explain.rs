//! `explain`: one payment's whole trail of evidence.

use serde_json::json;

use super::report::Kinds;
use super::status;
use crate::cli::Error;
use crate::cli::arguments::ExplainArguments;
use crate::cli::exit::ExitStatus;
use crate::cli::named;
use crate::cli::session::{Commands, Session};
use crate::cli::terminal::output;
use crate::cli::words::at_work;
use crate::cli::words::behind::behind;
use crate::cli::words::ended;
use crate::cli::words::found::{self, Asked};
use crate::cli::words::held_back::{HeldBack, Limit};
use crate::cli::words::history::{Explained, text, visible};
use crate::cli::words::let_go::let_go_text;
use crate::cli::words::limits;
use crate::cli::words::people;
use crate::cli::words::rows::state_name;
use crate::cli::words::statements;
use crate::cli::words::unpriced;
use crate::cli::words::waiting::waits;
use crate::domain::{
    BankAccount, BatchName, Electricity, Instruction, Origin, Timestamp, WireZone,
};
use crate::journal::{
    self, HistoryEntry, Linked, PaymentRecord, PostedFrom, Reader, RejectedFound, Snapshot,
    SourceFile, Standing, StatedAbout, UnpricedRecord,
};
use crate::ledger::Purpose;
use crate::ledger::calendar::{BatchDates, Calendar, Gate};
use crate::ledger::names::PaymentName;
use crate::ledger::reconciliation::FindingKind;
use crate::lifecycle::{Action, Event, State};
use crate::report::{Prepaid, StateName};

/// `disburse explain`.
pub(in crate::cli) fn explain(
    session: &Session,
    arguments: ExplainArguments,
) -> Result<ExitStatus, Error> {
    let reader = Reader::open(session.location()?)?;
    // What it knows may be less than what became of a payment.
    if let Some(text) = behind(&reader, &session.zone(false))? {
        output::complain("warning", &text);
    }
    let reveal = arguments.reveal;
    let (batch, name) = match found::asked(session, &reader, arguments)? {
        Asked::Row(batch, name) => (batch, name),
        Asked::Told(verdict) => return Ok(verdict),
    };
    if !session.common.json {
        let told = told(session, &reader, &batch, &name, reveal)?;
        told.iter().for_each(Explained::print);
        return Ok(ExitStatus::Done);
    }
    let snapshot = reader.snapshot(&batch)?;
    let standing = snapshot.standing()?;
    let purpose = standing.purpose;
    match row_of(&snapshot, &name)? {
        Row::Rejected(rejected) => {
            output::json(&found::rejected_json(&rejected));
        }
        Row::Unpriced(record) => output::json(&unpriced::to_json(&snapshot, &record)?),
        Row::Payments(records) => {
            let aside = Aside::of(session, &snapshot, (&batch, purpose), &standing)?;
            let shown = aside.shown(&standing, reveal);
            let values: Result<Vec<_>, Error> = records
                .iter()
                .map(|record| to_json(&snapshot, record, &records, shown))
                .collect();
            output::json(&json!(values?));
        }
    }
    Ok(ExitStatus::Done)
}

/// What a name leads to.
enum Row {
    /// The payments of one row, the newest first.
    Payments(Vec<PaymentRecord>),
    /// It has no amount yet.
    Unpriced(Box<UnpricedRecord>),
    /// What was set aside is no payment.
    Rejected(Vec<RejectedFound>),
}

fn row_of(snapshot: &Snapshot<'_>, name: &PaymentName) -> Result<Row, Error> {
    match snapshot.find_unpriced(name) {
        Err(error @ journal::Error::UnknownPayment { .. }) => {
            let rejected = snapshot.rejected_named(name)?;
            match rejected.is_empty() {
                true => Err(error.into()),
                false => Ok(Row::Rejected(rejected)),
            }
        }
        Err(error) => Err(error.into()),
        Ok(Some(record)) => Ok(Row::Unpriced(Box::new(record))),
        Ok(None) => Ok(Row::Payments(snapshot.find(name.clone())?)),
    }
}

/// Returns everything that is on record of the row that a name leads to.
pub(in crate::cli) fn told(
    session: &Session,
    reader: &Reader,
    batch: &BatchName,
    name: &PaymentName,
    reveal: bool,
) -> Result<Vec<Explained>, Error> {
    let snapshot = reader.snapshot(batch)?;
    let standing = snapshot.standing()?;
    let purpose = standing.purpose;
    let zone = session.zone(purpose == Purpose::Rehearsal);
    let is_behind = behind(reader, &zone)?.is_some();
    Ok(match row_of(&snapshot, name)? {
        Row::Rejected(rejected) => found::rejected((batch, purpose), &rejected, &zone, is_behind),
        Row::Unpriced(record) => {
            let told = unpriced::explained(session, &snapshot, &record, batch, &zone)?;
            vec![match is_behind {
                true => told.missed(unpriced::state(&record)),
                false => told,
            }]
        }
        Row::Payments(records) => {
            let aside = Aside::of(session, &snapshot, (batch, purpose), &standing)?;
            let runs = at_work::runs(session.location()?, &snapshot, batch)?;
            let aside = Aside {
                is_behind,
                runs,
                ..aside
            };
            explained(&snapshot, &records, aside.shown(&standing, reveal))?
        }
    })
}

/// What is read beside the payments, to tell of them.
struct Aside<'a> {
    kinds: Kinds,
    commands: Commands<'a>,
    zone: WireZone,
    calendar: Calendar,
    held_back: HeldBack<'a>,
    is_behind: bool,
    runs: bool,
}

impl<'a> Aside<'a> {
    fn of(
        session: &'a Session,
        snapshot: &'a Snapshot<'a>,
        (batch, purpose): (&'a BatchName, Purpose),
        standing: &'a Standing,
    ) -> Result<Self, Error> {
        let is_rehearsal = purpose == Purpose::Rehearsal;
        let commands = Commands { batch, purpose };
        Ok(Self {
            kinds: Kinds::of(session),
            commands,
            zone: session.zone(is_rehearsal),
            calendar: session.calendar(is_rehearsal),
            held_back: HeldBack::of(session, snapshot, commands, standing)?,
            is_behind: false,
            runs: false,
        })
    }

    fn shown(&'a self, standing: &Standing, reveal: bool) -> Shown<'a> {
        Shown {
            kinds: &self.kinds,
            commands: self.commands,
            reveal,
            zone: &self.zone,
            dates: standing.dates,
            calendar: &self.calendar,
            held_back: &self.held_back,
            is_behind: self.is_behind,
            runs: self.runs,
        }
    }
}

/// Explains the payments of one row, with what is on record of each.
fn explained(
    snapshot: &Snapshot<'_>,
    records: &[PaymentRecord],
    shown: Shown<'_>,
) -> Result<Vec<Explained>, Error> {
    let acts = snapshot.acts()?;
    let trails = records
        .iter()
        .map(|record| snapshot.trail(record.seq))
        .collect::<Result<Vec<_>, _>>()?;
    let one = |(record, trail): (&PaymentRecord, &Vec<HistoryEntry>)| {
        let file = snapshot.file_of(record.seq)?;
        let stated = snapshot.stated_about(&record.payment.id)?;
        let next = next(record, &stated, shown)?;
        let (heading, mut standing) = record_texts(record, &file, (trail, &next), shown);
        standing.extend(posted_from(snapshot, record, shown)?.map(|from| {
            format!(
                "  posted last as {} at {}",
                output::name(&from.account),
                output::name(&from.gateway)
            )
        }));
        // What no time ends is said with what to do about it.
        let limit = shown.held_back.limit(record)?.filter(Limit::passes);
        standing.extend(limit.map(|limit| {
            let (limit, ceiling) = limit.waits();
            format!("  {}", limits::waits_text(limit, ceiling, shown.zone))
        }));
        standing.extend(found::place_taken(snapshot, record.seq)?);
        for other in snapshot.failed_before(record.seq)? {
            standing.push(format!(
                "  {} of batch {} has the same debt, had ended unpaid when this one was loaded, and is {} now",
                other.id,
                other.batch,
                StateName::words_of(other.state)
            ));
        }
        if record.payment.instruction.msisdn.is_forgotten()
            && let Some(let_go) = snapshot.let_go()?
        {
            let text = let_go_text(&let_go, Some(record.payment.id.as_str()), shown.zone);
            standing.push(format!("  {text}"));
        }
        standing.extend(statements::about_payment(&stated, shown.zone));
        let bills = snapshot.bills(record.seq)?;
        let bills = bills
            .iter()
            .map(|bill| unpriced::bill_text(bill, shown.zone));
        let before = before(record, records).map_or(&[][..], |at| &trails[at]);
        let acts = people::about(&acts, subject(record, trail, before, file.loaded_at));
        let history = people::lines(&acts, trail, shown.reveal, shown.zone);
        let told = Explained {
            heading,
            standing,
            history: bills.chain(history).collect(),
        };
        Ok(match shown.is_behind {
            true => told.missed(state_name(record.life.state)),
            false => told,
        })
    };
    // All of it is read before any of it is said: of a damaged journal nothing is shown as if it were whole.
    records.iter().zip(&trails).map(one).collect()
}

/// Returns where a payment was posted last, if it left: one that waits anew was withheld, not let in, or refused for want of float.
fn posted_from(
    snapshot: &Snapshot<'_>,
    record: &PaymentRecord,
    shown: Shown<'_>,
) -> Result<Option<PostedFrom>, Error> {
    let has_left = match record.life.state {
        // The sandbox has one account.
        _ if shown.commands.purpose == Purpose::Rehearsal => false,
        State::Ready | State::Cancelled => record.life.is_exposed(),
        _ => true,
    };
    Ok(match has_left {
        true => snapshot.posted_from(record.seq)?,
        false => None,
    })
}

/// Returns which of the records is the payment that this one replaces.
fn before(record: &PaymentRecord, records: &[PaymentRecord]) -> Option<usize> {
    let replaced = record.replaces?;
    records
        .iter()
        .position(|other| other.payment.id == replaced)
}

fn subject<'a>(
    record: &'a PaymentRecord,
    trail: &'a [HistoryEntry],
    before: &'a [HistoryEntry],
    loaded_at: Timestamp,
) -> people::Subject<'a> {
    people::Subject {
        id: record.payment.id,
        service: record.payment.instruction.service.as_str(),
        trail,
        before,
        loaded_at,
        withdrawn_at: None,
    }
}

/// What of a narration is shown. It may hold a prepaid token, which is money to whoever has it.
#[derive(Clone, Copy)]
struct Shown<'a> {
    kinds: &'a Kinds,
    commands: Commands<'a>,
    reveal: bool,
    /// The zone of whoever reads it.
    zone: &'a WireZone,
    /// The dates of the batch, and the hours of the services.
    dates: BatchDates,
    calendar: &'a Calendar,
    /// What keeps payments that are ready, whatever the time.
    held_back: &'a HeldBack<'a>,
    /// The journal may know less than what became of the payments.
    is_behind: bool,
    runs: bool,
}

impl Shown<'_> {
    /// Returns what goes on with the payment: a command, or the run that is at work.
    fn run(self) -> String {
        match self.runs {
            true => "the run that is at work".to_owned(),
            false => self.commands.run(),
        }
    }

    /// Returns the tokens and units of a payment, the tokens masked.
    fn electricity(self, record: &PaymentRecord) -> Option<(String, String)> {
        if self
            .kinds
            .prepaid(record.payment.instruction.service.as_str())
            == Prepaid::No
        {
            return None;
        }
        let read = Electricity::read(record.receiver_narration.as_deref()?)?;
        let token = if self.reveal {
            read.token_text()
        } else {
            read.masked()
        };
        Some((token, read.units_text()))
    }
}

/// Returns the account that a bank payment goes to, its number as far as that of a phone is shown, and not whose it is: what the
/// screen shows is kept in logs of jobs.
fn bank_account(row: &Instruction) -> String {
    const SHOWN: usize = 4;
    let bank = BankAccount::among(&row.extra);
    if bank == BankAccount::default() {
        return String::new();
    }
    let number = match bank.account_number {
        "" => row.account_number.as_str(),
        number => number,
    };
    let hidden = number.chars().count().saturating_sub(SHOWN);
    let number: String = number
        .chars()
        .enumerate()
        .map(|(at, digit)| if at < hidden { '*' } else { digit })
        .collect();
    let code = match bank.bank_code {
        "" => String::new(),
        code => format!(" ({code})"),
    };
    match (bank.bank_name, bank.bank_code) {
        ("", "") => format!(", account {number}"),
        ("", code) => format!(", account {number} at bank {code}"),
        (name, _) => format!(", account {number} at {name:?}{code}"),
    }
}

/// Returns what a payment is, and where it stands.
fn record_texts(
    record: &PaymentRecord,
    file: &SourceFile,
    (trail, next): (&[HistoryEntry], &str),
    shown: Shown<'_>,
) -> (String, Vec<String>) {
    let row = &record.payment.instruction;
    let heading = format!(
        "{}: line {} of {}{}, {} {} {} to {}{}",
        record.payment.id,
        row.line,
        output::name(&file.name),
        named::called(row),
        row.service,
        row.money.currency,
        output::grouped(&row.money.to_string()),
        row.msisdn.masked(),
        bank_account(row)
    );
    let code = record
        .life
        .code
        .map(|code| format!(" ({code})"))
        .unwrap_or_default();
    let stands = || format!("{}{code}; {next}", status::words(record.life.state));
    let ended = match record.waits_for {
        Some(_) => None,
        None => ended::superseded(record, trail).or_else(|| {
            let kind = shown.kinds.kind(row.service.as_str());
            ended::sentence(record, kind, shown.commands, shown.is_behind)
        }),
    };
    let mut texts = vec![format!("  {}", ended.unwrap_or_else(stands))];
    if let Some(at) = row.not_before() {
        texts.push(format!(
            "  not posted before {}",
            shown.zone.format_named(at)
        ));
    }
    if let Some(origin) = row.origin().and_then(Origin::parse) {
        texts.push(format!(
            "  came in message {}, block {}, as {}",
            output::name(&origin.message),
            output::name(&origin.block),
            output::name(&origin.end_to_end)
        ));
    }
    if let Some((token, units)) = shown.electricity(record) {
        let units = match units.is_empty() {
            true => String::new(),
            false => format!(", {units} units"),
        };
        texts.push(format!("  electricity: token {token}{units}"));
    }
    if let Some(replaced) = record.replaces {
        texts.push(format!("  a retry of {replaced}, which had failed"));
    }
    if let Some(retry) = record.replaced_by {
        texts.push(format!("  its retry is {retry}"));
    }
    for other in &record.loaded_anew {
        texts.push(format!(
            "  its row was loaded anew as {} in batch {}: {}",
            other.id,
            other.batch,
            StateName::words_of(other.state)
        ));
    }
    (heading, texts)
}

/// What a conflict is that began with 229 at the first post.
const TAKEN: &str = "the gateway had this identifier before our first post, and refused our post (229): what it says \
     is about a payment of somebody else, or of an earlier journal. Ask the gateway's people whose payment it is. If \
     it paid this row: disburse resolve --paid. If it did not: --failed --although-accepted, then load the row under \
     another reference to pay it";

/// Says when a run sends it, by its own time, the dates of its batch and the hours of its service.
fn next_post(record: &PaymentRecord, at: Option<Timestamp>, shown: Shown<'_>) -> String {
    let run = shown.run();
    let now = Timestamp::now();
    let service = &record.payment.instruction.service;
    let own = at.filter(|at| *at > now);
    match shown
        .calendar
        .gate(shown.dates, service, own.unwrap_or(now))
    {
        Gate::Over => format!(
            "its time is over: `disburse schedule {}` shows the dates of the batch",
            shown.commands.batch
        ),
        Gate::Shut(at) => format!(
            "next: {run} sends it, not before {}",
            shown.zone.format_named(at)
        ),
        Gate::Open(_) if shown.is_behind => {
            format!("next: {run} asks the gateway about it before it sends it")
        }
        Gate::Open(_) => match own {
            Some(at) => format!(
                "next: {run} sends it, not before {}",
                shown.zone.format_named(at)
            ),
            None => format!("next: {run} sends it"),
        },
    }
}

fn next(record: &PaymentRecord, stated: &[StatedAbout], shown: Shown<'_>) -> Result<String, Error> {
    let (commands, zone, run) = (shown.commands, shown.zone, shown.run());
    if let Some(held) = record.waits_for {
        return Ok(waits(commands, record.payment.id, held));
    }
    if record.life.taken && record.life.state == State::Conflict {
        return Ok(TAKEN.to_owned());
    }
    Ok(match record.life.action() {
        Action::Post(at) => {
            let texts = shown.held_back.texts(record)?;
            match texts.is_empty() {
                true => next_post(record, at, shown),
                false => texts.join(". "),
            }
        }
        // Due long ago: the next run asks at once.
        Action::Ask(at) if at <= Timestamp::now() => {
            format!("next: {run} asks the gateway at once")
        }
        Action::Ask(at) => format!(
            "next: {run} asks the gateway, from {} on",
            zone.format_named(at)
        ),
        Action::Wait => "waits for its outcome, a callback or an operator's decision".to_owned(),
        Action::Nothing
            if stated.iter().any(|one| {
                let kind = one.finding["finding"].as_str();
                kind.and_then(FindingKind::from_name)
                    .is_some_and(FindingKind::is_discrepancy)
            }) =>
        {
            "no run does anything more about it".to_owned()
        }
        Action::Nothing => "nothing is left to do".to_owned(),
    })
}

/// Returns what a payment waits for that no time ends, for programs.
fn waits_json(record: &PaymentRecord, shown: Shown<'_>) -> Result<Option<String>, Error> {
    if let Some(held) = record.waits_for {
        return Ok(Some(waits(shown.commands, record.payment.id, held)));
    }
    let texts = match record.life.action() {
        Action::Post(_) => shown.held_back.texts(record)?,
        Action::Ask(_) | Action::Wait | Action::Nothing => Vec::new(),
    };
    Ok((!texts.is_empty()).then(|| texts.join(". ")))
}

fn linked_json(rows: &[Linked]) -> serde_json::Value {
    rows.iter()
        .map(|row| json!({"payer_transaction_id": row.id.as_str(), "batch": row.batch, "state": row.state}))
        .collect()
}

fn to_json(
    snapshot: &Snapshot<'_>,
    record: &PaymentRecord,
    records: &[PaymentRecord],
    shown: Shown<'_>,
) -> Result<serde_json::Value, Error> {
    let row = &record.payment.instruction;
    let entries = snapshot.trail(record.seq)?;
    let before = match before(record, records) {
        Some(at) => snapshot.trail(records[at].seq)?,
        None => Vec::new(),
    };
    let acts = snapshot.acts()?;
    let file = snapshot.file_of(record.seq)?;
    let trail: Vec<serde_json::Value> = entries
        .iter()
        .map(|entry| {
            let code = match entry.event {
                Some(Event::Reply(said) | Event::Answer(said) | Event::Callback(said)) => Some(said.code),
                _ => None,
            };
            let said: serde_json::Map<_, _> =
                visible(entry, shown.reveal).into_iter().map(|(name, value)| (name, json!(value))).collect();
            json!({"at": entry.at.to_string(), "kind": entry.kind, "code": code, "anomaly": entry.anomaly, "said": said})
        })
        .collect();
    let electricity = shown.electricity(record);
    let posted_from = posted_from(snapshot, record, shown)?;
    let posted_from =
        posted_from.map(|from| json!({"gateway": from.gateway, "account": from.account}));
    let narration = record.receiver_narration.as_deref();
    Ok(json!({
        "payer_transaction_id": record.payment.id.as_str(),
        "generation": record.payment.generation,
        "line": row.line,
        "file": file.name,
        "reference": row.reference.as_ref().map(|reference| reference.as_str()),
        "service_code": row.service.as_str(),
        "amount": row.money.to_string(),
        "currency_code": row.money.currency.code(),
        "state": record.life.state.name(),
        "status_code": record.life.code,
        "attempts": record.life.attempts,
        "posted_from": posted_from,
        "not_before": row.not_before_text(),
        "replaces": record.replaces.map(|id| id.to_string()),
        "replaced_by": record.replaced_by.map(|id| id.to_string()),
        "loaded_anew": linked_json(&record.loaded_anew),
        "failed_before": linked_json(&snapshot.failed_before(record.seq)?),
        "waits": waits_json(record, shown)?,
        "receiver_narration": narration.map(|text| self::text("receiver_narration", text, shown.reveal)),
        "electricity_token": electricity.as_ref().map(|(token, _)| token),
        "electricity_units": electricity.as_ref().map(|(_, units)| units).filter(|units| !units.is_empty()),
        "statements": statements::about_payment_json(&snapshot.stated_about(&record.payment.id)?),
        "bills": unpriced::bills_json(&snapshot.bills(record.seq)?),
        "people": people::to_json(&people::about(&acts, subject(record, &entries, &before, file.loaded_at))),
        "trail": trail,
    }))
}
