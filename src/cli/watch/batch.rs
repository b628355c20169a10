//! One batch: figures, what is awaited, and what to do.

use super::batches::phase;
use super::reading::{Pages, is_rehearsal, shown};
use crate::cli::Error;
use crate::cli::commands::report::header_for_advice;
use crate::cli::commands::status::{self, REHEARSAL};
use crate::cli::terminal::output;
use crate::cli::terminal::progress::{self, Times};
use crate::cli::words::at_work;
use crate::cli::words::behind;
use crate::cli::words::hours::Unposted;
use crate::cli::words::rows::state_name;
use crate::cli::words::unpaid::unpaid;
use crate::domain::{BatchName, Tally, Timestamp, WireZone};
use crate::engine::{Awaited, Progress};
use crate::journal::{BatchRecord, Reader, Snapshot, Standing};
use crate::lifecycle::State;
use crate::report::{BatchHeader, StateName, meaning, remedy};
use crate::watch::{Batch, Card, Download, Exception, File, Line, Phase};

pub(super) fn view(pages: &Pages, name: &BatchName) -> Result<Batch, Error> {
    let session = &pages.session;
    let reader = pages.reader()?;
    let standing = reader.snapshot(name)?.standing()?;
    let is_rehearsal = is_rehearsal(standing.purpose);
    let zone = session.zone(is_rehearsal);
    let now = Timestamp::now();
    let told = status::told(session, &reader, name, &standing)?;
    let progress = progress_of(pages, &reader, name, &standing, now)?;
    let calendar = session.calendar(is_rehearsal);
    let closes = Unposted::of(&standing, &calendar, &zone, now).closes();
    let times = Times { zone, closes };
    let pace = match standing.is_finished() {
        true => Vec::new(),
        false => pages.with_pace(name, |pace| {
            let is_new = pace.is_new();
            let speed = progress::speed(&progress, pace, &times);
            // Of one look no speed can be told.
            if is_new { Vec::new() } else { speed }
        }),
    };
    let snapshot = reader.snapshot(name)?;
    let exceptions = exceptions(pages, (&reader, &snapshot), &standing, name)?;
    let about = about(&snapshot.record()?, &times.zone, &standing);
    let behind = behind::countdown(&reader, &times.zone)?;
    let (finished, total) = progress.finished_of();
    let mut awaited = progress::held_up(&progress, &times.zone);
    // Where no run is at work, nobody asks: how it goes on is said below.
    if at_work::runs(session.location()?, &snapshot, name)? {
        awaited.extend(progress::asking(&progress, &times.zone));
    }
    awaited.extend(told.waits);
    Ok(Batch {
        name: name.to_string(),
        at: times.zone.format_named(now),
        notices: told
            .is_rehearsal
            .then(|| REHEARSAL.to_owned())
            .into_iter()
            .collect(),
        about,
        phase: phase(
            &standing,
            !told.lanes.is_empty() || told.waits_for_signatures,
        ),
        headline: headline(&standing, finished, total),
        pace,
        finished,
        total,
        alarms: shown(
            told.paid_twice
                .into_iter()
                .chain(told.second_post)
                .chain(behind),
        ),
        cards: cards(&standing),
        awaited: shown(awaited),
        next: shown(told.rows.into_iter().chain(told.open)),
        lanes: shown(told.lanes),
        approvals: shown(told.signatures),
        states: states(&standing),
        exceptions,
        reports: reports(&standing),
    })
}

