//! `status`: counts and amounts per state.

use serde_json::{Map, Value, json};

use super::bills::{of_bills, unpriced_text};
use super::recover_told;
use super::verify::head_json;
use crate::cli::Error;
use crate::cli::exit::ExitStatus;
use crate::cli::gateway;
use crate::cli::session::{Commands, Session};
use crate::cli::terminal::output;
use crate::cli::words::approvals;
use crate::cli::words::at_work::{at_work, runner_texts, runners_json, shared_rate};
use crate::cli::words::behind::behind;
use crate::cli::words::hours::{Unposted, dates_json, dates_text};
use crate::cli::words::let_go::let_go_text;
use crate::cli::words::limits;
use crate::cli::words::next::{self, signatures};
use crate::cli::words::repeats;
use crate::cli::words::statements;
use crate::cli::words::waiting;
use crate::cli::words::warnings;
use crate::domain::{BatchName, Tally, Timestamp, WireZone};
use crate::journal::{
    self, Approvals, LimitedRows, OrderWaiting, Reader, Standing, StandingRow, Waiting, WaitsFor,
};
use crate::ledger::duplicate_check::DuplicateCheck;
use crate::ledger::schedule::Scheduled;
use crate::ledger::{HeldFor, Purpose};
use crate::lifecycle::State;
use crate::report::StateName;

/// Says why a service is paused, behind "is paused".
pub(in crate::cli) fn held_for(why: HeldFor) -> &'static str {
    match why {
        HeldFor::Float => "because its float cannot pay what is next (230)",
        HeldFor::Misread => "because ten replies in a row named another amount, currency or number",
        HeldFor::Taken => "because the gateway answered ten first posts in a row with 229",
        HeldFor::Failures => "because more of its payments failed than limits.stop_above allows",
    }
}

/// Says that a payment was posted twice on purpose, and what came of it.
fn second_post_text(at: &str, check: Option<DuplicateCheck>) -> String {
    let came = check.map_or(
        "no answer arrived, and the amount may have left twice",
        DuplicateCheck::sentence,
    );
    format!("posted a second time on purpose at {at} (probe --pay): {came}")
}

/// Says where a batch stands with its signatures.
fn signature_texts(
    commands: Commands<'_>,
    standing: &Standing,
    found: &Result<Approvals, journal::Error>,
) -> Vec<String> {
    match found {
        Ok(found) => {
            let rest = (standing.unpriced, standing.is_finished());
            approvals::lines(commands, found, rest)
        }
        // The rest is told all the same.
        Err(error) => vec![format!("its signatures cannot be read: {error}")],
    }
}

/// Returns the orders about a batch that wait for signatures.
fn orders_waiting(
    session: &Session,
    reader: &Reader,
    (batch, purpose): (&BatchName, Purpose),
) -> Result<Vec<OrderWaiting>, Error> {
    let rule = next::rule_of_now(session, purpose);
    let snapshot = reader.snapshot(batch)?;
    Ok(snapshot.orders_waiting(rule, Timestamp::now())?)
}

/// Returns the standing of a batch for programs, with its signatures where a rule asks for them.
pub(super) fn one_json(
    session: &Session,
    reader: &Reader,
    batch: &BatchName,
    standing: &Standing,
) -> Result<Value, Error> {
    let mut value = whole(reader, batch, standing)?;
    if let Ok(found) = signatures(session, reader, (batch, standing.purpose))
        && found.in_force
    {
        value["approval"] = approvals::to_json(&found);
    }
    let orders = orders_waiting(session, reader, (batch, standing.purpose))?;
    if !orders.is_empty() {
        let orders = orders.iter().map(approvals::order_waiting_json);
        value["orders_waiting"] = orders.collect();
    }
    Ok(value)
}

