//! Replies to posts and status queries.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::dialects::spoken;
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
    let (spoken, bytes) = spoken(bytes);
    let dialect = spoken.dialect;
    let (head, body) = super::head(bytes);
    let question = match head.word {
        "status" => Question::Status,
        _ => Question::Post,
    };
    let status = head.number.unwrap_or(200);
    let ids = IDS.map(|id| PayerTransactionId::parse(id).unwrap());
    let reply = offline::reply(
        dialect,
        spoken.not_found_words_count,
        question,
        &ids,
        status,
        body,
        PASSWORD,
    );
    assert_eq!(reply.outcomes.len(), ids.len());
    let read = value(body);
    let auth = |read: &Value| {
        let auth = spoken.of(read, "authStatus");
        code(spoken.of(auth, "authStatusCode"))
    };
    let mut heard = false;
    // The codes of the entries about an identifier.
    let about = |read: &Value, id: &str| -> Vec<Option<i32>> {
        let entries = spoken.entries(read).iter();
        let own = entries.filter(|entry| spoken.of(entry, "payerTransactionID") == id);
        own.map(|entry| code(spoken.of(entry, "statusCode")))
            .collect()
    };
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
                // The dialect's own words for it, where they count.
                let words = dialect.replies.not_found_words.as_ref();
                let is_said = words.is_some_and(|(code, words)| {
                    *code == verdict.code && *words == outcome.said.description
                });
                let counts = spoken.not_found_words_count && question == Question::Status;
                let class = if is_said && counts {
                    Class::NotFound
                } else {
                    class
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
                    about(read, id).contains(&Some(verdict.code)),
                    "no entry about {id} says {}",
                    verdict.code
                );
                // Entries that contradict one another prove nothing.
                let own = about(read, id);
                assert!(
                    own.iter().all(|said| *said == Some(verdict.code)),
                    "{own:?}"
                );
                let may_go_on = dialect.replies.server_errors && (500..=599).contains(&status);
                assert!(
                    matches!(status, 200..=299 | 400..=499) || may_go_on && goes_on(verdict.class),
                    "HTTP {status}"
                );
                let silent = !dialect.replies.has_auth_status && auth(read).is_none();
                let of = |code: i32| dialect.replies.authenticated.contains(&code);
                assert!(silent || auth(read).is_some_and(of), "not authenticated");
                if matches!(verdict.code, 139 | 148 | 229) {
                    assert!(!matches!(verdict.class, Class::Paid));
                }
            }
            // Proof that nothing was executed is the gateway's own word alone.
            (Question::Post, Event::Unauthorised) => {
                let read = read.as_ref().expect("what was read is JSON");
                let of = |code: i32| dialect.replies.not_authenticated.contains(&code);
                assert!(auth(read).is_some_and(of));
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

/// Whether a payment that is said to be so goes on.
fn goes_on(class: Class) -> bool {
    matches!(
        class,
        Class::Acknowledged | Class::Delivered | Class::Duplicate | Class::InDoubt
    )
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
