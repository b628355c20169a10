//! Why a batch is not finished when its run has ended, and what is to be done about it.

use std::time::Duration;

use super::super::exit::ExitStatus;
use super::super::session::{Commands, run_command, sandbox_flag};
use super::examples::Examples;
use super::job::Outcome;
use crate::cli::terminal::output;
use crate::cli::words::approvals;
use crate::cli::words::behind;
use crate::cli::words::hints;
use crate::cli::words::limits;
use crate::cli::words::waiting;
use crate::domain::{BatchName, PayerTransactionId};
use crate::engine::Ending;
use crate::journal::Standing;
use crate::lifecycle::State;

/// How a run ends that leaves something open: its exit code, why it is open, and what to do next.
type Open = (ExitStatus, String, String);

/// Returns why something is open; `None` where that was told before.
pub(super) fn why_open(
    batch: &BatchName,
    outcome: &Outcome,
    standing: &Standing,
    examples: &Examples,
) -> Option<Open> {
    let run = run_command(batch, standing.purpose);
    let open: u64 = standing
        .rows
        .iter()
        .filter(|row| !row.state.is_finished())
        .map(|row| row.tally.count)
        .sum();
    let open = output::counted(open, "payment");
    Some(match &outcome.summary.ending {
        Ending::Held => held(&run, batch, outcome, standing),
        Ending::Documents => (
            ExitStatus::Unfinished,
            "the remaining payments were added during the run, and wait for their documents to be uploaded"
                .to_owned(),
            format!("to upload them: {run}"),
        ),
        Ending::Unapproved => {
            let commands = Commands {
                batch,
                purpose: standing.purpose,
            };
            let (why, next) = approvals::missing_and_why(commands, &examples.approvals);
            (ExitStatus::Unfinished, why, next)
        }
        Ending::Unconfirmed => unconfirmed(&run, outcome, standing),
        Ending::Limited => limited(&run, batch, examples),
        Ending::Exposed => exposed(&run, examples),
        Ending::Scheduled | Ending::ClockSet | Ending::Over => {
            waits_for_time(&run, batch, outcome, examples)
        }
        Ending::Stopped(why) => (
            ExitStatus::Stopped,
            format!("the gateway stopped the run: {why}"),
            format!("mend the configuration, then: {run}"),
        ),
        Ending::Misread(_) | Ending::Taken(_) => return None,
        Ending::CircuitOpen => (
            ExitStatus::Stopped,
            "one post after another was lost; posting was paused until the run ended".to_owned(),
            format!("when the gateway has recovered: {run}, which first asks about what is unknown"),
        ),
        Ending::Unreachable(why) => (
            ExitStatus::Unfinished,
            // A post that was lost may have arrived; one that found no connection did not.
            match standing.of(State::InDoubt).count {
                0 => format!("the gateway cannot be reached: {why}; nothing was sent"),
                _ => format!("the gateway cannot be reached: {why}"),
            },
            format!("check base_url and the network, then: {run}"),
        ),
        Ending::NeedsDecision => undecided(&run, batch, outcome, standing, examples),
        Ending::TimedOut => timed_out(&run, outcome, standing),
        Ending::Posted => (
            ExitStatus::Unfinished,
            format!("everything is posted; {open} without an outcome yet"),
            format!("to wait for them: {run}"),
        ),
        Ending::Drained | Ending::Finished => (
            ExitStatus::Unfinished,
            format!("ended before its time; {open} without an outcome yet"),
            format!("to go on: {run}"),
        ),
    })
}

/// No payment moved for long.
// A quarantine begins anew with each run: one that ends before it, as the last one did, would leave what is in doubt as it is.
fn timed_out(run: &str, outcome: &Outcome, standing: &Standing) -> Open {
    let what = "no payment moved for as long as --max-wait allows";
    let in_doubt = standing.of(State::InDoubt).count > 0;
    let (what, hint) = match outcome.decides_within.filter(|_| in_doubt) {
        None => (what.to_owned(), format!("to go on waiting: {run}")),
        Some(needed) => {
            let needed = whole(needed);
            (
                format!(
                    "{what}; that is too short for payments whose outcome is unknown: with each run, the time begins anew after which \
                     \"not found\" proves something"
                ),
                format!("to wait for long enough: {run} --max-wait {needed}"),
            )
        }
    };
    (ExitStatus::Unfinished, what, hint)
}

/// Returns a time as `--max-wait` takes it, rounded up.
fn whole(time: Duration) -> String {
    let secs = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    match secs {
        0..=119 => format!("{secs}s"),
        _ => format!("{}m", secs.div_ceil(60)),
    }
}

