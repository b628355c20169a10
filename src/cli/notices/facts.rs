//! How a batch stands, as far as notices tell it. Nobody is named in them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::commands::status;
use crate::cli::session::Commands;
use crate::domain::BatchName;
use crate::engine::Ending;
use crate::journal::{NewNotice, Standing};
use crate::ledger::notices::{Condition, NoticeFacts, NoticeKind, NoticeRules, conditions};
use crate::lifecycle::State;

/// What is known of a batch beside the journal.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Look {
    /// Somebody runs it.
    pub(in crate::cli) runs: bool,
    /// Its run has just ended, by itself.
    pub(in crate::cli) ended: bool,
    /// Why nobody runs it, where that is known.
    pub(in crate::cli) reason: Option<&'static str>,
    /// How long nothing was learned, where something is to be.
    pub(in crate::cli) quiet: Option<Duration>,
    /// Payments wait for signatures.
    pub(in crate::cli) waits_for_approval: bool,
}

impl Look {
    /// A run that has ended.
    pub(in crate::cli) fn ended(ending: &Ending, waits_for_approval: bool) -> Self {
        Self {
            ended: true,
            reason: Some(word(ending)),
            waits_for_approval,
            ..Self::default()
        }
    }

    /// A run that has ended with an error.
    pub(in crate::cli) fn failed(waits_for_approval: bool) -> Self {
        Self {
            reason: Some("error"),
            waits_for_approval,
            ..Self::default()
        }
    }
}

/// What a run that ended for want of signatures says.
const UNAPPROVED: &str = "waiting_for_approval";

/// Returns how a run ended, in a word that programs compare.
fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Finished => "finished",
        Ending::Posted => "everything_posted",
        Ending::Held => "lanes_held",
        Ending::Documents => "waiting_for_documents",
        Ending::Unconfirmed => "waiting_for_confirmation",
        Ending::Unapproved => UNAPPROVED,
        Ending::Exposed | Ending::Limited => "waiting_for_limit",
        Ending::Scheduled => "waiting_for_time",
        Ending::ClockSet => "clock_set",
        Ending::Over => "time_over",
        Ending::NeedsDecision => "needs_decision",
        Ending::TimedOut => "timed_out",
        Ending::Drained => "ended_by_operator",
        Ending::Stopped(_) => "stopped_by_gateway",
        Ending::Misread(_) => "replies_name_other_payments",
        Ending::Taken(_) => "identifiers_taken",
        Ending::CircuitOpen => "gateway_loses_posts",
        Ending::Unreachable(_) => "gateway_unreachable",
    }
}

/// Returns what is worth telling of a batch, and what is said of it.
pub(super) fn worth_telling(
    batch: &BatchName,
    standing: &Standing,
    look: &Look,
    rules: &NoticeRules,
) -> Vec<NewNotice> {
    let facts = facts(standing, look);
    conditions(&facts, rules)
        .into_iter()
        .map(|condition| NewNotice {
            data: data(batch, standing, look, &condition, rules).to_string(),
            condition,
        })
        .collect()
}

fn facts(standing: &Standing, look: &Look) -> NoticeFacts {
    let left = |state: &State| *state != State::Ready && *state != State::Cancelled;
    let mut held: Vec<String> = standing
        .held
        .iter()
        .map(|lane| lane.service.to_string())
        .collect();
    held.dedup();
    NoticeFacts {
        is_finished: standing.is_finished(),
        runs: look.runs,
        is_begun: look.ended
            || State::ALL
                .iter()
                .any(|state| left(state) && standing.of(*state).count > 0),
        held,
        conflicts: standing.of(State::Conflict).count,
        failed: standing.of(State::Failed).count,
        waits_for_approval: look.waits_for_approval,
        ended_for_approval: look.reason == Some(UNAPPROVED)
            || look.reason.is_none() && look.waits_for_approval,
        quiet: look.quiet,
    }
}

/// What a notice says: the figures of `status --json`, and what to do.
fn data(
    batch: &BatchName,
    standing: &Standing,
    look: &Look,
    condition: &Condition,
    rules: &NoticeRules,
) -> Value {
    let whole = status::to_json(batch, standing);
    let mut data = json!({});
    for key in [
        "batch",
        "rehearsal",
        "finished",
        "count",
        "amounts",
        "states",
        "held_lanes",
    ] {
        data[key] = whole[key].clone();
    }
    match condition.kind {
        NoticeKind::LaneHeld => {
            let mut lanes = standing.held.iter();
            let lane = lanes.find(|lane| lane.service.as_str() == condition.subject);
            data["service"] = json!(condition.subject);
            data["reason"] = json!(lane.map(|lane| status::held_for(lane.held_for)));
        }
        NoticeKind::Stopped => {
            data["reason"] = json!(look.reason.unwrap_or("nobody_runs_it"));
        }
        NoticeKind::FailuresAbove => data["allowed"] = json!(rules.failures_above),
        NoticeKind::NothingHappened => {
            let seconds = rules.quiet_for.map(|quiet| quiet.as_secs());
            data["seconds"] = json!(seconds);
        }
        NoticeKind::Finished | NoticeKind::Conflict | NoticeKind::WaitingForApproval => {}
    }
    data["what_to_do"] = json!(what_to_do(batch, standing, condition));
    data
}

fn what_to_do(batch: &BatchName, standing: &Standing, condition: &Condition) -> String {
    let purpose = standing.purpose;
    let run = Commands { batch, purpose }.run();
    match condition.kind {
        NoticeKind::Finished => {
            format!("disburse report {batch} --out reports/{batch} says what became of every row")
        }
        NoticeKind::LaneHeld => format!(
            "disburse status {batch} says why; when that is solved (a float that is too small: topped up): disburse resume-lane {batch} {}, and then: {run}",
            condition.subject
        ),
        NoticeKind::Stopped => format!(
            "disburse status {batch} says what is left; to go on is safe: {run}, which asks first about what is unknown"
        ),
        NoticeKind::Conflict => format!(
            "these payments may have been paid: pay them in no other way; disburse report {batch} --out reports/{batch} lists them, and disburse resolve records what you find out"
        ),
        NoticeKind::FailuresAbove => format!(
            "disburse report {batch} --out reports/{batch} says why each failed; nothing of it is paid again by itself"
        ),
        NoticeKind::WaitingForApproval => {
            format!("somebody who may approve says: disburse approve {batch}; and then: {run}")
        }
        NoticeKind::NothingHappened => {
            format!(
                "see what disburse status {batch} and the log of the run say; then ask the gateway's people"
            )
        }
    }
}