/// Returns where a batch stands as a run tells it; what the run of this process says of itself goes before what the journal knows.
fn progress_of(
    pages: &Pages,
    reader: &Reader,
    name: &BatchName,
    standing: &Standing,
    now: Timestamp,
) -> Result<Progress, Error> {
    let mut told = Progress {
        at: now,
        ..Progress::default()
    };
    for row in &standing.rows {
        let tally: &mut Tally = told.states.entry(row.state).or_default();
        tally.add_all(&row.tally);
    }
    told.posted = standing
        .rows
        .iter()
        .filter(|row| !matches!(row.state, State::Ready | State::Cancelled))
        .map(|row| row.tally.count)
        .sum();
    match pages.progress(name) {
        Some(own) if !standing.is_finished() => {
            (told.awaited, told.circuit_open) = (own.awaited, own.circuit_open);
            // A lane that is held is told with what to do about it.
            (told.draining, told.posted) = (own.draining, own.posted);
        }
        _ => {
            let ask = reader.snapshot(name)?.asked_next()?;
            told.awaited = Awaited {
                ask: ask.filter(|at| *at > now),
                ..Awaited::default()
            };
        }
    }
    Ok(told)
}

fn headline(standing: &Standing, finished: u64, total: u64) -> String {
    let grouped = |count: u64| output::grouped(&count.to_string());
    let paid = standing.of(State::Paid);
    if !standing.is_finished() {
        let unpaid: String = unpaid(standing)
            .iter()
            .map(|part| format!(", {part}"))
            .collect();
        return format!(
            "{} of {} have ended, {} paid{unpaid}",
            grouped(finished),
            output::counted(total, "payment"),
            output::amounts(&paid.amounts)
        );
    }
    let parts = unpaid(standing);
    match parts.is_empty() {
        true => "Finished: everybody is paid".to_owned(),
        // As a person has decided: every payment is paid.
        false if parts.len() == 1 && standing.withdrawn.count > 0 => {
            format!("Finished: everybody is paid; {}", parts.join(", "))
        }
        false => format!("Finished, but not everybody is paid: {}", parts.join(", ")),
    }
}

fn cards(standing: &Standing) -> Vec<Card> {
    let of = |states: &[State]| {
        let mut sum = Tally::default();
        states
            .iter()
            .for_each(|state| sum.add_all(&standing.of(*state)));
        sum
    };
    let under_way = [
        State::Posting,
        State::InDoubt,
        State::Acknowledged,
        State::Delivered,
    ];
    let amiss = |count: u64, phase| if count > 0 { phase } else { Phase::Open };
    let paid = of(&[State::Paid]);
    let (failed, conflict) = (of(&[State::Failed]), of(&[State::Conflict]));
    let mut cards = vec![
        card("paid", &paid, Phase::Good),
        card("not sent yet", &of(&[State::Ready]), Phase::Open),
        card("under way", &of(&under_way), Phase::Waits),
        card("failed", &failed, amiss(failed.count, Phase::Bad)),
    ];
    for (label, tally) in [("in conflict", &conflict), ("rejected", &standing.rejected)] {
        if tally.count > 0 {
            cards.push(card(label, tally, Phase::Bad));
        }
    }
    cards
}

fn card(label: &str, tally: &Tally, phase: Phase) -> Card {
    Card {
        figure: output::grouped(&tally.count.to_string()),
        label: label.to_owned(),
        amount: amount_of(tally),
        phase,
    }
}

/// Returns how much that is; nothing, where it is nothing.
fn amount_of(tally: &Tally) -> String {
    match tally.amounts.iter().next() {
        None => String::new(),
        Some(_) => output::amounts(&tally.amounts),
    }
}

fn states(standing: &Standing) -> Vec<crate::watch::State> {
    let row = |name, words: &str, tally: &Tally, listed| crate::watch::State {
        name,
        words: words.to_owned(),
        count: output::grouped(&tally.count.to_string()),
        amount: amount_of(tally),
        listed,
    };
    let is_listed = |name: &str| {
        name == StateName::Rejected.as_str() || State::ALL.iter().any(|state| state.name() == name)
    };
    let states = status::states(standing);
    let mut rows: Vec<_> = states
        .iter()
        .filter(|(_, tally)| tally.count > 0)
        .map(|(name, tally)| row(*name, StateName::words_of(name), tally, is_listed(name)))
        .collect();
    rows.push(row("", "all rows", &standing.total(), false));
    rows
}

