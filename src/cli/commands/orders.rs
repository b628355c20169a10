//! What an operator orders: `cancel`, `resume-lane`.

use std::collections::BTreeSet;

use serde_json::json;

use super::status;
use super::withdraw;
use crate::cli::Error;
use crate::cli::arguments::{CancelArguments, ResumeLaneArguments};
use crate::cli::exit::ExitStatus;
use crate::cli::named;
use crate::cli::order_signing::{Given, OrderSigning};
use crate::cli::session::{Session, batch_name, payment_name, run_command, sandbox_flag};
use crate::cli::terminal::ask::{confirmed, is_attended};
use crate::cli::terminal::output;
use crate::cli::words::next::next_text;
use crate::cli::words::told::{states, tell};
use crate::domain::{BatchName, Timestamp};
use crate::journal::{Journal, ToCancel};
use crate::lifecycle::StepContext;

fn now() -> StepContext {
    StepContext {
        now: Timestamp::now(),
        jitter: 0,
    }
}

/// What becomes of the cancellation of a payment that an earlier journal may have posted.
const ASKED_FIRST: &str = "an earlier journal may have posted it. The next run asks the gateway about it; if the gateway does not know it, it \
    is cancelled, and not posted. If the gateway says that it failed, it stays failed: cancel it again then, or a retry may pay it";

/// `disburse cancel`.
pub(in crate::cli) async fn cancel(
    session: &Session,
    arguments: CancelArguments,
) -> Result<ExitStatus, Error> {
    let journal = session.journal()?;
    let batch = batch_name(&arguments.batch)?;
    let purpose = journal.standing(batch.clone()).await?.purpose;
    let signing = OrderSigning::of(session, &journal, purpose, &arguments.signing)?;
    let signing = signing.because(arguments.reason.as_deref());
    let yes = arguments.yes || arguments.signing.print;
    if let Some(names) = arguments.rejected {
        let order = withdraw::Order {
            names,
            reason: arguments.reason.unwrap_or_default(),
            yes,
        };
        return withdraw::rejected(session, (&journal, &signing), batch, order).await;
    }
    let reason = withdraw::reason_of(arguments.reason)?;
    let meant = match payment_name(arguments.name)? {
        Some(name) => Some(named::find(session, &batch, &name)?),
        None => None,
    };
    let Some(meant) = meant else {
        return cancel_all(session, (&journal, &signing), batch, reason, yes).await;
    };
    let who = format!("{}, {}", meant.text(), meant.pays());
    if meant.has_failed() {
        let what = format!(
            "close the failed payment {who} of batch {batch}: nobody can retry or correct it then. To pay it after all, load it with its reference \
             under a new batch name"
        );
        confirmed(yes, &what).await?;
    } else if meant.is_waiting_retry() {
        let what = format!(
            "cancel {who} of batch {batch}, a retry: nobody can retry its row again. To pay it after all, load it with its reference under a new \
             batch name"
        );
        confirmed(yes, &what).await?;
    } else if !yes && is_attended() {
        // A job needs no word for it: money that does not move is ordered again under another batch name.
        let what =
            format!("cancel {who}, of batch {batch}: under this batch name it can never be paid");
        confirmed(false, &what).await?;
    }
    let given = signing.give(async |journal| {
        let (batch, reason) = (batch.clone(), reason.clone());
        journal
            .cancel_because(batch, Some(meant.name()), reason, now())
            .await
    });
    let count = match given.await? {
        Given::Done(count) => count,
        Given::Not(status) => return Ok(status),
    };
    if count == 0 {
        tell(
            session,
            json!({"cancelled": 0, "ordered": 1}),
            &format!("{}: {ASKED_FIRST}", meant.text()),
        );
        return Ok(ExitStatus::Done);
    }
    tell(
        session,
        json!({"cancelled": count}),
        &format!("{} cancelled: {who}", output::counted(count, "payment")),
    );
    Ok(ExitStatus::Done)
}

