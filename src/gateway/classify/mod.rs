//! What one reply, or the lack of one, proves about each payment. Pure: no clock, no I/O.
//!
//! Money is decided by an entry about the payment's own identifier with a code that can be read, and by nothing else.

pub(super) mod callback;
mod entries;
#[cfg(test)]
mod every_code;
#[cfg(test)]
mod properties;
mod question;
#[cfg(test)]
mod tests;

use question::Word;
pub(crate) use question::{Question, Response};

use super::operations::OperationError;
use super::port::{Outcome, Reply, Signal, StopReason};
use super::transport::failure::Failure;
use super::wire::{Envelope, Unreadable, names_a_transaction, read_envelope, read_words};
use crate::domain::{PayerTransactionId, ResponseDetails};
use crate::lifecycle::{Class, CodeTable, Event};

/// Classifies a request that brought no status.
pub(crate) fn failed(question: Question, ids: &[PayerTransactionId], failure: Failure) -> Reply {
    let (event, cause, signal) = match (planted!(gateway::failure(failure)), question) {
        (Failure::Unsent(cause), Question::Post) => {
            (Event::Unsent, cause.clone(), Signal::Unreachable(cause))
        }
        (Failure::Unsent(cause), Question::Status) => {
            (Event::NoAnswer, cause.clone(), Signal::Unreachable(cause))
        }
        (Failure::Lost(cause), _) => (question.nothing(), cause.clone(), Signal::Lost(cause)),
    };
    Reply {
        outcomes: all(ids, event, None, &cause),
        signal,
    }
}

/// Classifies a request that never left because there was no token for it (section 4.1).
pub(super) fn no_token(
    question: Question,
    ids: &[PayerTransactionId],
    error: &OperationError,
) -> Reply {
    let cause = format!("no token for the payments: {error}");
    let signal = match error {
        OperationError::Credentials { .. } => Signal::Stop(StopReason::Credentials(cause.clone())),
        OperationError::Refused { .. }
        | OperationError::NotANumber(_)
        | OperationError::NotOffered(_) => Signal::Stop(StopReason::Misconfigured(cause.clone())),
        OperationError::Unavailable(_) | OperationError::Unreadable { .. } => {
            Signal::Unreachable(cause.clone())
        }
    };
    let event = match question {
        Question::Post => Event::Unsent,
        Question::Status => Event::NoAnswer,
    };
    Reply {
        outcomes: all(ids, event, None, &cause),
        signal,
    }
}

/// Classifies a reply.
pub(crate) fn classify(
    question: Question,
    ids: &[PayerTransactionId],
    response: &Response<'_>,
    codes: &CodeTable,
) -> Reply {
    let status = response.status;
    planted_instead!(gateway::server_error(status, question, ids, codes));
    let (mut outcomes, word) = match envelope(response) {
        Ok(mut envelope) => judged(question, ids, response, &mut envelope, codes),
        Err(cause) => (
            all(ids, question.nothing(), Some(status), &cause),
            Word::Nothing(cause),
        ),
    };
    let words = add_words(&mut outcomes, response);
    if status >= 500 {
        for outcome in &mut outcomes {
            outcome.event = of_server_error(question, outcome.event);
        }
    }
    let signal = match (word, status) {
        (_, 500..) => Signal::Lost(format!("HTTP {status}")),
        (Word::NotLetIn(cause), _) => Signal::Stop(StopReason::Credentials(cause)),
        (_, 429) => Signal::SlowDown(response.retry_after),
        (Word::Heard, _) => Signal::Healthy,
        (Word::Nothing(cause), 401 | 403) => {
            Signal::Stop(StopReason::Credentials(with_words(cause, words)))
        }
        (Word::Nothing(cause), 404 | 405 | 300..=399) => {
            Signal::Stop(StopReason::Misconfigured(with_words(cause, words)))
        }
        (Word::Nothing(cause), _) => Signal::Lost(cause),
    };
    Reply { outcomes, signal }
}

/// Keeps what the reply says as a whole for payments of which it has no entry that says more; returns it. It decides nothing.
fn add_words(outcomes: &mut [Outcome], response: &Response<'_>) -> String {
    let is_without =
        |outcome: &Outcome| outcome.said.description.is_empty() && !outcome.said.cause.is_empty();
    if !outcomes.iter().any(is_without) {
        return String::new();
    }
    let words = match &response.body {
        Ok(body) => read_words(body, response.scrub),
        Err(_) => String::new(),
    };
    for outcome in outcomes.iter_mut().filter(|outcome| is_without(outcome)) {
        outcome.said.description.clone_from(&words);
    }
    words
}

