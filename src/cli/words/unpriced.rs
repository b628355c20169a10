//! Rows without an amount, and what bills said, for `explain`.

use serde_json::json;

use super::approvals;
use super::history::Explained;
use super::next::{self, rule_of_now};
use super::people;
use crate::cli::Error;
use crate::cli::named;
use crate::cli::session::{Commands, Session};
use crate::cli::terminal::output;
use crate::domain::{BatchName, Timestamp, WireZone};
use crate::journal::{BillOutcome, BillRecord, HistoryEntry, Snapshot, UnpricedRecord};
use crate::report::StateName;

/// Explains a row that has no amount.
pub(in crate::cli) fn explained(
    session: &Session,
    snapshot: &Snapshot<'_>,
    record: &UnpricedRecord,
    batch: &BatchName,
    zone: &WireZone,
) -> Result<Explained, Error> {
    let row = &record.row;
    let bills = snapshot.bills(record.seq)?;
    let trail = snapshot.trail(record.seq)?;
    let file = snapshot.file_of(record.seq)?;
    let acts = snapshot.acts()?;
    let acts = people::about(&acts, subject(record, &trail, file.loaded_at));
    let next = match record.withdrawn_at {
        Some(_) => "nothing is left to do".to_owned(),
        None => next_unpriced(session, snapshot, batch)?,
    };
    let words = state(record).in_words();
    let standing = vec![format!("  {words}; {next}")];
    let said = bills.iter().map(|bill| bill_text(bill, zone));
    Ok(Explained {
        heading: format!(
            "{}: line {} of {}{}, {} {} as its bill says, to {}",
            record.id,
            row.line,
            output::name(&file.name),
            named::called(row),
            row.service,
            row.money,
            row.msisdn.masked()
        ),
        standing,
        history: said
            .chain(people::lines(&acts, &trail, false, zone))
            .collect(),
    })
}

/// Returns where such a row stands.
pub(in crate::cli) fn state(record: &UnpricedRecord) -> StateName {
    match record.withdrawn_at {
        Some(_) => StateName::Cancelled,
        None => StateName::Unpriced,
    }
}

fn subject<'a>(
    record: &'a UnpricedRecord,
    trail: &'a [HistoryEntry],
    loaded_at: Timestamp,
) -> people::Subject<'a> {
    people::Subject {
        id: record.id,
        service: record.row.service.as_str(),
        trail,
        before: &[],
        loaded_at,
        withdrawn_at: record.withdrawn_at,
    }
}

/// Explains a row that has no amount, to a program.
pub(in crate::cli) fn to_json(
    snapshot: &Snapshot<'_>,
    record: &UnpricedRecord,
) -> Result<serde_json::Value, Error> {
    let row = &record.row;
    let bills = snapshot.bills(record.seq)?;
    let entries = snapshot.trail(record.seq)?;
    let file = snapshot.file_of(record.seq)?;
    let acts = snapshot.acts()?;
    let acts = people::about(&acts, subject(record, &entries, file.loaded_at));
    let trail: Vec<serde_json::Value> = entries
        .iter()
        .map(|entry| json!({"at": entry.at.to_string(), "kind": entry.kind, "anomaly": entry.anomaly}))
        .collect();
    Ok(json!([{
        "payer_transaction_id": record.id.as_str(),
        "generation": 0,
        "line": row.line,
        "file": file.name,
        "reference": row.reference.as_ref().map(|reference| reference.as_str()),
        "service_code": row.service.as_str(),
        "amount": null,
        "currency_code": row.money.code(),
        "state": state(record).as_str(),
        "bills": bills_json(&bills),
        "people": people::to_json(&acts),
        "trail": trail,
    }]))
}

/// Says what is next with a row that has no amount: where signatures are asked for, nobody signs before it has one.
fn next_unpriced(
    session: &Session,
    snapshot: &Snapshot<'_>,
    batch: &BatchName,
) -> Result<String, Error> {
    let standing = snapshot.standing()?;
    let purpose = standing.purpose;
    let rule = rule_of_now(session, purpose);
    let commands = Commands { batch, purpose };
    let found = approvals::next(commands, &snapshot.approvals(rule)?, standing.unpriced);
    Ok(match found {
        Some((why, next)) => format!("{why}; {next}"),
        None => format!("next: {}", next::run(commands, &standing)),
    })
}

/// Returns what a bill said, as a line of the trail.
pub(in crate::cli) fn bill_text(bill: &BillRecord, zone: &WireZone) -> String {
    let code = bill
        .code
        .map(|code| format!(": {code}"))
        .unwrap_or_default();
    let due = match &bill.due {
        Some(due) if bill.due_date.is_empty() => format!(", {} {due} due", due.currency),
        Some(due) => format!(", {} {due} due {:?}", due.currency, bill.due_date),
        None => String::new(),
    };
    let outcome = match bill.outcome {
        BillOutcome::Taken => ", taken as the amount".to_owned(),
        BillOutcome::Fits => ", which the amount fits".to_owned(),
        BillOutcome::Refused => format!("  ! {}", bill.description),
    };
    format!("  {}  bill{code}{due}{outcome}", zone.format_named(bill.at))
}

/// Returns what bills said, for programs.
pub(in crate::cli) fn bills_json(bills: &[BillRecord]) -> Vec<serde_json::Value> {
    let outcome = |bill: &BillRecord| match bill.outcome {
        BillOutcome::Taken => "taken",
        BillOutcome::Fits => "fits",
        BillOutcome::Refused => "refused",
    };
    bills
        .iter()
        .map(|bill| {
            json!({
                "at": bill.at.to_string(),
                "outcome": outcome(bill),
                "status_code": bill.code,
                "due_amount": bill.due.map(|due| due.to_string()),
                "currency_code": bill.due.map(|due| due.currency.code()),
                "due_date": bill.due_date,
                "customer_name": bill.customer_name,
                "description": bill.description,
            })
        })
        .collect()
}
