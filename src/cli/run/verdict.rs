//! What a finished run says: the report, where the batch stands, and the exit code.

use std::path::PathBuf;

use super::super::bills::unpriced_text;
use super::super::session::Session;
use super::super::{Error, Verdict, output, report, sandbox, status, verify};
use super::Outcome;
use crate::domain::BatchName;
use crate::engine::Ending;
use crate::journal::{Journal, Standing, StandingRow};
use crate::lifecycle::State;

/// Writes the report, prints where the batch stands, and chooses the exit code.
pub(super) async fn conclude(
    session: &Session,
    journal: &Journal,
    batch: &BatchName,
    outcome: &Outcome,
    out: Option<PathBuf>,
) -> Result<Verdict, Error> {
    let written = match out {
        Some(out) => Some(report::write(session, batch, &out).await),
        None => None,
    };
    let standing = journal.standing(batch.clone()).await?;
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
    Ok(verdict(batch, outcome, &standing))
}

fn verdict(batch: &BatchName, outcome: &Outcome, standing: &Standing) -> Verdict {
    let all_paid = standing.rejected.count == 0
        && standing.replaced_conflicts == 0
        && standing
            .rows
            .iter()
            .all(|row| row.state == State::Paid || row.tally.count == 0);
    if standing.replaced_conflicts > 0 {
        let count = output::counted(standing.replaced_conflicts, "failed payment");
        output::complain(
            "warning",
            &format!(
                "{count} that a retry replaced may have been paid after all; see the report's notes"
            ),
        );
    }
    if standing.is_finished() {
        return if all_paid {
            Verdict::Done
        } else {
            Verdict::Incomplete
        };
    }
    let settled = |row: &StandingRow| row.state.is_finished() || row.tally.count == 0;
    if standing.unpriced > 0 && standing.rows.iter().all(settled) {
        let remedy = "they were added while the run went on";
        output::complain("warning", &unpriced_text(standing.unpriced, remedy));
        output::complain("hint", &format!("disburse run {batch} --pay-due"));
        return Verdict::Unfinished;
    }
    let lanes: Vec<&str> = standing
        .held
        .iter()
        .map(|lane| lane.service.as_str())
        .collect();
    let open: u64 = standing
        .rows
        .iter()
        .filter(|row| !row.state.is_finished())
        .map(|row| row.tally.count)
        .sum();
    let open = output::counted(open, "payment");
    let (verdict, why, next) = match &outcome.summary.ending {
        Ending::Held => (
            Verdict::Stopped,
            format!("the float of {} is used up (230)", lanes.join(", ")),
            if outcome.reopens_lanes {
                "top it up and run again: a run asks for the balance, and goes on when it suffices"
                    .to_owned()
            } else {
                format!(
                    "top it up, then: disburse resume-lane {batch} {} and run again",
                    lanes.first().unwrap_or(&"SERVICE")
                )
            },
        ),
        Ending::Documents => (
            Verdict::Unfinished,
            "what is left came while the run went on, and waits for its documents to be uploaded"
                .to_owned(),
            "run again to upload them".to_owned(),
        ),
        Ending::Stopped(why) => (
            Verdict::Stopped,
            format!("the gateway stopped the run: {why}"),
            "mend the configuration, then run again".to_owned(),
        ),
        Ending::CircuitOpen => (
            Verdict::Stopped,
            "the gateway lost one post after another; posts were paused to the end".to_owned(),
            "run again when it has recovered; what is unknown is asked about first".to_owned(),
        ),
        Ending::Unreachable(why) => (
            Verdict::Unfinished,
            // A post that was lost may have arrived; one that found no connection did not.
            match standing.of(State::InDoubt).count {
                0 => format!("the gateway cannot be reached: {why}; nothing was sent"),
                _ => format!("the gateway cannot be reached: {why}"),
            },
            "check base_url and the network, then run again".to_owned(),
        ),
        Ending::NeedsDecision => (
            Verdict::Unfinished,
            "what is left waits for a callback or for a decision".to_owned(),
            format!(
                "disburse explain {batch} ID, then disburse resolve {batch} ID --paid or --failed"
            ),
        ),
        Ending::TimedOut => (
            Verdict::Unfinished,
            "no payment moved for as long as --max-wait allows".to_owned(),
            "run again to go on waiting".to_owned(),
        ),
        Ending::Posted => (
            Verdict::Unfinished,
            format!("everything is posted; {open} without an outcome yet"),
            "run again to wait for them".to_owned(),
        ),
        Ending::Drained | Ending::Finished => (
            Verdict::Unfinished,
            format!("ended before its time; {open} without an outcome yet"),
            "run again to go on".to_owned(),
        ),
    };
    // Quiet is for what goes well.
    let failed =
        verdict == Verdict::Stopped || matches!(outcome.summary.ending, Ending::Unreachable(_));
    output::complain(if failed { "error" } else { "warning" }, &why);
    output::complain("hint", &next);
    verdict
}