fn with_words(cause: String, words: String) -> String {
    match words.is_empty() {
        true => cause,
        false => format!("{cause}: {words}"),
    }
}

/// Reads the body where it may count: never that of a server error, of a redirect, or of a reply that is none.
fn envelope(response: &Response<'_>) -> Result<Envelope, String> {
    let status = response.status;
    let may_count = match status {
        200..=299 | 400..=499 => true,
        500..=599 => response.replies.server_errors,
        _ => false,
    };
    if !may_count {
        return Err(format!("HTTP {status}"));
    }
    let read = match &response.body {
        Ok(body) => {
            read_envelope(body, response.scrub).map_err(|error: Unreadable| error.to_string())
        }
        Err(cause) => Err(cause.clone()),
    };
    // A page of text under an error status is what the status says, no more.
    read.map_err(|cause| {
        if status >= 400 {
            format!("HTTP {status}")
        } else {
            cause
        }
    })
}

fn judged(
    question: Question,
    ids: &[PayerTransactionId],
    response: &Response<'_>,
    envelope: &mut Envelope,
    codes: &CodeTable,
) -> (Vec<Outcome>, Word) {
    let (status, replies) = (response.status, response.replies);
    let auth = envelope.auth.as_ref();
    let of = |codes: &[i32], code: Option<i32>| code.is_some_and(|code| codes.contains(&code));
    let counts = match auth {
        Some(auth) if of(&replies.not_authenticated, auth.code) => {
            return not_let_in(question, ids, response, envelope, codes);
        }
        Some(auth) => of(&replies.authenticated, auth.code),
        // What comes without its authentication is incomplete, and proves nothing, however much it says, but where the dialect
        // has none.
        None => !replies.has_auth_status,
    };
    if planted!(gateway::is_authenticated(counts, auth, question)) {
        return entries::apply(question, ids, response, envelope, codes);
    }
    let cause = match auth.map(|auth| auth.code) {
        Some(Some(code)) => format!("authStatusCode {code}"),
        _ => "a reply without a readable authStatusCode".to_owned(),
    };
    let outcomes = all(ids, question.nothing(), Some(status), &cause);
    (outcomes, Word::Nothing(cause))
}

/// Returns what a server error may say of a payment: that it goes on, and never how it ended (section 7.5).
fn of_server_error(question: Question, event: Event) -> Event {
    let (Event::Reply(said) | Event::Answer(said)) = event else {
        return question.nothing();
    };
    let proven = match said.class {
        Class::Acknowledged | Class::Delivered | Class::Duplicate | Class::InDoubt => event,
        Class::Paid | Class::Failed | Class::Refused | Class::NoFloat | Class::NotFound => {
            question.nothing()
        }
    };
    planted!(gateway::of_server_error(proven, event))
}

/// Stands beside a reply that says two things of which one is not so.
const TELLS: &str = "authentication failed, and yet the reply tells of a payment";

fn not_let_in(
    question: Question,
    ids: &[PayerTransactionId],
    response: &Response<'_>,
    envelope: &Envelope,
    codes: &CodeTable,
) -> (Vec<Outcome>, Word) {
    let code = envelope.auth.as_ref().and_then(|auth| auth.code);
    let cause = format!("authStatusCode {}", code.unwrap_or_default());
    // A request is let in or not as a whole: what tells of one payment of it tells of all that nobody knows what became of them.
    let tells = entries::has_definite(envelope, codes)
        || response
            .body
            .as_ref()
            .is_ok_and(|body| names_a_transaction(body));
    let (event, anomaly) = match question {
        Question::Post if tells => (Event::Lost, Some(TELLS.to_owned())),
        Question::Post => (Event::Unauthorised, None),
        Question::Status => (Event::NoAnswer, None),
    };
    let mut outcomes = all(ids, event, Some(response.status), &cause);
    for outcome in &mut outcomes {
        outcome.said.description = described(envelope);
        outcome.said.anomaly.clone_from(&anomaly);
    }
    let description = described(envelope);
    let reason = if description.is_empty() {
        cause
    } else {
        format!("{cause}: {description}")
    };
    (outcomes, Word::NotLetIn(reason))
}

fn described(envelope: &Envelope) -> String {
    envelope
        .auth
        .as_ref()
        .map_or_else(String::new, |auth| auth.description.clone())
}

fn all(
    ids: &[PayerTransactionId],
    event: Event,
    http_status: Option<u16>,
    cause: &str,
) -> Vec<Outcome> {
    let outcome = Outcome {
        event,
        said: ResponseDetails {
            http_status,
            cause: cause.to_owned(),
            ..ResponseDetails::default()
        },
    };
    vec![outcome; ids.len()]
}
