//! What a finished run says: the report, where the batch stands, and the exit code.

use std::path::{Path, PathBuf};

use super::super::Error;
use super::super::exit::ExitStatus;
use super::super::session::{Session, run_command, sandbox_flag};
use super::examples::Examples;
use super::heads;
use super::job::Outcome;
use super::still_open::{named, why_open};
use crate::cli::commands::bills::unpriced_text;
use crate::cli::commands::report;
use crate::cli::commands::sandbox;
use crate::cli::commands::status;
use crate::cli::commands::verify;
use crate::cli::files::failed_rows;
use crate::cli::gateway;
use crate::cli::terminal::output;
use crate::cli::words::behind;
use crate::cli::words::ended;
use crate::cli::words::hints;
use crate::cli::words::let_go::let_go_text;
use crate::cli::words::no_entry;
use crate::cli::words::unpaid::unpaid;
use crate::cli::words::warnings;
use crate::domain::{BatchName, PaymentId};
use crate::engine::Ending;
use crate::journal::{Journal, LetGo, Reader, Standing, StandingRow};
use crate::ledger::recovery::OrdersLost;
use crate::ledger::{HeldFor, Purpose};
use crate::lifecycle::State;

/// Writes the report, prints where the batch stands, and chooses the exit code.
pub(super) async fn conclude(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
    outcome: &Outcome,
    out: Option<PathBuf>,
) -> Result<ExitStatus, Error> {
    let let_go = Reader::open(session.location()?)?
        .snapshot(batch)?
        .let_go()?;
    // A report that was written when the people were known stays: this one would have digests in their place.
    let out = out.filter(|_| let_go.as_ref().is_none_or(|it| it.archive.is_none()));
    let written = match &out {
        Some(out) => Some(report::write(session, batch, out, false).await),
        None => None,
    };
    let standing = journal.standing(batch.clone()).await?;
    // A rehearsal reaches nothing outside.
    if standing.purpose != Purpose::Rehearsal {
        heads::hand_over_heads(session);
    }
    if session.common.json {
        output::json(&status::to_json(batch, &standing));
    } else {
        output::print(&status::table(&standing));
        output::line(&verify::head_text(&standing.evidence));
    }
    if let Some(ledger) = &outcome.ledger {
        output::line_unless(session.common.json, &sandbox::verdict_text(ledger));
    }
    if let Some(written) = written {
        let written = written.map_err(|error| error.of_report(batch.as_str()))?;
        if !written.reconciliation.adds_up() {
            for difference in written.reconciliation.differences() {
                output::complain(
                    "error",
                    &format!("the report does not add up: {difference}"),
                );
            }
            return Err(Error::unexpected(
                "the report does not add up to the control totals",
            ));
        }
        output::line_unless(
            session.common.json,
            &format!(
                "report: {}",
                output::name(&written.paths.html.display().to_string())
            ),
        );
    }
    tell_of_rows(session, batch, &standing, let_go.as_ref())?;
    match outcome.summary.ending {
        Ending::Misread(first) => return misread(session, batch, first),
        Ending::Taken(_) => return Ok(taken(batch)),
        _ => {}
    }
    let ended = (&*outcome.calendar, &outcome.summary.ending);
    let examples = Examples::of(session, journal, batch, &standing, ended).await?;
    let verdict = verdict(batch, outcome, &standing, &examples, out.as_deref());
    if standing.of(State::InDoubt).count > 0 && words_wait(session, journal, &standing).await? {
        output::complain(
            "hint",
            "the gateway's words for \"not found\" (replies.not_found_description of the dialect) do not count yet, so \
             asking again may change nothing. `disburse probe --pay FILE` tests with one small payment whether the \
             gateway refuses an identifier that it has already; if it does, these words count from then on",
        );
    }
    Ok(verdict)
}

/// Says of the rows of a batch what the table of states does not.
fn tell_of_rows(
    session: &Session,
    batch: &BatchName,
    standing: &Standing,
    let_go: Option<&LetGo>,
) -> Result<(), Error> {
    if let Some(let_go) = let_go {
        let zone = session.zone(standing.purpose == Purpose::Rehearsal);
        output::complain("note", &let_go_text(let_go, None, &zone));
    }
    if standing.named_otherwise > 0 {
        let first = Reader::open(session.location()?)?
            .snapshot(batch)?
            .example_named_otherwise()?;
        let text = warnings::named_otherwise_text(batch, standing, first);
        output::complain("warning", &text);
    }
    Ok(())
}