/// By what name the page has a browser save the rows that failed.
pub(super) fn failed_rows(name: &BatchName) -> String {
    format!("{name}-{}", File::Failed.name())
}

fn exceptions(
    pages: &Pages,
    (reader, snapshot): (&Reader, &Snapshot<'_>),
    standing: &Standing,
    name: &BatchName,
) -> Result<Vec<Exception>, Error> {
    let count = |state| standing.of(state).count;
    let rejected = &standing.rejected;
    let looked_for = [State::Conflict, State::InDoubt, State::Failed];
    let has_some = looked_for.iter().any(|state| count(*state) > 0);
    if !has_some && rejected.count == 0 {
        return Ok(Vec::new());
    }
    let header = header_for_advice(
        &pages.session,
        (reader, snapshot),
        standing,
        failed_rows(name),
    )?;
    let mut kinds = match has_some {
        true => snapshot.exceptions()?,
        false => Vec::new(),
    };
    kinds.sort_by_key(|kind| looked_for.iter().position(|state| *state == kind.state));
    let mut groups: Vec<Exception> = kinds
        .iter()
        .map(|kind| {
            let at = (state_name(kind.state), kind.code.map(i64::from));
            let outcome = match kind.code {
                Some(code) => format!("{code} {}", kind.description),
                None => kind.description.clone(),
            };
            let found = (outcome.trim(), &kind.tally, Some(kind.example.as_str()));
            Exception {
                code: kind.code,
                ..group(&header, at, found)
            }
        })
        .collect();
    if rejected.count > 0 {
        groups.push(group(
            &header,
            (StateName::Rejected, None),
            ("", rejected, None),
        ));
    }
    Ok(groups)
}

fn group(
    header: &BatchHeader,
    (state, code): (StateName, Option<i64>),
    (outcome, tally, example): (&str, &Tally, Option<&str>),
) -> Exception {
    Exception {
        state: state.as_str(),
        words: state.in_words().to_owned(),
        code: None,
        outcome: output::name(outcome),
        count: output::grouped(&tally.count.to_string()),
        amount: amount_of(tally),
        meaning: meaning(state, code, false, header.behind.is_some()).to_owned(),
        remedy: output::shown(&remedy(state, code, header, example)),
    }
}

fn about(record: &BatchRecord, zone: &WireZone, standing: &Standing) -> Vec<Line> {
    let line = |label: &str, text: String| Line {
        label: label.to_owned(),
        text: output::name(&text),
    };
    let mut lines = Vec::new();
    lines.push(line("Payer", record.originator.to_string()));
    if let Some(gateway) = &record.gateway {
        lines.push(line("Gateway", gateway.clone()));
    }
    for load in record.loads.iter().take(FILES_MAX) {
        let rows = output::counted(load.accepted, "payment");
        let text = format!(
            "{}, {rows}, loaded {}",
            load.source,
            zone.format_named(load.loaded_at)
        );
        lines.push(line("File", text));
    }
    if record.loads.len() > FILES_MAX {
        let more = record.loads.len() - FILES_MAX;
        lines.push(line("Files", format!("and {more} more")));
    }
    let head = &standing.evidence;
    let rows = output::grouped(&head.length.to_string());
    lines.push(line(
        "Evidence",
        format!("{rows} rows, head {}", head.hex()),
    ));
    lines
}

/// Files that are named.
const FILES_MAX: usize = 20;

fn reports(standing: &Standing) -> Vec<Download> {
    let has_failed = standing.of(State::Failed).count + standing.rejected.count > 0;
    let words = |file| match file {
        File::All => "all files in one",
        File::Html => "to read, print and sign",
        File::Xlsx => "for a spreadsheet program",
        File::Csv => "every payment",
        File::Json => "for programs",
        File::Failed => "rows to mend",
    };
    let files = File::ALL.into_iter();
    let files = files.filter(|file| *file != File::Failed || has_failed);
    files
        .map(|file| Download {
            file,
            words: words(file).to_owned(),
        })
        .collect()
}
