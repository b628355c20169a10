//! What an operator orders: `retry`, `resolve`, `cancel`, `resume-lane`.

use serde_json::json;

use super::arguments::{CancelArguments, ResolveArguments, ResumeLaneArguments, RetryArguments};
use super::session::{Session, batch_name};
use super::{Error, Verdict, output};
use crate::domain::Timestamp;
use crate::journal::{Decision, Journal};
use crate::lifecycle::Moment;

fn now() -> Moment {
    Moment {
        now: Timestamp::now(),
        jitter: 0,
    }
}

/// `disburse retry`.
pub(super) async fn retry(session: &Session, arguments: RetryArguments) -> Result<Verdict, Error> {
    let batch = batch_name(&arguments.batch)?;
    let journal = Journal::open_existing(session.journal_path())?;
    let count = journal
        .retry(batch.clone(), arguments.code, Timestamp::now())
        .await?;
    tell(
        session,
        json!({"retried": count}),
        &format!(
            "{} will be paid anew under a new identifier",
            output::counted(count, "proven failure")
        ),
    );
    if count > 0 {
        session.note(&format!("next: disburse run {batch}"));
    }
    Ok(Verdict::Done)
}

/// `disburse resolve`.
pub(super) async fn resolve(
    session: &Session,
    arguments: ResolveArguments,
) -> Result<Verdict, Error> {
    for (flag, text) in [
        ("--reason", &arguments.reason),
        ("--evidence", &arguments.evidence),
    ] {
        if text.trim().is_empty() {
            return Err(Error::refused(format!("{flag} is empty"))
                .hint("the decision is kept for ever: say what it rests on"));
        }
    }
    let journal = Journal::open_existing(session.journal_path())?;
    let decision = Decision {
        paid: arguments.paid,
        reason: arguments.reason,
        evidence: arguments.evidence,
    };
    let moved = journal
        .decide(
            batch_name(&arguments.batch)?,
            arguments.id.clone(),
            decision,
            now(),
        )
        .await?;
    let (from, to) = (moved.from.name(), moved.life.state.name());
    tell(
        session,
        json!({"id": arguments.id, "from": from, "to": to}),
        &format!("{}: {from} -> {to}", arguments.id),
    );
    Ok(Verdict::Done)
}

/// `disburse cancel`.
pub(super) async fn cancel(
    session: &Session,
    arguments: CancelArguments,
) -> Result<Verdict, Error> {
    let journal = Journal::open_existing(session.journal_path())?;
    let count = journal
        .cancel(batch_name(&arguments.batch)?, arguments.id, now())
        .await?;
    tell(
        session,
        json!({"cancelled": count}),
        &format!("{} cancelled", output::counted(count, "payment")),
    );
    Ok(Verdict::Done)
}

/// `disburse resume-lane`.
pub(super) async fn resume_lane(
    session: &Session,
    arguments: ResumeLaneArguments,
) -> Result<Verdict, Error> {
    let batch = batch_name(&arguments.batch)?;
    let journal = Journal::open_existing(session.journal_path())?;
    let lane = journal
        .resume_lane(batch.clone(), arguments.service.clone())
        .await?;
    let text = match &lane {
        Some(lane) => format!("lane {} is open again", lane.service),
        None => format!("lane {} was not held", arguments.service),
    };
    tell(
        session,
        json!({"service": arguments.service, "reopened": lane.is_some()}),
        &text,
    );
    if lane.is_some() {
        session.note(&format!("next: disburse run {batch}"));
    }
    Ok(Verdict::Done)
}

fn tell(session: &Session, value: serde_json::Value, text: &str) {
    if session.common.json {
        output::json(&value)
    } else {
        output::line(text)
    }
}
