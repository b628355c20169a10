//! `results[]`, matched by identifier, never by position.

use std::collections::HashMap;
use std::mem;

use super::question::{Question, Response, Word};
use crate::domain::{PayerTransactionId, ResponseDetails};
use crate::gateway::port::Outcome;
use crate::gateway::wire::{Entry, Envelope};
use crate::lifecycle::{Class, CodeMeaning, CodeTable, Event};

/// Takes every payment's own entries as evidence.
pub(super) fn apply(
    question: Question,
    ids: &[PayerTransactionId],
    response: &Response<'_>,
    envelope: &mut Envelope,
    codes: &CodeTable,
) -> (Vec<Outcome>, Word) {
    let own = matched(ids, &envelope.entries);
    let foreign = envelope.entries.len() - own.iter().map(Vec::len).sum::<usize>();
    let own = planted!(gateway::told_by(own));
    let mut heard = false;
    let mut outcomes: Vec<Outcome> = own
        .iter()
        .map(|entries| {
            let outcome = told(question, response, entries, envelope, codes);
            heard |= outcome.event != question.nothing();
            outcome
        })
        .collect();
    if foreign > 0 {
        note_foreign(foreign, &own, &mut outcomes);
    }
    let word = if heard {
        Word::Heard
    } else {
        let cause = outcomes.first().map_or("", |first| &first.said.cause);
        Word::Nothing(cause.to_owned())
    };
    (outcomes, word)
}

/// Returns whether an entry tells what became of a payment, whichever it names, so that "nothing was executed" cannot be all.
pub(super) fn has_definite(envelope: &Envelope, codes: &CodeTable) -> bool {
    let entries = envelope.entries.iter();
    entries
        .filter_map(|entry| entry.status.code)
        .any(|code| !matches!(codes.of_post(code), Class::InDoubt | Class::NotFound))
}

/// Returns which entries are about each payment.
fn matched(ids: &[PayerTransactionId], entries: &[Entry]) -> Vec<Vec<usize>> {
    let mut own = vec![Vec::new(); ids.len()];
    let mut places: Option<HashMap<&str, usize>> = None;
    for (index, entry) in entries.iter().enumerate() {
        let Some(id) = entry.id.as_deref() else {
            continue;
        };
        // Nearly every reply keeps to the order of the request.
        let place = if ids.get(index).is_some_and(|own| own.as_str() == id) {
            Some(index)
        } else {
            let by_id = || {
                (0..)
                    .zip(ids)
                    .map(|(place, id)| (id.as_str(), place))
                    .collect()
            };
            places.get_or_insert_with(by_id).get(id).copied()
        };
        if let Some(place) = place {
            own[place].push(index);
        }
    }
    planted!(gateway::matched(own, entries.len()))
}

fn told(
    question: Question,
    response: &Response<'_>,
    own: &[usize],
    envelope: &mut Envelope,
    codes: &CodeTable,
) -> Outcome {
    let status = response.status;
    let mut said = ResponseDetails {
        http_status: Some(status),
        ..ResponseDetails::default()
    };
    let nothing = |said, cause: &str| Outcome {
        event: question.nothing(),
        said: ResponseDetails {
            cause: with_status(status, cause),
            ..said
        },
    };
    let Some(first) = own.first() else {
        return nothing(said, "no entry about this identifier");
    };
    let code_of = |index: &usize| envelope.entries[*index].status.code;
    let code = code_of(first);
    if own.iter().any(|index| code_of(index) != code) {
        said.anomaly = Some(codes_of(&own.iter().map(code_of).collect::<Vec<_>>()));
        return nothing(said, "entries with different codes");
    }
    // Where words decide, each entry must say the same.
    let words = |index: &usize| envelope.entries[*index].status.description.as_str();
    let words_differ = own.iter().any(|index| words(index) != words(first));
    for index in own {
        fill(&mut said, &mut envelope.entries[*index]);
    }
    let Some(code) = code else {
        return nothing(said, "an entry without a readable statusCode");
    };
    let event = match is_not_found(question, code, &said, response) && !words_differ {
        true => Event::Answer(CodeMeaning {
            class: Class::NotFound,
            code,
        }),
        false => question.said(code, codes),
    };
    if let Some(doubt) = contradicts_itself(event, &said) {
        said.anomaly = Some(doubt);
        return Outcome {
            event: Event::Answer(CodeMeaning {
                class: Class::InDoubt,
                code,
            }),
            said,
        };
    }
    // 148 may carry its application id beside the results; it belongs to us only if we are alone.
    let class = match question {
        Question::Post => codes.of_post(code),
        Question::Status => codes.of_status(code),
    };
    if class == Class::Delivered && said.receipt_number.is_none() && envelope.entries.len() == 1 {
        said.receipt_number.clone_from(&envelope.receipt_number);
    }
    Outcome { event, said }
}

