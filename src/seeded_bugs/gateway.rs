//! What planted mistakes make of the gateway's replies.

use super::SeededBug;
use crate::domain::{PayerTransactionId, ResponseDetails};
use crate::gateway::simulated::{Failure, Question};
use crate::gateway::{Outcome, Reply, Signal};
use crate::lifecycle::{CodeMeaning, CodeTable, Event};

/// How a request failed before any status came back.
pub(crate) fn failure(found: Failure) -> Failure {
    match found {
        Failure::Lost(cause) if SeededBug::LossIsUnsent.is_active() => Failure::Unsent(cause),
        found => found,
    }
}

/// What the reply to a post says of its payments.
pub(crate) fn server_error(
    status: u16,
    question: Question,
    ids: &[PayerTransactionId],
    codes: &CodeTable,
) -> Option<Reply> {
    let is_made =
        status >= 500 && question == Question::Post && SeededBug::ServerErrorIsFailed.is_active();
    let failed = Outcome {
        event: Event::Reply(CodeMeaning {
            class: codes.of_post(141),
            code: 141,
        }),
        said: ResponseDetails {
            http_status: Some(status),
            cause: "a server error".to_owned(),
            ..ResponseDetails::default()
        },
    };
    is_made.then(|| Reply {
        outcomes: vec![failed; ids.len()],
        signal: Signal::Healthy,
    })
}

/// Whether a reply counts, by its authentication status.
pub(crate) fn is_authenticated<A>(found: bool, auth: Option<&A>, question: Question) -> bool {
    let is_bare_answer = auth.is_none() && question == Question::Status;
    found || is_bare_answer && SeededBug::UnauthenticatedAnswerCounts.is_active()
}

/// What the body of a server error proves.
pub(crate) fn of_server_error(found: Event, told: Event) -> Event {
    match SeededBug::ServerErrorEnds.is_active() {
        true => told,
        false => found,
    }
}

/// Which of so many entries are about each payment.
pub(crate) fn matched(found: Vec<Vec<usize>>, entries: usize) -> Vec<Vec<usize>> {
    if SeededBug::MatchedByPlace.is_active() {
        let own = |place| {
            if place < entries {
                vec![place]
            } else {
                Vec::new()
            }
        };
        return (0..found.len()).map(own).collect();
    }
    found
}

/// What a payment without an entry is told by.
pub(crate) fn told_by(mut found: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    if SeededBug::MissingTakesNeighbours.is_active()
        && let Some(neighbour) = found.iter().find(|entries| !entries.is_empty()).cloned()
    {
        for entries in found.iter_mut().filter(|entries| entries.is_empty()) {
            entries.clone_from(&neighbour);
        }
    }
    found
}

/// Whether a dialect's words for "not found" count.
pub(crate) fn words_count(found: bool) -> bool {
    found || SeededBug::UnseenWordsCount.is_active()
}

/// Where a token ends that nobody has told us of.
pub(crate) fn end_of_token(found: Option<usize>) -> Option<usize> {
    found.filter(|_| !SeededBug::UnknownTokenShown.is_active())
}
