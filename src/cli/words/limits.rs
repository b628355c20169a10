//! What limits keep from leaving, in words.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::Error;
use crate::cli::config::Settings;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::{BatchName, Money, Timestamp, Totals, WireZone};
use crate::journal::{LimitedRows, Reader};
use crate::ledger::limits::Reason;
use crate::ledger::limits::ahead::Ahead;

/// Says which payments wait for a limit, and until when; `None` where none does.
pub(in crate::cli) fn limited_text(rows: &[LimitedRows], zone: &WireZone) -> Option<String> {
    let parts: Vec<String> = rows.iter().map(|rows| part(rows, zone)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn part(rows: &LimitedRows, zone: &WireZone) -> String {
    let count = rows.tally.count;
    let (wait, are) = match count {
        1 => ("waits", "is"),
        _ => ("wait", "are"),
    };
    let what = format!(
        "{} of {}",
        output::counted(count, "payment"),
        output::amounts(&rows.tally.amounts)
    );
    let until = zone.format_named(rows.until);
    let key = format!("limits.{}", rows.reason.name());
    match rows.reason {
        Reason::Denied => format!("{what} {are} not sent: the list {key} names the recipient"),
        Reason::NotAllowed => {
            format!("{what} {are} not sent: the list {key} does not name the recipient")
        }
        Reason::Batch => format!("{what} {are} not sent: the batch has been paid up to {key}"),
        Reason::Payment => format!("{what} {are} not sent: above a ceiling for a single payment"),
        Reason::NewRecipient => {
            format!("{what} {wait} until {until}: the recipient was never paid before ({key})")
        }
        Reason::RecipientMonth | Reason::RecipientDay => {
            format!("{what} {wait} until {until}: the recipient has been paid up to {key}")
        }
        Reason::ServiceMonth | Reason::ServiceDay => {
            format!("{what} {wait} until {until}: the service has paid up to {key}")
        }
    }
}

/// Says why one payment waits.
pub(in crate::cli) fn waits_text(reason: Reason, until: Timestamp, zone: &WireZone) -> String {
    let until = match reason.passes() {
        true => format!(" until {}", zone.format_named(until)),
        false => String::new(),
    };
    format!(
        "a limit kept it from leaving, as the last run found: limits.{}{until}",
        reason.name()
    )
}

/// Returns which payments wait for a limit, for programs.
pub(in crate::cli) fn limited_json(rows: &[LimitedRows]) -> Value {
    let rows = rows.iter().map(|rows| {
        json!({
            "limit": rows.reason.name(),
            "count": rows.tally.count,
            "amounts": rows.tally.amounts.decimals(),
            "until": rows.reason.passes().then(|| rows.until.to_string()),
        })
    });
    rows.collect()
}

/// Says what to do about them.
pub(in crate::cli) fn limited_hint(rows: &[LimitedRows], run: &str, batch: &str) -> String {
    let cancel = format!("what shall not be paid: disburse cancel {batch} REFERENCE");
    if rows.iter().all(|rows| rows.reason.passes()) {
        return format!("from then on: {run}; {cancel}");
    }
    format!(
        "if they are to be paid after all, change [limits] or its lists, then: {run}, which judges them anew; {cancel}"
    )
}

/// Says that as much is under way as may be.
pub(in crate::cli) fn exposed_text(exposure: &Totals, settings: Option<&Settings>) -> String {
    let ceilings = settings.map(|settings| &settings.limits.limits.exposure);
    let most: Vec<String> = ceilings
        .into_iter()
        .flatten()
        .map(|(currency, amount)| {
            let money = Money {
                amount: *amount,
                currency: *currency,
            };
            format!("{currency} {}", output::grouped(&money.to_string()))
        })
        .collect();
    format!(
        "posting waits: {} under way, in doubt or in conflict over all batches of the account, and limits.exposure is {}",
        output::amounts(exposure),
        most.join(", ")
    )
}

/// Says what a run that began now would let wait for a limit, and how far ceilings are used; nothing where nothing is limited.
///
/// The rows are those of a batch in the journal `rows`; what was paid before is in the journal `record`.
pub(in crate::cli) fn tell_ahead(
    session: &Session,
    settings: &Settings,
    (rows, batch): (&Path, &BatchName),
    record: Option<&Path>,
) -> Result<(), Error> {
    let Some(limits) = settings.payment_limits()? else {
        return Ok(());
    };
    let reader = Reader::open(rows)?;
    let record = record.map(Reader::open).transpose()?;
    let ahead = reader.snapshot(batch)?.look_ahead(
        Ahead::new(&limits, Timestamp::now()),
        record.as_ref(),
        settings.is_rehearsal,
    )?;
    for text in ahead_texts(&ahead, &limits.zone) {
        session.note(&format!("note: {text}"));
    }
    Ok(())
}

fn ahead_texts(ahead: &Ahead, zone: &WireZone) -> Vec<String> {
    let mut texts = Vec::new();
    for (reason, waits) in ahead.waits() {
        let rows = LimitedRows {
            reason: *reason,
            tally: waits.tally.clone(),
            until: waits.until.unwrap_or_default(),
        };
        let lines: Vec<String> = waits.lines.iter().map(u64::to_string).collect();
        let line = if lines.len() == 1 { "line" } else { "lines" };
        let dots = if waits.tally.count > lines.len() as u64 {
            ", ..."
        } else {
            ""
        };
        texts.push(format!(
            "{} ({line} {}{dots})",
            part(&rows, zone),
            lines.join(", ")
        ));
    }
    if ahead.new_recipients() > 0 {
        let (count, were) = (
            ahead.new_recipients(),
            if ahead.new_recipients() == 1 {
                "was"
            } else {
                "were"
            },
        );
        texts.push(format!(
            "{} {were} never paid before",
            output::counted(count, "recipient")
        ));
    }
    for used in ahead.used() {
        let mut before = Totals::default();
        before.add_minor(used.currency, used.before);
        let ceiling = Money {
            amount: used.ceiling,
            currency: used.currency,
        };
        texts.push(format!(
            "{} of {}: {} of {} are used",
            used.key,
            used.service,
            output::amounts(&before),
            output::grouped(&ceiling.to_string())
        ));
    }
    texts
}
