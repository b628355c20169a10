//! What limits keep from leaving, in words.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::cli::Error;
use crate::cli::config::Settings;
use crate::cli::gateway;
use crate::cli::session::{Commands, Session};
use crate::cli::terminal::output;
use crate::domain::{
    BatchName, Money, PayerTransactionId, ServiceCode, Timestamp, Totals, WireZone,
};
use crate::journal::{LimitedRows, Location, Reader, Snapshot, Standing};
use crate::ledger::limits::ahead::Ahead;
use crate::ledger::limits::{Ceiling, Entries, Reason};
use crate::lifecycle::State;

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
    let key = keys(rows.reason, &rows.ceilings);
    match rows.reason {
        Reason::Denied => format!("{what} {are} not sent: the list {key} names the recipient"),
        Reason::NotAllowed => {
            format!("{what} {are} not sent: the list {key} does not name the recipient")
        }
        Reason::Batch => format!("{what} {are} not sent: the batch has been paid up to {key}"),
        Reason::Payment => format!("{what} {are} not sent: more for a single payment than {key}"),
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

/// Names a limit as the configuration does, and how much it is: `limits.payment (KES 1,000.00)`.
fn keys(reason: Reason, ceilings: &[Ceiling]) -> String {
    let mut keys: Vec<(&str, Vec<String>)> = Vec::new();
    for Ceiling { key, money } in ceilings {
        let amount = amount(*money);
        match keys.iter_mut().find(|(known, _)| known == key) {
            Some((_, amounts)) => amounts.push(amount),
            None => keys.push((key, vec![amount])),
        }
    }
    let told = keys
        .iter()
        .map(|(key, amounts)| format!("{key} ({})", amounts.join(", ")));
    match (keys.is_empty(), reason) {
        (false, _) => told.collect::<Vec<_>>().join(" or "),
        // The run that found it came with ceilings that cannot be read any more.
        (true, Reason::Payment) => "the least ceiling of [limits]".to_owned(),
        (true, _) => format!("limits.{}", reason.name()),
    }
}

fn amount(money: Money) -> String {
    format!("{} {}", money.currency, output::grouped(&money.to_string()))
}

/// Says until when one payment waits.
pub(in crate::cli) fn waits_text(
    (reason, until): (Reason, Timestamp),
    ceiling: Option<Ceiling>,
    zone: &WireZone,
) -> String {
    let ceilings: Vec<Ceiling> = ceiling.into_iter().collect();
    format!(
        "a limit kept it from leaving, as the last run found: {} until {}",
        keys(reason, &ceilings),
        zone.format_named(until)
    )
}

/// Says why one payment waits that no time lets leave, and what does.
pub(in crate::cli) fn kept_text(
    reason: Reason,
    ceiling: Option<Ceiling>,
    commands: Commands<'_>,
    id: PayerTransactionId,
) -> String {
    let ceilings: Vec<Ceiling> = ceiling.into_iter().collect();
    let key = keys(reason, &ceilings);
    let raise = match ceilings.first() {
        Some(ceiling) => format!("raise {}", ceiling.key),
        None => format!("raise {key}"),
    };
    let (why, change) = match reason {
        Reason::Denied => (
            format!("the list {key} names its recipient"),
            format!("remove the recipient from the file of {key}"),
        ),
        Reason::NotAllowed => (
            format!("the list {key} does not name its recipient"),
            format!("add the recipient to the file of {key}"),
        ),
        Reason::Batch => (format!("its batch has been paid up to {key}"), raise),
        _ => (format!("it is more for a single payment than {key}"), raise),
    };
    format!(
        "the last run found that {why}, and waiting does not change that. If it is to be paid after all: {change}, \
         then {}, which checks it again. If not: disburse cancel {} --id {id}",
        commands.run(),
        commands.batch
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
            "ceilings": rows.ceilings.iter().map(ceiling_json).collect::<Vec<_>>(),
        })
    });
    rows.collect()
}

fn ceiling_json(ceiling: &Ceiling) -> Value {
    json!({
        "key": ceiling.key,
        "amount": ceiling.money.to_string(),
        "currency_code": ceiling.money.currency.code(),
    })
}

/// Says what to do about them.
pub(in crate::cli) fn limited_hint(rows: &[LimitedRows], run: &str, batch: &str) -> String {
    let cancel = format!("to cancel what must not be paid: disburse cancel {batch} REFERENCE");
    if rows.iter().all(|rows| rows.reason.passes()) {
        return format!("from then on: {run}; {cancel}");
    }
    format!(
        "if they are to be paid after all, change [limits] or its lists, then: {run}, which checks them again; {cancel}"
    )
}