/// Returns whether the dialect has words for "not found" that wait for a probe.
async fn words_wait(
    session: &Session,
    journal: &Journal,
    standing: &Standing,
) -> Result<bool, Error> {
    if standing.purpose == Purpose::Rehearsal {
        return Ok(false);
    }
    let settings = session.settings(false, Vec::new())?;
    if settings.dialect.dialect.replies.not_found_words.is_none() {
        return Ok(false);
    }
    let probe = journal
        .duplicate_probe(gateway::home(&settings, None)?)
        .await?;
    Ok(!gateway::words_count(&settings, probe.as_ref()))
}

/// Tells what stopped the posts when the gateway has had the identifiers before.
fn taken(batch: &BatchName) -> ExitStatus {
    output::complain(
        "error",
        "the gateway answered ten first posts in a row with 229: it had these identifiers before this journal posted \
         them, so nothing more is posted. This happens when a journal was lost, restored or copied, or when another \
         journal uses the same batch name and references",
    );
    output::complain(
        "hint",
        &format!(
            "if an earlier journal posted this batch: disburse recover {batch} --presume-posted, which begins a \
             recovery, in which the gateway is asked before anything is posted, and lists the next steps. If not, \
             somebody else has used these identifiers: first ask the gateway's people whether anybody was paid; only \
             if nobody was, load the rows under another batch name"
        ),
    );
    ExitStatus::Stopped
}

/// Tells what stopped the posts when the gateway seems to speak of other payments all the time.
fn misread(session: &Session, batch: &BatchName, first: PaymentId) -> Result<ExitStatus, Error> {
    let reader = Reader::open(session.location()?)?;
    let example = reader.snapshot(batch)?.named_otherwise(first)?;
    let (id, words) = example
        .map(|(id, words)| (id.to_string(), words))
        .unwrap_or_default();
    output::complain(
        "error",
        &format!(
            "ten replies in a row named another amount, currency or number than that of their payment, so nothing more \
             is posted; the first was about {id}: {words}"
        ),
    );
    output::complain(
        "hint",
        &format!(
            "show the gateway's people what it answered, disburse explain {batch} {id}, and ask how it writes amounts, \
             currencies and numbers. None of these replies was believed: what was posted is in doubt, and the next run \
             asks about it. A run posts nothing more until an answer names our amount, currency and number, or until \
             you open the services again with `disburse resume-lane`"
        ),
    );
    Ok(ExitStatus::Stopped)
}

/// Rows that were paid more than once are named on the screen as far as this.
const SHOUTED: usize = 20;

/// Says which rows were paid more than once: the gateway executed what it had said it would not.
fn shout_paid_twice(standing: &Standing) {
    if standing.paid_twice_count == 0 {
        return;
    }
    let rows = output::counted(standing.paid_twice_count, "row");
    output::complain(
        "error",
        &format!(
            "PAID TWICE: {rows}. A payment that the gateway had called failed was paid as well"
        ),
    );
    for row in standing.paid_twice.iter().take(SHOUTED) {
        output::complain("error", &format!("PAID TWICE: {}", row.sentence()));
    }
    output::complain(
        "hint",
        "the report lists them all: ask the gateway to take back what was paid too much, and pay none of them again",
    );
}

/// Says of a batch that is finished who is not paid, and what may be done about each kind.
fn tell_who_is_not_paid(
    batch: &BatchName,
    orders_lost: OrdersLost,
    standing: &Standing,
    examples: &Examples,
    out: Option<&Path>,
) {
    let failed = standing.of(State::Failed).count;
    let conflict = standing.of(State::Conflict).count;
    let rejected = standing.rejected.count;
    let kinds = unpaid(standing);
    // Rows that were paid twice are told before, and may be the only thing that is wrong.
    if kinds.is_empty() {
        return;
    }
    let text = format!("finished, but not everybody is paid: {}", kinds.join(", "));
    output::complain("warning", &text);
    if conflict > 0 {
        let (name, others) = named(examples.conflict, conflict);
        let hint = format!(
            "what is in conflict may have been paid: do not pay it in any other way until it is decided. See disburse explain {batch} {name}, ask the gateway's people, then disburse resolve {batch} {name}{}, with --paid or --failed{others}",
            sandbox_flag(standing.purpose)
        );
        output::complain("hint", &hint);
    }
    if failed + rejected > 0 && examples.is_archived {
        output::complain(
            "hint",
            "nobody can retry or mend these here: their names and numbers are only in the archive. disburse archive \
            read FILE --report FOLDER writes failed.csv with them; load what is still owed as rows of a new batch",
        );
        return;
    }
    if failed > 0 {
        tell_ways_on(batch, orders_lost, standing.purpose, examples, out);
    }
    if rejected > 0 {
        let knows_all = orders_lost.is_none() && examples.lost.is_none() && !examples.is_behind;
        tell_rejected(batch, standing.purpose, knows_all);
    }
    if failed + conflict + rejected == 0 {
        output::complain(
            "hint",
            "what was cancelled is never paid under this batch name. If another row was loaded in its place, nothing is left to do: do not pay it \
            again. To pay it after all, load it under another batch name",
        );
    }
}