/// What is left waits for a time, or has none any more.
fn waits_for_time(run: &str, batch: &BatchName, outcome: &Outcome, examples: &Examples) -> Open {
    let told = examples.scheduled.clone();
    let (what, hint) = match &outcome.summary.ending {
        Ending::ClockSet => (
            "the clock of this machine was changed during the run, and dates or opening hours decide when payments \
             leave: nothing more is posted"
                .to_owned(),
            format!("check the clock, then: {run}"),
        ),
        Ending::Over => (
            told.unwrap_or_else(|| "the last date of the remaining payments is over".to_owned()),
            format!("`disburse schedule {batch}` shows the dates of the batch"),
        ),
        _ => (
            told.unwrap_or_else(|| "the remaining payments waited for a time that has now come".to_owned()),
            format!("at that time: {run}"),
        ),
    };
    (ExitStatus::Unfinished, what, hint)
}

/// Payments wait for a limit.
fn limited(run: &str, batch: &BatchName, examples: &Examples) -> Open {
    let why = examples.limited.clone();
    (
        ExitStatus::Unfinished,
        why.unwrap_or_else(|| {
            "the remaining payments waited for a limit, and may leave now".to_owned()
        }),
        limits::limited_hint(&examples.limited_rows, run, batch.as_str()),
    )
}

/// As much is under way as may be.
fn exposed(run: &str, examples: &Examples) -> Open {
    (
        ExitStatus::Unfinished,
        examples.exposed.clone().unwrap_or_default(),
        format!(
            "once some of what is under way has ended ({}): {run}",
            limits::EXPOSED_HINT
        ),
    )
}

/// The float of a lane is used up.
fn held(run: &str, batch: &BatchName, outcome: &Outcome, standing: &Standing) -> Open {
    let lanes: Vec<&str> = standing
        .held
        .iter()
        .map(|lane| lane.service.as_str())
        .collect();
    (
        ExitStatus::Stopped,
        format!("the float of {} is used up (230)", lanes.join(", ")),
        if outcome.reopens_lanes {
            format!(
                "top it up, then: {run}, which asks for the balance and goes on when it is large enough"
            )
        } else {
            format!(
                "top it up, then: disburse resume-lane {batch} {}, and then: {run}",
                lanes.first().unwrap_or(&"SERVICE")
            )
        },
    )
}

/// Payments came after the run was confirmed, or orders are lost.
fn unconfirmed(run: &str, outcome: &Outcome, standing: &Standing) -> Open {
    if !outcome.orders_lost.is_none() {
        return (
            ExitStatus::Unfinished,
            format!(
                "{} of {} not posted: {}",
                output::counted(standing.of(State::Ready).count, "payment"),
                output::amounts(&standing.of(State::Ready).amounts),
                behind::orders_lost_text(outcome.orders_lost)
            ),
            hints::ORDERS_LOST_HINT.to_owned(),
        );
    }
    let later = standing.of(State::Ready);
    (
        ExitStatus::Unfinished,
        format!(
            "{} of {} came after this run was confirmed, and {} for a confirmation of {} own",
            output::counted(later.count, "payment"),
            output::amounts(&later.amounts),
            if later.count == 1 { "waits" } else { "wait" },
            if later.count == 1 { "its" } else { "their" },
        ),
        format!("check what was added or retried, then: {run}"),
    )
}

/// The gateway says nothing more of what is left.
fn undecided(
    run: &str,
    batch: &BatchName,
    outcome: &Outcome,
    standing: &Standing,
    examples: &Examples,
) -> Open {
    if !outcome.orders_lost.is_none() && standing.until_done > 0 {
        return (
            ExitStatus::Unfinished,
            behind::orders_lost_text(outcome.orders_lost),
            hints::ORDERS_LOST_HINT.to_owned(),
        );
    }
    // Told before, with how many they are.
    if standing.until_done > 0 {
        return (
            ExitStatus::Unfinished,
            "the gateway does not know the remaining payments; that proves nothing while batches may be missing".to_owned(),
            waiting::until_done_hint(Commands {
                batch,
                purpose: standing.purpose,
            }),
        );
    }
    let (name, _) = named(examples.open, 1);
    (
        ExitStatus::Unfinished,
        "the remaining payments wait for a callback or a decision".to_owned(),
        format!(
            "to see what is known about one: disburse explain {batch} {name}; to decide it: disburse resolve {batch} \
             {name}{} --paid or --failed; to wait for callbacks: disburse listen, or {run}",
            sandbox_flag(standing.purpose)
        ),
    )
}

/// Returns how a payment is named behind a batch, and what is said of the others.
pub(super) fn named(example: Option<PayerTransactionId>, count: u64) -> (String, &'static str) {
    let name = example.map_or_else(|| "ID".to_owned(), |id| format!("--id {id}"));
    let others = match count {
        0 | 1 => "",
        _ => " (the others alike: payments.csv of the report lists them)",
    };
    (name, others)
}
