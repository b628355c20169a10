//! `status`: one batch, or every batch of the journal with, in a word, what it waits for.

use super::status::{REHEARSAL, one, one_json};
use crate::cli::Error;
use crate::cli::arguments::StatusArguments;
use crate::cli::config::Settings;
use crate::cli::exit::ExitStatus;
use crate::cli::files::calendar;
use crate::cli::session::{Commands, Session, batch_name};
use crate::cli::terminal::output;
use crate::cli::words::behind;
use crate::cli::words::hours::Unposted;
use crate::cli::words::let_go::let_go_note;
use crate::cli::words::limits;
use crate::cli::words::unpaid::unpaid_notes;
use crate::domain::{BatchName, Timestamp, WireZone};
use crate::journal::{Reader, Snapshot, Standing};
use crate::ledger::Purpose;
use crate::ledger::calendar::Calendar;
use crate::lifecycle::State;

/// `disburse status`.
pub(in crate::cli) fn status(
    session: &Session,
    arguments: &StatusArguments,
) -> Result<ExitStatus, Error> {
    let reader = Reader::open(session.location()?)?;
    behind::warn_moved(&reader)?;
    if !session.common.json
        && let Some(text) = behind::countdown(&reader, &session.zone(false))?
    {
        output::complain("warning", &text);
        if let Some(text) = behind::missing_text(&reader.batches_lost()?) {
            output::complain("warning", &text);
        }
    }
    if !session.common.json {
        tell_undelivered(&reader)?;
    }
    match &arguments.batch {
        Some(name) => one(session, &reader, &batch_name(name)?),
        None => all(session, &reader),
    }
}

/// Says that somebody was not told what they were to be told.
fn tell_undelivered(reader: &Reader) -> Result<(), Error> {
    let waiting = reader.notices_waiting(1)?;
    let Some(first) = waiting.first.first() else {
        return Ok(());
    };
    let notices = output::counted(waiting.count, "notice");
    let why = match &first.trouble {
        Some(trouble) => format!("; the first of them met: {trouble}"),
        None => String::new(),
    };
    output::complain(
        "warning",
        &format!(
            "not delivered yet: {notices}{why}. To send what waits now: disburse notices --deliver"
        ),
    );
    Ok(())
}

/// What a list of batches asks the configuration, once for all of them.
pub(in crate::cli) struct Known {
    settings: Option<Settings>,
    calendar: Calendar,
    /// The zone of whoever reads the list.
    pub(in crate::cli) zone: WireZone,
}

impl Known {
    pub(in crate::cli) fn of(session: &Session, is_rehearsal: bool) -> Self {
        let settings = session.settings(is_rehearsal, Vec::new()).ok();
        let calendar = settings
            .as_ref()
            .and_then(|settings| calendar::calendar(settings).ok());
        Self {
            settings,
            calendar: calendar.unwrap_or_default(),
            zone: session.zone(is_rehearsal),
        }
    }
}

/// Lists every batch.
fn all(session: &Session, reader: &Reader) -> Result<ExitStatus, Error> {
    let mut standings = Vec::new();
    for batch in reader.batches()? {
        let standing = reader.snapshot(&batch)?.standing()?;
        standings.push((batch, standing));
    }
    if session.common.json {
        let standings = standings
            .iter()
            .map(|(batch, standing)| one_json(session, reader, batch, standing));
        output::json(&standings.collect::<Result<_, _>>()?);
        return Ok(ExitStatus::Done);
    }
    if standings.is_empty() {
        session.note("the journal holds no batch yet; `disburse load FILE --batch NAME` makes one");
        return Ok(ExitStatus::Done);
    }
    let known = [false, true].map(|is_rehearsal| Known::of(session, is_rehearsal));
    let rows = standings
        .iter()
        .map(|(batch, standing)| {
            let known = &known[usize::from(standing.purpose == Purpose::Rehearsal)];
            let total = standing.total();
            let finished = if standing.is_finished() {
                "finished"
            } else {
                "open"
            };
            let waits = waits(reader, batch, standing, known)?;
            Ok(vec![
                batch.to_string(),
                finished.to_owned(),
                output::grouped(&standing.of(State::Paid).count.to_string()),
                output::grouped(&total.count.to_string()),
                output::amounts(&total.amounts),
                notes((&reader.snapshot(batch)?, standing), &waits, &known.zone)?.join("; "),
            ])
        })
        .collect::<Result<_, Error>>()?;
    output::print(&output::table(
        &["batch", "", "paid", "count", "amount", ""],
        rows,
        &[2, 3, 4],
    ));
    Ok(ExitStatus::Done)
}

/// Returns in a word what a batch waits for.
pub(in crate::cli) fn waits(
    reader: &Reader,
    batch: &BatchName,
    standing: &Standing,
    known: &Known,
) -> Result<Vec<&'static str>, Error> {
    let mut waits = Vec::new();
    if standing.is_finished() {
        return Ok(waits);
    }
    let snapshot = reader.snapshot(batch)?;
    let purpose = standing.purpose;
    let commands = Commands { batch, purpose };
    let settings = known.settings.as_ref();
    let rule = settings.and_then(|settings| settings.approval().ok());
    // A signature that cannot be read is told by the status of its batch.
    if !snapshot
        .approvals(rule.flatten())
        .is_ok_and(|found| !found.waits())
    {
        waits.push("approval");
    }
    if !snapshot.limited()?.is_empty()
        || limits::exposed((&snapshot, commands), standing, settings)?.is_some()
    {
        waits.push("a limit");
    }
    if !standing.held.is_empty() {
        waits.push("a paused service");
    }
    let (zone, now) = (WireZone::utc(), Timestamp::now());
    let unposted = Unposted::of(standing, &known.calendar, &zone, now);
    if unposted.waiting_count() > 0 || snapshot.scheduled(now)?.count > 0 {
        waits.push("its time");
    }
    Ok(waits)
}

/// What the list of batches says of one beside its figures.
pub(in crate::cli) fn notes(
    (snapshot, standing): (&Snapshot<'_>, &Standing),
    waits: &[&str],
    zone: &WireZone,
) -> Result<Vec<String>, Error> {
    let mut notes = Vec::new();
    if standing.purpose == Purpose::Rehearsal {
        notes.push(REHEARSAL.to_owned());
    }
    if standing.paid_twice_count > 0 {
        let rows = output::counted(standing.paid_twice_count, "row");
        notes.push(format!("PAID TWICE: {rows}"));
    }
    notes.extend(unpaid_notes(standing));
    if !snapshot.discrepancies()?.is_empty() {
        notes.push("a statement shows payments otherwise".to_owned());
    }
    if !waits.is_empty() {
        notes.push(format!("waits for {}", waits.join(", ")));
    }
    let let_go = snapshot.let_go()?;
    notes.extend(let_go.map(|let_go| let_go_note(&let_go, zone)));
    Ok(notes)
}