/// Says that as much is under way as may be.
pub(in crate::cli) fn exposed_text(exposure: &Totals, settings: Option<&Settings>) -> String {
    let ceilings = settings.map(|settings| &settings.limits.limits.exposure);
    let most: Vec<String> = ceilings
        .into_iter()
        .flatten()
        .map(|(currency, amount)| {
            self::amount(Money {
                amount: *amount,
                currency: *currency,
            })
        })
        .collect();
    format!(
        "posting waits: {} under way, in doubt or in conflict over all batches of the account, and limits.exposure is {}",
        output::amounts(exposure),
        most.join(", ")
    )
}

/// Returns the services whose next payment would take what is under way over `limits.exposure`, and says so; `None` where a run posts, or
/// where no configuration says what the most is.
pub(in crate::cli) fn exposed(
    (snapshot, commands): (&Snapshot<'_>, Commands<'_>),
    standing: &Standing,
    settings: Option<&Settings>,
) -> Result<Option<(Vec<ServiceCode>, String)>, Error> {
    let Some(settings) = settings.filter(|of| !of.limits.limits.exposure.is_empty()) else {
        return Ok(None);
    };
    let is_held = |service: &ServiceCode| standing.held.iter().any(|lane| lane.service == *service);
    let ready: BTreeSet<&ServiceCode> = standing
        .rows
        .iter()
        .filter(|row| row.state == State::Ready && row.tally.count > 0 && !is_held(&row.service))
        .map(|row| &row.service)
        .collect();
    if ready.is_empty() {
        return Ok(None);
    }
    // Where the batch has not run yet, it would go where the configuration says.
    let home = match settings.is_rehearsal {
        true => None,
        false => gateway::home(settings, None).ok(),
    };
    let used = snapshot.exposure(home.as_ref())?;
    let found = snapshot.exposed(&settings.limits.limits.exposure, &used, ready.len())?;
    if found.is_empty() {
        return Ok(None);
    }
    let next = found
        .iter()
        .map(|(service, money)| format!("{} by {service}", amount(*money)));
    let text = format!(
        "{}; the next payments are {}. Once some of what is under way has ended ({EXPOSED_HINT}): {}",
        exposed_text(&used, Some(settings)),
        next.collect::<Vec<_>>().join(", "),
        commands.run()
    );
    let services = found.into_iter().map(|(service, _)| service);
    Ok(Some((services.collect(), text)))
}

/// What ends a wait for what is under way.
pub(in crate::cli) const EXPOSED_HINT: &str = "`disburse status` shows where each batch stands; what stays in doubt or \
    in conflict is decided with disburse resolve";

/// Says how many recipients each list names that is in force.
pub(in crate::cli) fn lists_texts(settings: &Settings) -> Result<Vec<String>, Error> {
    let Some(limits) = settings.payment_limits()? else {
        return Ok(Vec::new());
    };
    let lists = [
        ("limits.allow", &limits.allow),
        ("limits.deny", &limits.deny),
    ];
    let texts = lists.into_iter().filter_map(|(key, list)| {
        let entries = list.as_ref()?.entries();
        Some(format!("{key} {}", entries_text(entries)))
    });
    Ok(texts.collect())
}

fn entries_text(entries: Entries) -> String {
    let parts = [
        (entries.phones, "phone number"),
        (entries.accounts, "account"),
        (entries.digests, "digest"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| output::counted(count, what))
        .collect();
    match entries.all() {
        0 => "names nobody".to_owned(),
        1 => format!("has 1 entry: {}", parts.join(", ")),
        all => format!(
            "has {} entries: {}",
            output::grouped(&all.to_string()),
            parts.join(", ")
        ),
    }
}

/// Says what a run that began now would let wait for a limit, and how far ceilings are used; nothing where nothing is limited.
///
/// The rows are those of a batch in the journal `rows`; what was paid before is in the journal `record`.
pub(in crate::cli) fn tell_ahead(
    session: &Session,
    settings: &Settings,
    (rows, batch): (&Location, &BatchName),
    record: Option<&Location>,
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
            ceilings: waits.ceilings.clone(),
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
        before.add_minor(used.ceiling.money.currency, used.before);
        texts.push(format!(
            "{} of {}: {} of {} are used",
            used.ceiling.key,
            used.service,
            output::amounts(&before),
            output::grouped(&used.ceiling.money.to_string())
        ));
    }
    texts
}
