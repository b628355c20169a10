//! `explain`: one payment's whole trail of evidence.

use serde_json::json;

use super::arguments::ExplainArguments;
use super::found::{self, Asked};
use super::report::Kinds;
use super::session::{Commands, Session};
use super::{Error, Verdict, ended, output, people, report, status, unpriced};
use crate::domain::{
    BankAccount, Electricity, Instruction, PayerTransactionId, Timestamp, WireZone,
};
use crate::journal::{
    self, Doubt, Linked, PaymentRecord, Reader, Snapshot, SourceFile, TrailEntry, WaitsFor,
};
use crate::ledger::Purpose;
use crate::lifecycle::{Action, Event, State, Verdict as Said};
use crate::report::{Prepaid, StateName};

/// `disburse explain`.
pub(super) fn explain(session: &Session, arguments: ExplainArguments) -> Result<Verdict, Error> {
    let reader = Reader::open(session.journal_path())?;
    let reveal = arguments.reveal;
    let (batch, name) = match found::asked(session, &reader, arguments)? {
        Asked::Row(batch, name) => (batch, name),
        Asked::Told(verdict) => return Ok(verdict),
    };
    let snapshot = reader.snapshot(&batch)?;
    let purpose = snapshot.standing()?.purpose;
    let zone = report::zone(session, purpose == Purpose::Rehearsal);
    let unpriced = match snapshot.find_unpriced(&name) {
        Err(error @ journal::Error::UnknownPayment { .. }) => {
            // What was set aside is no payment.
            let rejected = snapshot.rejected_named(&name)?;
            if rejected.is_empty() {
                return Err(error.into());
            }
            found::tell_rejected(session, &batch, purpose, &rejected, &zone);
            return Ok(Verdict::Done);
        }
        other => other?,
    };
    if let Some(record) = unpriced {
        unpriced::explain(session, &snapshot, &record, &batch, &zone)?;
        return Ok(Verdict::Done);
    }
    let records = snapshot.find(name)?;
    let kinds = Kinds::of(session);
    let shown = Shown {
        kinds: &kinds,
        commands: Commands {
            batch: &batch,
            purpose,
        },
        reveal,
        zone: &zone,
    };
    if session.common.json {
        let values: Result<Vec<_>, Error> = records
            .iter()
            .map(|record| to_json(&snapshot, record, &records, shown))
            .collect();
        output::json(&json!(values?));
        return Ok(Verdict::Done);
    }
    // All of it is read before any of it is said: of a damaged journal nothing is printed as if it were whole.
    let acts = snapshot.acts()?;
    let told = records
        .iter()
        .map(|record| Ok((snapshot.bills(record.seq)?, snapshot.trail(record.seq)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let beside = records
        .iter()
        .map(|record| {
            let file = snapshot.file_of(record.seq)?;
            let taken = found::place_taken(&snapshot, record.seq)?;
            Ok((file, taken, snapshot.failed_before(record.seq)?))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    for ((record, (bills, trail)), (file, taken, failed)) in records.iter().zip(&told).zip(&beside)
    {
        print_record(record, file, trail, shown);
        for text in taken {
            output::line(text);
        }
        for other in failed {
            output::line(&format!(
                "  {} of batch {} had failed with the same debt when this one was loaded, and is {} now",
                other.id,
                other.batch,
                StateName::words_of(other.state)
            ));
        }
        for bill in bills {
            output::line(&unpriced::bill_text(bill, &zone));
        }
        let before = before(record, &records).map_or(&[][..], |at| &told[at].1);
        let acts = people::about(&acts, subject(record, trail, before, file.loaded_at));
        people::print(&acts, trail, reveal, &zone);
    }
    Ok(Verdict::Done)
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
    trail: &'a [TrailEntry],
    before: &'a [TrailEntry],
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
}

/// Stands for what is not shown.
const HIDDEN: &str = "***";

impl Shown<'_> {
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

/// Returns what was said under this name, hidden where it is, or holds, a bearer value.
fn text(name: &str, value: &str, reveal: bool) -> String {
    // A body that could not be read may hold one wherever it likes.
    let bearer =
        matches!(name, "receiver_narration" | "body") || Electricity::read(value).is_some();
    if bearer && !reveal && !value.is_empty() {
        HIDDEN.to_owned()
    } else {
        value.to_owned()
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
    format!(", account {number} at {:?}{code}", bank.bank_name)
}

fn print_record(record: &PaymentRecord, file: &SourceFile, trail: &[TrailEntry], shown: Shown<'_>) {
    let row = &record.payment.instruction;
    let reference = row
        .reference
        .as_ref()
        .map(|reference| format!(", reference {reference}"))
        .unwrap_or_default();
    output::line(&format!(
        "{}: line {} of {}{reference}, {} {} {} to {}{}",
        record.payment.id,
        row.line,
        output::name(&file.name),
        row.service,
        row.money.currency,
        output::grouped(&row.money.to_string()),
        row.msisdn.masked(),
        bank_account(row)
    ));
    let code = record
        .life
        .code
        .map(|code| format!(" ({code})"))
        .unwrap_or_default();
    let stands = || {
        let next = next(record, shown);
        format!("{}{code}; {next}", status::words(record.life.state))
    };
    let ended = match record.waits_for {
        Some(_) => None,
        None => {
            ended::superseded(record, trail).or_else(|| ended::sentence(record, shown.commands))
        }
    };
    output::line(&format!("  {}", ended.unwrap_or_else(stands)));
    if let Some((token, units)) = shown.electricity(record) {
        let units = if units.is_empty() {
            String::new()
        } else {
            format!(", {units} units")
        };
        output::line(&format!("  electricity: token {token}{units}"));
    }
    if let Some(replaced) = record.replaces {
        output::line(&format!("  a retry of {replaced}, which had failed"));
    }
    if let Some(retry) = record.replaced_by {
        output::line(&format!("  its retry is {retry}"));
    }
    for other in &record.loaded_anew {
        output::line(&format!(
            "  its row was loaded anew as {} in batch {}: {}",
            other.id,
            other.batch,
            StateName::words_of(other.state)
        ));
    }
}

/// What a payment waits for whose row a batch may have paid that was lost with a journal.
pub(super) const UNTIL_DONE: &str = "`disburse recover --done` says that all batches that were loaded after the copy are here again";

/// What to do about such payments.
pub(super) fn until_done_hint(commands: Commands<'_>) -> String {
    format!(
        "Load each such file again, whole and under its batch name, and run it; then: disburse recover --done, then: {}. What is not to \
         be paid any more, withdraw: disburse cancel {}",
        commands.run(),
        commands.batch
    )
}

/// Says what a payment waits for, and what to do about it.
pub(super) fn waits(
    commands: Commands<'_>,
    payment: PayerTransactionId,
    waits: WaitsFor,
) -> String {
    match waits {
        WaitsFor::Decision(id) => format!(
            "waits until it is decided whether {id}, an earlier payment of the same row, was paid: {}",
            commands.resolve(id)
        ),
        WaitsFor::Answer(id) => format!(
            "waits until the gateway has been asked once more about {id}, an earlier payment of the same row, which an operator \
             decided to have failed: a run asks, until the gateway agrees. {}",
            way_out(commands, id)
        ),
        WaitsFor::Again(id) => format!(
            "waits for the gateway's word about {id}, an earlier payment of the same row: it called it failed, and has spoken of it \
             otherwise since. A run asks, until it says failed again. {}",
            way_out(commands, id)
        ),
        WaitsFor::Recovered => format!(
            "waits until {UNTIL_DONE}: one of them may have paid its row. {}",
            until_done_hint(commands)
        ),
        WaitsFor::Itself {
            withdrawn: true,
            said,
            ..
        } => format!(
            "cancelled, and somebody who should not know it spoke of it afterwards: {}. It may have been paid: pay it by no other way \
             until the gateway, asked, does not have it. To ask: {}",
            doubt(said),
            commands.run()
        ),
        WaitsFor::Itself {
            code,
            withdrawn: false,
            said,
        } => format!(
            "the gateway said failed{}, and later {}: it may have been paid. Pay it by no other way until the gateway, asked, says failed \
             again. To ask: {}. {}",
            code.map_or_else(String::new, |code| format!(" ({code})")),
            doubt(said),
            commands.run(),
            way_out(commands, payment)
        ),
    }
}

fn doubt(said: Doubt) -> String {
    match said {
        Doubt::Code(code) => code.to_string(),
        Doubt::Otherwise(code) => format!("{code} of another amount, currency or number"),
        Doubt::Unreadable => "sent a callback that cannot be read".to_owned(),
        Doubt::Missed => "may have said something that this journal has missed".to_owned(),
    }
}

/// What a person can do where the gateway never says what is waited for.
fn way_out(commands: Commands<'_>, id: PayerTransactionId) -> String {
    format!(
        "Where it never does, or cannot be asked (resolution.status_query), find out what became of {id}: {} --paid, or --failed \
         --although-accepted",
        commands.resolve(id)
    )
}

/// What a conflict is that began with 229 at the first post.
const TAKEN: &str = "the gateway had this identifier before our first post, and refused ours (229): what it says of it is of a payment of \
     somebody else, or of an earlier journal. Ask the gateway's people whose it is: disburse resolve --paid if it paid this row; if it did \
     not, --failed --although-accepted, and load the row under another reference to pay it";

fn next(record: &PaymentRecord, shown: Shown<'_>) -> String {
    let (commands, zone) = (shown.commands, shown.zone);
    if let Some(held) = record.waits_for {
        return waits(commands, record.payment.id, held);
    }
    if record.life.taken && record.life.state == State::Conflict {
        return TAKEN.to_owned();
    }
    match record.life.action() {
        Action::Post(None) => format!("next: {} sends it", commands.run()),
        Action::Post(Some(at)) => format!(
            "next: {} sends it, not before {}",
            commands.run(),
            zone.format_named(at)
        ),
        // Due long ago: the next run asks at once.
        Action::Ask(at) if at <= Timestamp::now() => {
            format!("next: {} asks the gateway at once", commands.run())
        }
        Action::Ask(at) => format!(
            "next: {} asks the gateway, from {} on",
            commands.run(),
            zone.format_named(at)
        ),
        Action::Wait => "waits for its outcome, a callback or an operator's decision".to_owned(),
        Action::Nothing => "nothing is left to do".to_owned(),
    }
}

/// Returns what an entry is to a person; programs have its name.
fn in_words(kind: &'static str) -> &'static str {
    match kind {
        // It is on disk before the first byte leaves: what came of that is said next, or is not known.
        "intent recorded" => "handed out for sending",
        "withdrawn" => "cancelled",
        kind => kind,
    }
}

pub(super) fn sentence(entry: &TrailEntry, reveal: bool) -> String {
    let mut text = in_words(entry.kind).to_owned();
    match entry.event {
        Some(
            Event::Reply(Said { code, .. })
            | Event::Answer(Said { code, .. })
            | Event::Callback(Said { code, .. }),
        ) => {
            text.push_str(&format!(": {code}"));
        }
        Some(Event::DecidedPaid) => text.push_str(": paid"),
        Some(Event::DecidedFailed) => text.push_str(": failed"),
        _ => {}
    }
    for (name, value) in visible(entry, reveal) {
        text.push_str(&format!(", {name} {value:?}"));
    }
    if let Some(anomaly) = &entry.anomaly {
        text.push_str(&format!("  ! {anomaly}"));
    }
    text
}

/// What was said.
fn visible(entry: &TrailEntry, reveal: bool) -> Vec<(String, String)> {
    let detail = entry
        .detail
        .as_deref()
        .and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let Some(serde_json::Value::Object(members)) = detail else {
        return Vec::new();
    };
    members
        .into_iter()
        .map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let value = text(&name, &value, reveal);
            (name, value)
        })
        .collect()
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
        "replaces": record.replaces.map(|id| id.to_string()),
        "replaced_by": record.replaced_by.map(|id| id.to_string()),
        "loaded_anew": linked_json(&record.loaded_anew),
        "failed_before": linked_json(&snapshot.failed_before(record.seq)?),
        "waits": record.waits_for.map(|held| waits(shown.commands, record.payment.id, held)),
        "receiver_narration": narration.map(|text| self::text("receiver_narration", text, shown.reveal)),
        "electricity_token": electricity.as_ref().map(|(token, _)| token),
        "electricity_units": electricity.as_ref().map(|(_, units)| units).filter(|units| !units.is_empty()),
        "bills": unpriced::bills_json(&snapshot.bills(record.seq)?),
        "people": people::to_json(&people::about(&acts, subject(record, &entries, &before, file.loaded_at))),
        "trail": trail,
    }))
}