/// Where one batch stands, in words: beside the table of its states.
#[derive(Debug, Default)]
pub(in crate::cli) struct Told {
    /// It is a rehearsal.
    pub(in crate::cli) is_rehearsal: bool,
    /// Payments were posted a second time on purpose.
    pub(in crate::cli) second_post: Option<String>,
    /// Rows that were paid more than once.
    pub(in crate::cli) paid_twice: Vec<String>,
    /// What else is to be said of its rows.
    pub(in crate::cli) rows: Vec<String>,
    /// Who is at work on it, or how it goes on.
    pub(in crate::cli) open: Option<String>,
    /// What waits for its time, for a limit, or for an earlier payment.
    pub(in crate::cli) waits: Vec<String>,
    /// Signatures, and orders that wait for some.
    pub(in crate::cli) signatures: Vec<String>,
    /// Some of them are missing.
    pub(in crate::cli) waits_for_signatures: bool,
    /// Services that are paused.
    pub(in crate::cli) lanes: Vec<String>,
}

/// Tells where one batch stands.
pub(super) fn one(
    session: &Session,
    reader: &Reader,
    batch: &BatchName,
) -> Result<ExitStatus, Error> {
    let standing = reader.snapshot(batch)?.standing()?;
    if session.common.json {
        output::json(&one_json(session, reader, batch, &standing)?);
        return Ok(ExitStatus::Done);
    }
    let told = told(session, reader, batch, &standing)?;
    if told.is_rehearsal {
        output::line(REHEARSAL);
    }
    let before = told.second_post.iter().chain(&told.paid_twice);
    before.for_each(|text| output::line(text));
    output::print(&table(&standing));
    // What has to be done first stands first: a run does nothing about a service that is paused.
    let behind = told.rows.iter().chain(&told.lanes).chain(&told.open);
    let behind = behind.chain(&told.waits).chain(&told.signatures);
    behind.for_each(|text| output::line(text));
    Ok(ExitStatus::Done)
}

/// Says where one batch stands.
pub(in crate::cli) fn told(
    session: &Session,
    reader: &Reader,
    batch: &BatchName,
    standing: &Standing,
) -> Result<Told, Error> {
    let purpose = standing.purpose;
    let is_rehearsal = purpose == Purpose::Rehearsal;
    let commands = Commands { batch, purpose };
    let zone = session.zone(is_rehearsal);
    let second_post = reader.snapshot(batch)?.second_post()?;
    let found = signatures(session, reader, (batch, purpose));
    let limited = reader.snapshot(batch)?.limited()?;
    let mut signatures = signature_texts(commands, standing, &found);
    let orders = orders_waiting(session, reader, (batch, purpose))?;
    let orders_told = orders.iter();
    signatures.extend(orders_told.map(|order| approvals::order_waiting_text(order, &zone)));
    let is_open = !standing.is_finished();
    Ok(Told {
        waits_for_signatures: !orders.is_empty()
            || is_open && found.as_ref().is_ok_and(Approvals::waits),
        is_rehearsal,
        second_post: second_post.map(|(at, check)| second_post_text(&zone.format_named(at), check)),
        paid_twice: standing
            .paid_twice
            .iter()
            .map(|row| format!("PAID TWICE: {}", row.sentence()))
            .collect(),
        rows: row_texts(reader, batch, standing, &zone)?,
        open: open_text(
            (session, reader),
            commands,
            standing,
            &found,
            is_kept(standing, &limited),
        )?,
        waits: wait_texts(session, reader, batch, standing)?,
        signatures,
        lanes: lane_texts(commands, standing),
    })
}

/// Says of a batch that a run under this configuration would be refused.
fn elsewhere(session: &Session, standing: &Standing) -> Option<String> {
    let settings = session.settings(false, Vec::new()).ok()?;
    let configured = gateway::destination(&settings)?;
    let meant = standing.destination.as_ref()?;
    let is_other = standing.purpose != Purpose::Rehearsal && !meant.may_be(&configured);
    is_other.then(|| {
        format!(
            "not finished, and to be paid by {meant}: this command is configured for {configured}, with which it is not run"
        )
    })
}

/// Says of each service that is paused why, and what is done about it, in the order in which it has to be done.
fn lane_texts(commands: Commands<'_>, standing: &Standing) -> Vec<String> {
    let texts = standing.held.iter().map(|lane| {
        format!(
            "{} is paused {}; when that is solved: disburse resume-lane {} {}, and then: {}",
            lane.service,
            held_for(lane.held_for),
            commands.batch,
            lane.service,
            commands.run()
        )
    });
    texts.collect()
}