/// Says of failed payments why each failed, and what may be done, a hint for each step.
fn tell_ways_on(
    batch: &BatchName,
    orders_lost: OrdersLost,
    purpose: Purpose,
    examples: &Examples,
    out: Option<&Path>,
) {
    let why = match out {
        Some(_) => "the report says why each failed".to_owned(),
        None => {
            format!("to see why each failed: disburse report {batch} --out reports/{batch}")
        }
    };
    output::complain("hint", &why);
    let file = out.map(failed_rows::name_in);
    let again = ended::ways_on(
        batch,
        &examples.failed,
        file.as_deref(),
        sandbox_flag(purpose),
    );
    let hints = match (orders_lost.is_none(), examples.lost.is_none()) {
        (true, true) if examples.is_behind => vec![behind::recover_first()],
        (true, true) => again,
        // What had failed may be paid by a retry or a corrected row that is lost.
        (false, _) => vec![
            format!(
                "do not pay them again yet, unless an order that is lost was to do so: that one may have paid them. {}",
                behind::orders_lost_text(orders_lost)
            ),
            hints::ORDERS_LOST_HINT.to_owned(),
        ],
        (true, false) => {
            let first = format!(
                "do not pay them again yet: this journal (an older copy or a new one) lacks {}, posted from its place, which may have paid them. First load those files again, each under its batch name, and run them; then:",
                examples.lost.text()
            );
            std::iter::once(first).chain(again).collect()
        }
    };
    for hint in hints {
        output::complain("hint", &hint);
    }
}

/// Says what is done about rejected rows. `knows_all`: the journal cannot have missed that one was mended.
fn tell_rejected(batch: &BatchName, purpose: Purpose, knows_all: bool) {
    let first = match knows_all {
        true => "rejected rows were never sent",
        false => {
            "rejected rows may have been mended and paid already, which this journal does not show; once the recovery \
            is done"
        }
    };
    let hint = format!(
        "{first}: mend the corrections file, then: disburse load FILE --batch {batch} --amend{}, with --layout and --period as \
             they were where the batch was loaded with them. A row that was \
             rejected as a repeat is refused again, unless --allow-repeats says that it is a debt of its own. To \
             withdraw a row that must not be paid: disburse cancel {batch} --rejected LINE --reason TEXT",
        sandbox_flag(purpose)
    );
    output::complain("hint", &hint);
}

/// Tells that nothing is posted since an earlier run stopped over words that are not about us; returns whether that is so.
fn stands_stopped(batch: &BatchName, outcome: &Outcome, standing: &Standing) -> bool {
    let waited = matches!(
        outcome.summary.ending,
        Ending::Held | Ending::TimedOut | Ending::NeedsDecision
    );
    let mut lanes = standing.held.iter();
    let lane = lanes.find(|lane| matches!(lane.held_for, HeldFor::Misread | HeldFor::Taken));
    let Some(lane) = lane.filter(|_| waited && standing.of(State::Ready).count > 0) else {
        return false;
    };
    let why = status::held_for(lane.held_for);
    let text = format!("nothing more is posted {why}, and no answer has explained it since");
    output::complain("error", &text);
    let hint = format!(
        "ask the gateway's people about it. Once you know that these payments may be posted: disburse resume-lane {batch} {}, the \
         same for each other service that `disburse status {batch}` calls paused, and then: {}",
        lane.service,
        run_command(batch, standing.purpose)
    );
    output::complain("hint", &hint);
    true
}

