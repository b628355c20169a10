//! Replies to posts and status queries.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::{PayerTransactionId, ResponseDetails};
use crate::gateway::offline::{self, Question};
use crate::gateway::{Signal, StopReason};
use crate::lifecycle::{Class, CodeTable, Event};

/// The two payments that are asked about.
pub(super) const IDS: [&str; 2] = ["AAAAAAAAAAAAAAAAAAAAAAAAAA", "BBBBBBBBBBBBBBBBBBBBBBBBBB"];
/// The password that no text may show.
pub(super) const PASSWORD: &str = "hunter2/geheim";

fn has_a_number(text: &str) -> bool {
    !text.trim().trim_matches('0').is_empty()
}

/// No end of a payment without an entry about its own identifier with a definite code, in an authenticated reply.
pub fn reply(bytes: &[u8]) {
    let (head, body) = super::head(bytes);
    let question = match head.word {
        "status" => Question::Status,
        _ => Question::Post,
    };
    let status = head.number.unwrap_or(200);
    let ids = IDS.map(|id| PayerTransactionId::parse(id).unwrap());
    let reply = offline::reply(question, &ids, status, body, PASSWORD);
    assert_eq!(reply.outcomes.len(), ids.len());
    let read = value(body);
    let mut heard = false;
    for (id, outcome) in IDS.into_iter().zip(&reply.outcomes) {
        assert_said(&outcome.said);
        assert_words(&outcome.said.description);
        assert_words(&outcome.said.cause);
        assert_words(outcome.said.anomaly.as_deref().unwrap_or_default());
        match (question, outcome.event) {
            (Question::Post, Event::Reply(verdict))
            | (Question::Status, Event::Answer(verdict)) => {
                heard = true;
                let codes = CodeTable::default();
                let class = match question {
                    Question::Post => codes.of_post(verdict.code),
                    Question::Status => codes.of_status(verdict.code),
                };
                // "Not found" beside a number of the gateway's own is none.
                let class = match (class, &outcome.said.gateway_transaction_id) {
                    (Class::NotFound, Some(number)) if has_a_number(number.as_str()) => {
                        Class::InDoubt
                    }
                    (class, _) => class,
                };
                assert_eq!(verdict.class, class);
                let read = read.as_ref().expect("what was read is JSON");
                assert!(
                    entries(read).any(|entry| entry["payerTransactionID"] == id
                        && code(&entry["statusCode"]) == Some(verdict.code)),
                    "no entry about {id} says {}",
                    verdict.code
                );
                // Entries that contradict one another prove nothing.
                assert!(
                    entries(read)
                        .filter(|entry| entry["payerTransactionID"] == id)
                        .all(|entry| code(&entry["statusCode"]) == Some(verdict.code))
                );
                assert!(matches!(status, 200..=299 | 400..=499), "HTTP {status}");
                let auth = &read["authStatus"];
                let silent = question == Question::Status && auth.is_null();
                assert!(
                    silent || code(&auth["authStatusCode"]) == Some(131),
                    "not authenticated"
                );
                if matches!(verdict.code, 139 | 148 | 229) {
                    assert!(!matches!(verdict.class, Class::Paid));
                }
            }
            // Proof that nothing was executed is the gateway's own word alone.
            (Question::Post, Event::Unauthorised) => {
                let read = read.as_ref().expect("what was read is JSON");
                assert_eq!(code(&read["authStatus"]["authStatusCode"]), Some(132));
                assert!(matches!(status, 200..=299 | 400..=499), "HTTP {status}");
            }
            (Question::Post, Event::Lost) | (Question::Status, Event::NoAnswer) => {}
            (_, other) => panic!("{question:?} became {other:?}"),
        }
    }
    match &reply.signal {
        Signal::Healthy => assert!(heard),
        Signal::Lost(cause)
        | Signal::Stop(StopReason::Credentials(cause) | StopReason::Misconfigured(cause)) => {
            assert_words(cause)
        }
        Signal::SlowDown(_) => assert_eq!(status, 429),
        Signal::Unreachable(_) => panic!("a reply came"),
    }
}

/// Reads a body with the general reader of the crate; numbers become the text of their digits.
pub(super) fn value(body: &[u8]) -> Option<Value> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let raw: &RawValue = serde_json::from_slice(body.trim_ascii()).ok()?;
    Some(expanded(raw, 40))
}

fn expanded(raw: &RawValue, depth: usize) -> Value {
    let text = raw.get();
    if depth == 0 {
        return Value::Null;
    }
    match text.as_bytes()[0] {
        b'{' => serde_json::from_str::<BTreeMap<String, &RawValue>>(text).map_or(
            Value::Null,
            |members| {
                let members = members.into_iter();
                Value::Object(
                    members
                        .map(|(name, raw)| (name, expanded(raw, depth - 1)))
                        .collect(),
                )
            },
        ),
        b'[' => serde_json::from_str::<Vec<&RawValue>>(text).map_or(Value::Null, |items| {
            Value::Array(
                items
                    .into_iter()
                    .map(|raw| expanded(raw, depth - 1))
                    .collect(),
            )
        }),
        b'-' | b'0'..=b'9' => Value::from(text),
        _ => serde_json::from_str(text).unwrap_or(Value::Null),
    }
}

fn entries(read: &Value) -> impl Iterator<Item = &Value> {
    match &read["results"] {
        Value::Array(entries) => entries.iter(),
        single => std::slice::from_ref(single).iter(),
    }
}

/// Reads a code: digits, in a text or not.
pub(super) fn code(value: &Value) -> Option<i32> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Holds what is kept of a reply to texts that are bounded and harmless.
pub(super) fn assert_said(said: &ResponseDetails) {
    super::assert_shown(&said.description, 2_048);
    super::assert_shown(&said.cause, 2_048);
    super::assert_shown(said.anomaly.as_deref().unwrap_or_default(), 8_192);
    // Whole and in lines of their own: they may be money.
    for text in [&said.receipt_number, &said.receiver_narration]
        .into_iter()
        .flatten()
    {
        assert!(text.len() <= 64 * 1024, "{} bytes", text.len());
        super::assert_shown(&text.replace(['\n', '\r', '\t'], " "), text.len());
        assert!(!text.contains(PASSWORD), "{text}");
    }
    if let Some(id) = &said.gateway_transaction_id {
        assert!(!id.as_str().contains(char::is_control));
    }
}

/// Holds a text of the gateway's to one line without the password.
#[track_caller]
pub(super) fn assert_words(text: &str) {
    super::assert_shown(text, 8_192);
    assert!(!text.contains(PASSWORD), "{text}");
}