/// Returns whether everything that is left is of services that are paused: a run does nothing about it before they are opened.
fn is_paused(standing: &Standing) -> bool {
    let mut open = standing
        .rows
        .iter()
        .filter(|row| !row.state.is_finished() && row.tally.count > 0);
    let paused = |row: &StandingRow| {
        row.state == State::Ready && standing.held.iter().any(|lane| lane.service == row.service)
    };
    !standing.held.is_empty() && standing.unpriced == 0 && open.all(paused)
}

/// Says of its rows what the table of states does not.
fn row_texts(
    reader: &Reader,
    batch: &BatchName,
    standing: &Standing,
    zone: &WireZone,
) -> Result<Vec<String>, Error> {
    let mut texts = Vec::new();
    if let Some(let_go) = reader.snapshot(batch)?.let_go()? {
        texts.push(let_go_text(&let_go, None, zone));
    }
    let waiting = standing.of(State::Ready).count;
    // It stands in the table above it as if that were certain.
    if waiting > 0 && behind(reader, zone)?.is_some() {
        let payments = output::counted(waiting, "payment");
        texts.push(format!("{payments} “{}”: they may have been posted without this journal knowing; the gateway is \
            asked about each before it is posted",
            State::Ready.in_words()));
    }
    if standing.unpriced > 0 {
        texts.push(unpriced_text(
            standing.unpriced,
            of_bills(standing.unpriced),
        ));
    }
    if standing.named_otherwise > 0 {
        let first = reader.snapshot(batch)?.example_named_otherwise()?;
        texts.push(warnings::named_otherwise_text(batch, standing, first));
    }
    texts.extend(statements::statement_texts(
        &reader.snapshot(batch)?.discrepancies()?,
        batch,
        zone,
    ));
    for (other, rows) in &standing.loaded_anew {
        texts.push(format!(
            "{} loaded anew in batch {other}",
            match rows {
                1 => "1 failed row was".to_owned(),
                rows => format!("{} were", output::counted(*rows, "failed row")),
            }
        ));
    }
    if !standing.is_finished() {
        let left_behind = reader.snapshot(batch)?.left_behind()?;
        if left_behind > 0 {
            texts.push(left_behind_text(left_behind, batch));
        }
        let snapshot = reader.snapshot(batch)?;
        for alike in [snapshot.repeats_allowed()?, snapshot.repeated_since()?] {
            texts.extend(alike.iter().map(repeats::alike_text));
        }
    }
    Ok(texts)
}

/// Says what only a person ends after a move.
fn left_behind_text(count: u64, batch: &BatchName) -> String {
    let (was, has, it) = match count {
        1 => ("was", "has", "it"),
        _ => ("were", "have", "them"),
    };
    format!(
        "{} {was} posted before the batch was moved, or may have been, and {has} no end yet: that the new place does not know of {it} proves nothing. What it does not tell, a person decides: ask the people of the old \
         place, then disburse resolve {batch} ID --paid, or --failed --although-accepted, with --reason TEXT --evidence TEXT",
        output::counted(count, "payment")
    )
}

/// Returns whether a limit that no time lifts keeps everything that is left.
fn is_kept(standing: &Standing, limited: &[LimitedRows]) -> bool {
    let kept = limited.iter().filter(|rows| !rows.reason.passes());
    let kept: u64 = kept.map(|rows| rows.tally.count).sum();
    let open = standing.rows.iter().filter(|row| !row.state.is_finished());
    let open: u64 = open.map(|row| row.tally.count).sum();
    standing.unpriced == 0 && kept == open
}