/// Tells that a service was stopped because too many of its payments failed; returns whether that is so.
fn stopped_for_failures(batch: &BatchName, outcome: &Outcome, standing: &Standing) -> bool {
    let mut lanes = standing.held.iter();
    let lane = lanes.find(|lane| lane.held_for == HeldFor::Failures);
    let waits = outcome.summary.ending == Ending::Held && standing.of(State::Ready).count > 0;
    let Some(lane) = lane.filter(|_| waits) else {
        return false;
    };
    let of_lane = |state| {
        let rows = standing.rows.iter();
        let rows = rows.filter(|row| row.service == lane.service && row.state == state);
        rows.map(|row| row.tally.count).sum::<u64>()
    };
    let text = format!(
        "nothing more is posted through {} {}: {} failed and {} paid",
        lane.service,
        status::held_for(lane.held_for),
        of_lane(State::Failed),
        of_lane(State::Paid)
    );
    output::complain("error", &text);
    let hint = format!(
        "to see why they failed: disburse report {batch} --out reports/{batch}. Once the others may be posted: \
         disburse resume-lane {batch} {}, which counts failures from zero again, and then: {}",
        lane.service,
        run_command(batch, standing.purpose)
    );
    output::complain("hint", &hint);
    true
}

/// Says what waits for float, when it is sent, and how it is kept from that.
fn float_text(batch: &BatchName, standing: &Standing) -> Option<String> {
    let waiting = standing.waiting_for_float();
    let lanes: Vec<&str> = standing
        .held
        .iter()
        .filter(|lane| lane.held_for == HeldFor::Float)
        .map(|lane| lane.service.as_str())
        .collect();
    let lane = lanes.first()?;
    let (wait, them) = match waiting.count {
        0 => return None,
        1 => ("waits", "it"),
        _ => ("wait", "them"),
    };
    Some(format!(
        "{} of {} not sent, and {wait} for the float of {} (230). When it is topped up: disburse resume-lane {batch} \
         {lane} (or the service opens by itself, where that is configured); then {} sends {them}. To cancel what must \
         not be paid any more: disburse cancel {batch} REFERENCE",
        output::counted(waiting.count, "payment"),
        output::amounts(&waiting.amounts),
        lanes.join(", "),
        run_command(batch, standing.purpose)
    ))
}

fn verdict(
    batch: &BatchName,
    outcome: &Outcome,
    standing: &Standing,
    examples: &Examples,
    out: Option<&Path>,
) -> ExitStatus {
    let all_paid = standing.rejected.count == 0
        && standing.paid_twice_count == 0
        && standing.doubtful == 0
        && standing
            .rows
            .iter()
            .all(|row| row.state == State::Paid || row.tally.count == 0);
    shout_paid_twice(standing);
    for text in status::waiting_texts(batch, standing) {
        output::complain("warning", &text);
    }
    if standing.is_finished() {
        if all_paid {
            return ExitStatus::Done;
        }
        tell_who_is_not_paid(batch, outcome.orders_lost, standing, examples, out);
        return ExitStatus::Incomplete;
    }
    let run = run_command(batch, standing.purpose);
    let settled = |row: &StandingRow| row.state.is_finished() || row.tally.count == 0;
    if standing.unpriced > 0 && standing.rows.iter().all(settled) {
        let remedy = "they were added while the run went on";
        output::complain("warning", &unpriced_text(standing.unpriced, remedy));
        output::complain("hint", &format!("{run} --pay-due"));
        return ExitStatus::Unfinished;
    }
    if let Some(text) = float_text(batch, standing) {
        output::complain("warning", &text);
    }
    if let Some(text) = examples
        .limited
        .as_ref()
        .filter(|_| outcome.summary.ending != Ending::Limited)
    {
        output::complain("warning", text);
    }
    if stopped_for_failures(batch, outcome, standing) {
        return ExitStatus::Stopped;
    }
    if stands_stopped(batch, outcome, standing) {
        return ExitStatus::Stopped;
    }
    let Some((verdict, why, next)) = why_open(batch, outcome, standing, examples) else {
        // Told before, with its example.
        return ExitStatus::Stopped;
    };
    // Quiet is for what goes well.
    let failed =
        verdict == ExitStatus::Stopped || matches!(outcome.summary.ending, Ending::Unreachable(_));
    output::complain(if failed { "error" } else { "warning" }, &why);
    output::complain("hint", &next);
    if examples.has_no_entry {
        output::complain("hint", no_entry::HINT);
    }
    verdict
}