/// Returns whether an answer says "no such transaction" in the dialect's own words. They count only where the gateway was seen to
/// refuse an identifier that it has.
fn is_not_found(
    question: Question,
    code: i32,
    said: &ResponseDetails,
    response: &Response<'_>,
) -> bool {
    let words = response.replies.not_found_words.as_ref();
    let is_said = |(known, words): &(i32, String)| *known == code && *words == said.description;
    let counts = planted!(gateway::words_count(response.not_found_words_count));
    question == Question::Status && counts && words.is_some_and(is_said)
}

/// Says how an entry denies a payment that it has a number for: it proves nothing, and the gateway is asked again.
fn contradicts_itself(event: Event, said: &ResponseDetails) -> Option<String> {
    let Event::Answer(CodeMeaning {
        class: Class::NotFound,
        ..
    }) = event
    else {
        return None;
    };
    let id = said.gateway_transaction_id.as_ref()?.as_str().trim();
    let is_a_number = !id.is_empty() && id.bytes().any(|byte| byte != b'0');
    is_a_number.then(|| format!("it is not found, and has the gatewayTransactionID {id}"))
}

/// Takes the words of an entry that agrees with those before it; the first one that has a member counts.
fn fill(said: &mut ResponseDetails, entry: &mut Entry) {
    if said.description.is_empty() {
        said.description = mem::take(&mut entry.status.description);
    }
    if said.receipt_number.is_none() {
        said.receipt_number = entry.receipt_number.take();
    }
    if said.receiver_narration.is_none() {
        said.receiver_narration = entry.receiver_narration.take();
    }
    if said.anomaly.is_none() {
        said.anomaly = entry.cut.take();
    }
    // Every one of them must be ours.
    said.named.append(&mut entry.named);
    match (
        &said.gateway_transaction_id,
        entry.gateway_transaction_id.take(),
    ) {
        (None, found) => said.gateway_transaction_id = found,
        // Two transactions under one identifier may be two payments.
        (Some(known), Some(found)) if *known != found => {
            said.anomaly = Some(format!(
                "two entries with different gatewayTransactionIDs: {known} and {found}"
            ));
        }
        (Some(_), _) => {}
    }
}

fn codes_of(found: &[Option<i32>]) -> String {
    const SHOWN: usize = 4;
    let codes: Vec<String> = found
        .iter()
        .take(SHOWN)
        .map(|code| code.map_or_else(|| "none".to_owned(), |code| code.to_string()))
        .collect();
    let more = if found.len() > SHOWN { ", ..." } else { "" };
    format!(
        "{} entries about this identifier with different codes: {}{more}",
        found.len(),
        codes.join(", ")
    )
}

/// Notes entries about other payments where one of ours is missing, else at the first payment.
fn note_foreign(foreign: usize, own: &[Vec<usize>], outcomes: &mut [Outcome]) {
    let complete = own.iter().all(|entries| !entries.is_empty());
    for (index, (entries, outcome)) in own.iter().zip(outcomes).enumerate() {
        if entries.is_empty() || complete && index == 0 {
            let note = format!("{foreign} of the reply's entries name no payment of the request");
            let anomaly = &mut outcome.said.anomaly;
            *anomaly = Some(match anomaly.take() {
                Some(earlier) => format!("{earlier}; {note}"),
                None => note,
            });
        }
    }
}

fn with_status(status: u16, cause: &str) -> String {
    if status >= 300 {
        format!("HTTP {status}, {cause}")
    } else {
        cause.to_owned()
    }
}