/// Says that a batch is not finished, and how it goes on; where it does not by itself, what it lacks is said behind it.
fn open_text(
    (session, reader): (&Session, &Reader),
    commands: Commands<'_>,
    standing: &Standing,
    found: &Result<Approvals, journal::Error>,
    is_kept: bool,
) -> Result<Option<String>, Error> {
    if standing.is_finished() {
        return Ok(None);
    }
    if let Some(to) = reader.moved_to()? {
        return Ok(Some(format!(
            "not finished when this journal was moved; to see how it stands now: disburse --journal {to} status {}",
            commands.batch
        )));
    }
    let zone = session.zone(standing.purpose == Purpose::Rehearsal);
    if let Some(at_work) = at_work(session.location()?, commands.batch, &zone) {
        let text = format!("at work on this journal: {}", at_work.who);
        return Ok(Some(match at_work.runs_it {
            false => text,
            true => {
                let ask = reader.snapshot(commands.batch)?.asked_next()?;
                let asks = ask
                    .filter(|at| *at > Timestamp::now())
                    .map_or_else(String::new, |at| {
                        format!(", and asks the gateway next at {}", zone.clock(at))
                    });
                format!("{text}; it goes on by itself{asks}")
            }
        }));
    }
    let runners = reader.snapshot(commands.batch)?.runners()?;
    let told = runner_texts(&runners, &zone);
    if let Some(rate) = shared_rate(&runners) {
        let head =
            format!("at work on this batch, at {rate}/s together at most; it goes on by itself:");
        return Ok(Some(with_lines(head, told)));
    }
    if let Some(text) = elsewhere(session, standing) {
        return Ok(Some(text));
    }
    let stands = found.as_ref().is_ok_and(Approvals::covers_nothing);
    let head = match stands || is_kept || is_paused(standing) {
        true => "not finished, and no run is at work".to_owned(),
        false => format!(
            "not finished, and no run is at work; to go on: {}",
            next::run(commands, standing)
        ),
    };
    Ok(Some(with_lines(head, told)))
}

fn with_lines(head: String, lines: Vec<String>) -> String {
    std::iter::once(head)
        .chain(lines)
        .collect::<Vec<_>>()
        .join("\n  ")
}

/// Says what of a batch waits for its time, for a limit, or for an earlier payment.
fn wait_texts(
    session: &Session,
    reader: &Reader,
    batch: &BatchName,
    standing: &Standing,
) -> Result<Vec<String>, Error> {
    let mut texts = time_texts(session, reader, batch, standing)?;
    let purpose = standing.purpose;
    let is_rehearsal = purpose == Purpose::Rehearsal;
    let commands = Commands { batch, purpose };
    let snapshot = reader.snapshot(batch)?;
    let limited = snapshot.limited()?;
    if let Some(text) = limits::limited_text(&limited, &session.limits_zone(is_rehearsal)) {
        let hint = limits::limited_hint(&limited, &commands.run(), batch.as_str());
        texts.push(format!("{text}; {hint}"));
    }
    let settings = session.settings(is_rehearsal, Vec::new()).ok();
    let exposed = limits::exposed((&snapshot, commands), standing, settings.as_ref())?;
    texts.extend(exposed.map(|(_, text)| text));
    texts.extend(waiting_texts(batch, standing));
    Ok(texts)
}

/// Says when a batch may be posted, and what of it waits for its time.
fn time_texts(
    session: &Session,
    reader: &Reader,
    batch: &BatchName,
    standing: &Standing,
) -> Result<Vec<String>, Error> {
    let (now, purpose) = (Timestamp::now(), standing.purpose);
    let is_rehearsal = purpose == Purpose::Rehearsal;
    let (zone, calendar) = (session.zone(is_rehearsal), session.calendar(is_rehearsal));
    let dates = dates_text(standing.dates, &zone);
    let mut texts: Vec<String> = dates
        .map(|text| format!("the batch is {text}"))
        .into_iter()
        .collect();
    let unposted = Unposted::of(standing, &calendar, &zone, now);
    let commands = Commands { batch, purpose };
    texts.extend(unposted.texts(commands));
    let scheduled = reader.snapshot(batch)?.scheduled(now)?;
    texts.extend(unposted.of_rows(scheduled, commands));
    Ok(texts)
}

/// What is said of a rehearsal, wherever its figures look like those of a payment.
pub(in crate::cli) const REHEARSAL: &str = "rehearsal: no money moves";

/// Returns whether a batch is a rehearsal, for programs; null where nobody knows yet.
fn rehearsal_json(purpose: Purpose) -> Value {
    match purpose {
        Purpose::Unknown => Value::Null,
        known => (known == Purpose::Rehearsal).into(),
    }
}