/// Withdraws a whole batch. What an earlier journal may have posted is asked about first, as where it is named alone.
async fn cancel_all(
    session: &Session,
    (journal, signing): (&Journal, &OrderSigning<'_>),
    batch: BatchName,
    reason: Option<String>,
    yes: bool,
) -> Result<ExitStatus, Error> {
    let shown = journal.to_cancel(batch.clone()).await?;
    let standing = journal.standing(batch.clone()).await?;
    // Whoever withdraws a batch takes all of it for stopped: what the next run posts is named before the question.
    if let Some(example) = shown.posted_once_example {
        let rows = output::counted(shown.posted_once, "payment");
        output::complain(
            "warning",
            &format!(
                "{rows} of batch {batch} NOT cancelled: posted once without an outcome, and the gateway has not found \
                them since; the next run posts them again"
            ),
        );
        output::complain(
            "hint",
            &format!(
                "to keep each from being posted again: disburse resolve {batch} --id {example}{} --failed --reason TEXT --evidence TEXT, \
                 which asks the gateway first",
                sandbox_flag(journal.standing(batch.clone()).await?.purpose)
            ),
        );
    }
    if shown.tally.count > 0 {
        confirmed(yes, &whole_batch_text(&batch, &shown)).await?;
    }
    let given = signing.give(async |journal| {
        let (batch, tally) = (batch.clone(), shown.tally.clone());
        journal
            .cancel_shown(batch, tally, reason.clone(), now())
            .await
    });
    let done = match given.await? {
        Given::Done(done) => done,
        Given::Not(status) => return Ok(status),
    };
    let cancelled = format!("{} cancelled", output::counted(done.withdrawn, "payment"));
    if done.ordered == 0 {
        // What had left before may be paid yet: who reads "cancelled" takes the whole batch for stopped.
        let text = match done.withdrawn {
            0 => format!(
                "batch {batch} has no payment to cancel: {}",
                states(&standing)
            ),
            _ => {
                let standing = journal.standing(batch.clone()).await?;
                format!(
                    "{cancelled}; the payments of batch {batch} are now: {}",
                    states(&standing)
                )
            }
        };
        tell(session, json!({"cancelled": done.withdrawn}), &text);
        return Ok(ExitStatus::Done);
    }
    tell(
        session,
        json!({"cancelled": done.withdrawn, "ordered": done.ordered}),
        &format!(
            "{cancelled}; {} more may have been posted by an earlier journal: {} asks the gateway about them, and \
            cancels those that it does not know",
            output::counted(done.ordered, "payment"),
            run_command(&batch, standing.purpose)
        ),
    );
    Ok(ExitStatus::Done)
}

/// What is about to be withdrawn with a whole batch.
fn whole_batch_text(batch: &BatchName, shown: &ToCancel) -> String {
    let of_retries = match shown.retries {
        0 => String::new(),
        retries => format!(
            " ({} of them retries, whose rows are never retried again)",
            output::grouped(&retries.to_string())
        ),
    };
    let asked_first = match shown.presumed {
        0 => String::new(),
        presumed => format!(
            ". {} of them may have been posted by an earlier journal: the next run asks the gateway about them, and \
            cancels those that it does not know",
            output::grouped(&presumed.to_string())
        ),
    };
    format!(
        "cancel {} of batch {batch}{of_retries}, {}: under this batch name they can never be paid{asked_first}",
        output::counted(shown.tally.count, "payment"),
        output::amounts(&shown.tally.amounts)
    )
}

/// `disburse resume-lane`.
pub(in crate::cli) async fn resume_lane(
    session: &Session,
    arguments: ResumeLaneArguments,
) -> Result<ExitStatus, Error> {
    let batch = batch_name(&arguments.batch)?;
    let journal = session.journal()?;
    let standing = journal.standing(batch.clone()).await?;
    let has = |row: &crate::journal::StandingRow| row.service.as_str() == arguments.service;
    if !standing.rows.iter().any(has) {
        let services: BTreeSet<&str> = standing
            .rows
            .iter()
            .map(|row| row.service.as_str())
            .collect();
        let services: Vec<&str> = services.into_iter().collect();
        return Err(Error::refused(format!(
            "batch {batch} pays nothing through {}; nothing was ordered",
            output::name(&arguments.service)
        ))
        .hint(format!("its services: {}", services.join(", "))));
    }
    let purpose = standing.purpose;
    let signing = OrderSigning::of(session, &journal, purpose, &arguments.signing)?;
    let given = signing.give(async |journal| {
        let (batch, service) = (batch.clone(), arguments.service.clone());
        journal.resume_lane(batch, service, Timestamp::now()).await
    });
    let lane = match given.await? {
        Given::Done(lane) => lane,
        Given::Not(status) => return Ok(status),
    };
    let text = match &lane {
        Some(lane) => format!(
            "{} is open again: the next run pays through it",
            lane.service
        ),
        None => format!("{} was not paused", arguments.service),
    };
    tell(
        session,
        json!({"service": arguments.service, "reopened": lane.is_some()}),
        &text,
    );
    let standing = journal.standing(batch.clone()).await?;
    if lane.is_some() {
        session.note(&next_text(session, &batch)?);
    } else {
        for lane in &standing.held {
            let why = status::held_for(lane.held_for);
            session.note(&format!("{} is paused {why}", lane.service));
        }
        if standing.held.is_empty() {
            session.note(&format!("no service of batch {batch} is paused"));
        }
    }
    Ok(ExitStatus::Done)
}
