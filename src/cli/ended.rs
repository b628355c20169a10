//! What is said of a payment that has ended: what became of it, and what a person can do now.

use super::session::Commands;
use crate::journal::{PaymentRecord, TrailEntry};
use crate::lifecycle::{Event, State};

/// What helps against a failure.
enum Remedy {
    /// The row is wrong.
    Correct,
    /// The row is right: something else is put right first, and it is paid anew.
    PayAnew(&'static str),
}

/// Says why a payment with this code was not paid, and what helps.
fn failure(code: i32) -> (&'static str, Remedy) {
    use Remedy::{Correct, PayAnew};
    const ASK: Remedy = PayAnew("Ask the gateway's people why");
    match code {
        106 => (
            "the service is not active",
            PayAnew("Ask the gateway's people to open it"),
        ),
        109 => ("the number is missing", Correct),
        110 => ("the number is invalid", Correct),
        111 => ("the amount is not the invoice's", Correct),
        115 => ("the currency is not the service's", Correct),
        120 => ("the account number is missing", Correct),
        143 => (
            "the gateway does not have it",
            PayAnew("Nothing else is to be put right"),
        ),
        146 => ("the invoice does not exist", Correct),
        167 => (
            "the gateway does not know the service",
            PayAnew("Ask its people for the right code"),
        ),
        230 => ("the float did not suffice", PayAnew("Top it up")),
        231 => ("the amount is above what the service allows", Correct),
        232 => ("the amount is below what the service allows", Correct),
        141 | 180 | 216 => ("the gateway rejected it", ASK),
        _ => ("the gateway says so", ASK),
    }
}

/// Says of a retry that it has ended because an earlier payment of its row is paid: nobody is to pay the row again.
pub(super) fn superseded(record: &PaymentRecord, trail: &[TrailEntry]) -> Option<String> {
    let by_the_earlier = trail
        .iter()
        .any(|entry| entry.event == Some(Event::Superseded));
    let how = match record.life.state {
        _ if !by_the_earlier => return None,
        State::Cancelled => "was withdrawn before it was posted",
        State::Failed => "was not made: the gateway does not have it",
        _ => return None,
    };
    Some(format!(
        "Nothing is left to pay: an earlier payment of its row is paid, and this retry {how}. Do not load the row again"
    ))
}

/// Says what became of a payment that is not paid, or may be, and has ended; `None` of every other.
pub(super) fn sentence(record: &PaymentRecord, commands: Commands<'_>) -> Option<String> {
    let (life, batch, id) = (&record.life, commands.batch, record.payment.id);
    let code = life
        .code
        .map(|code| format!(" ({code})"))
        .unwrap_or_default();
    Some(match (life.state, life.code) {
        (State::Failed, _) if record.replaced_by.is_some() => {
            let why = life
                .code
                .map_or_else(|| decision(record), |code| failure(code).0.to_owned());
            format!("Not paid: {why}{code}. It is to be paid again: see its retry")
        }
        (State::Failed, None) => format!(
            "Not paid: {}. To pay it again: disburse retry {batch}, which asks the gateway about it first",
            decision(record)
        ),
        (State::Failed, Some(number)) => match failure(number) {
            (why, Remedy::Correct) => {
                format!("Not paid: {why}{code}. Correct it and add the corrected row")
            }
            (why, Remedy::PayAnew(first)) => format!(
                "Not paid: {why}{code}. {first}; to pay it again: disburse retry {batch} --code {number}"
            ),
        },
        (State::Cancelled, _) => format!(
            "Cancelled: it is never paid under the batch name {batch}; to pay it after all, load its row under another one"
        ),
        (State::Conflict, _) if life.taken => return None,
        (State::Conflict, _) => format!(
            "In conflict: it may be paid, or not, as what was said of it contradicts itself. Pay it by no other way before that is decided. \
             Ask the gateway's people what became of it, then: {} --paid, or --failed",
            commands.resolve(id)
        ),
        _ => return None,
    })
}

fn decision(record: &PaymentRecord) -> String {
    let decision = record.decision.as_deref();
    decision.unwrap_or("recorded by an operator").to_owned()
}