/// States with their tallies, rejected rows among them, in the order of a payment's life.
pub(in crate::cli) fn states(standing: &Standing) -> Vec<(&'static str, Tally)> {
    let mut states: Vec<(&'static str, Tally)> = State::ALL
        .into_iter()
        .map(|state| (state.name(), standing.of(state)))
        .collect();
    let unpriced = Tally {
        count: standing.unpriced,
        ..Tally::default()
    };
    states.insert(0, ("unpriced", unpriced));
    let after_failed = states
        .iter()
        .position(|(name, _)| *name == "failed")
        .map_or(0, |at| at + 1);
    let skipped = Tally {
        count: standing.skipped,
        ..Tally::default()
    };
    states.insert(after_failed, ("skipped", skipped));
    states.insert(after_failed, ("withdrawn", standing.withdrawn.clone()));
    states.insert(after_failed, ("rejected", standing.rejected.clone()));
    states
}

/// Returns what waits for its time, for programs.
fn scheduled_json(scheduled: Scheduled) -> Value {
    let [first, last] = match scheduled.span {
        Some((first, last)) => [first, last].map(|at| Some(at.to_string())),
        None => [None, None],
    };
    json!({"count": scheduled.count, "first": first, "last": last})
}

/// Returns the standing of a batch with what waits for its time, and what the journal may have missed.
fn whole(reader: &Reader, batch: &BatchName, standing: &Standing) -> Result<Value, Error> {
    let mut value = with_missed(reader, to_json(batch, standing))?;
    if let Some(let_go) = reader.snapshot(batch)?.let_go()? {
        value["people_let_go"] = json!({"at": let_go.at.to_string(), "archive": let_go.archive});
    }
    let discrepancies = reader.snapshot(batch)?.discrepancies()?;
    if !discrepancies.is_empty() {
        value["statement_discrepancies"] = statements::statements_json(&discrepancies);
    }
    value["dates"] = dates_json(standing.dates);
    value["scheduled"] = scheduled_json(reader.snapshot(batch)?.scheduled(Timestamp::now())?);
    let runners = reader.snapshot(batch)?.runners()?;
    if !runners.is_empty() {
        value["runners"] = runners_json(&runners);
    }
    let limited = reader.snapshot(batch)?.limited()?;
    if !limited.is_empty() {
        value["limited"] = limits::limited_json(&limited);
    }
    if !standing.is_finished() {
        let left_behind = reader.snapshot(batch)?.left_behind()?;
        if left_behind > 0 {
            value["left_behind"] = left_behind.into();
        }
        let since = reader.snapshot(batch)?.repeated_since()?;
        if !since.is_empty() {
            value["repeated_since"] = since.iter().map(repeats::since_json).collect();
        }
    }
    Ok(value)
}

/// Adds what the journal may have missed.
fn with_missed(reader: &Reader, mut standing: Value) -> Result<Value, Error> {
    standing["recovery"] = recover_told::missed_json(reader.missed()?.as_ref());
    let lost = reader.orders_lost()?;
    standing["orders_lost"] = lost.count.into();
    standing["orders_unknown"] = lost.unknown.into();
    Ok(standing)
}

/// Returns the standing for programs, in the shape that the contract names.
pub(in crate::cli) fn to_json(batch: &BatchName, standing: &Standing) -> Value {
    let total = standing.total();
    let purpose = standing.purpose;
    let commands = Commands { batch, purpose };
    // A rehearsal goes to whichever sandbox is beside it.
    let is_paid = purpose != Purpose::Rehearsal;
    let destination = standing.destination.as_ref().filter(|_| is_paid);
    let states: Map<String, Value> = states(standing)
        .into_iter()
        .map(|(name, tally)| {
            (
                name.to_owned(),
                json!({"count": tally.count, "amounts": amounts(&tally)}),
            )
        })
        .collect();
    json!({
        "batch": batch.as_str(),
        "gateway": standing.gateway,
        "account": standing.account,
        "destination": destination.map(|to| json!({
            "gateway": to.gateway,
            "account": to.user,
            "profile": to.profile,
        })),
        "rehearsal": rehearsal_json(standing.purpose),
        "finished": standing.is_finished(),
        "count": total.count,
        "amounts": amounts(&total),
        "states": states,
        "evidence": head_json(&standing.evidence),
        "named_otherwise": standing.named_otherwise,
        "waiting": standing.waiting.iter().map(|held| waiting(commands, held)).collect::<Vec<_>>(),
        "waiting_count": standing.waiting_count,
        "undecided": standing.undecided.iter().map(warnings::undecided_json).collect::<Vec<_>>(),
        "undecided_count": standing.undecided_count,
        "held_lanes": standing.held.iter().map(|lane| lane.service.as_str()).collect::<Vec<_>>(),
        "loaded_anew": standing.loaded_anew.iter().map(|(batch, rows)| json!({"batch": batch, "count": rows})).collect::<Vec<_>>(),
        "paid_twice": standing.paid_twice.iter().map(warnings::paid_twice_json).collect::<Vec<_>>(),
    })
}

fn waiting(commands: Commands<'_>, held: &Waiting) -> Value {
    let waits = waiting::waits(commands, held.id, held.waits_for);
    json!({"payer_transaction_id": held.id.as_str(), "waits": waits})
}

/// Tells what the retries wait for that are held back, and which ended payments are asked about again.
pub(in crate::cli) fn waiting_texts(batch: &BatchName, standing: &Standing) -> Vec<String> {
    let purpose = standing.purpose;
    let commands = Commands { batch, purpose };
    let until_done = (standing.until_done > 0).then(|| {
        let (wait, their) = match standing.until_done {
            1 => ("waits", "its row"),
            _ => ("wait", "their rows"),
        };
        format!(
            "{} {wait} until {}: one of them may have paid {their}",
            output::counted(standing.until_done, "payment"),
            waiting::UNTIL_DONE
        )
    });
    let own = |held: &&Waiting| held.waits_for != WaitsFor::Recovered;
    let named = standing.waiting.iter().filter(own);
    let told = named.clone().map(|held| {
        let waits = waiting::waits(commands, held.id, held.waits_for);
        match held.waits_for {
            WaitsFor::Itself { .. } => format!("payment {}: {waits}", held.id),
            _ => format!("the retry {} {waits}", held.id),
        }
    });
    let is_any_told = named.clone().next().is_some() || until_done.is_some();
    let more = standing
        .waiting_count
        .saturating_sub(standing.until_done + named.count() as u64);
    let rest = (more > 0).then(|| {
        let count = output::counted(more, "payment");
        match is_any_told {
            true => format!(
                "{count} more like these: disburse report {batch} --out reports/{batch} lists them all"
            ),
            // The recovery that they waited for is done.
            false => format!("{count} waited, and nothing holds them back any more: the next run posts them (disburse run {batch})"),
        }
    });
    let undecided = warnings::undecided_texts(commands, standing);
    let all = undecided.into_iter().chain(told);
    all.chain(until_done).chain(rest).collect()
}

fn amounts(tally: &Tally) -> Value {
    json!(tally.amounts.decimals())
}

/// Returns what a state says to a person; programs have its name.
pub(in crate::cli) fn words(state: State) -> &'static str {
    state.in_words()
}

/// Returns the table of counts and amounts per state, with the total they add up to.
// Not a control total: that is what the valid rows came to at the load, and this has the rejected ones too.
pub(in crate::cli) fn table(standing: &Standing) -> String {
    let row = |name: &str, tally: &Tally| {
        vec![
            name.to_owned(),
            output::grouped(&tally.count.to_string()),
            output::amounts(&tally.amounts),
        ]
    };
    let mut rows: Vec<Vec<String>> = states(standing)
        .iter()
        .filter(|(name, tally)| tally.count > 0 && *name != StateName::Skipped.as_str())
        .map(|(name, tally)| row(StateName::words_of(name), tally))
        .collect();
    rows.push(row("all rows", &standing.total()));
    if standing.skipped > 0 {
        // No payments: they are in no sum.
        rows.push(vec![
            StateName::Skipped.in_words().to_owned(),
            output::grouped(&standing.skipped.to_string()),
            String::new(),
        ]);
    }
    output::table(&["state", "count", "amount"], rows, &[1, 2])
}
