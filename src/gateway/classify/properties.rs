//! Whatever the bytes: no panic, and no end of a payment without proof.

use proptest::prelude::*;

use super::tests::{A, B, POST, QUERY, ask};
use crate::lifecycle::{Class, CodeTable, Event};

/// Bodies that look like replies, with every part now and then missing, foreign, doubled or damaged.
fn near_reply() -> impl Strategy<Value = String> {
    let code = prop::sample::select(vec![
        "131", "132", "139", "140", "141", "\"140\"", "140.0", "null", "{}", "\"x\"", "1e2", "229",
    ]);
    let id = prop::sample::select(vec![A, B, "x", "", "aaaaaaaaaaaaaaaaaaaaaaaaaa"]);
    let entry = (code.clone(), id, any::<bool>()).prop_map(|(code, id, named)| {
        let key = if named { "payerTransactionID" } else { "other" };
        format!(r#"{{"statusCode":{code},"{key}":"{id}"}}"#)
    });
    let entries = prop::collection::vec(entry, 0..4).prop_map(|all| all.join(","));
    let cut = 0_usize..400;
    (code, entries, any::<bool>(), cut).prop_map(|(auth, entries, whole, cut)| {
        let body = format!(r#"{{"authStatus":{{"authStatusCode":{auth}}},"results":[{entries}]}}"#);
        let end = if whole {
            body.len()
        } else {
            cut.min(body.len())
        };
        body[..end].to_owned()
    })
}

/// Reads the body independently: is there an entry about `id` with a definite final code?
fn names_an_end(body: &[u8], id: &str) -> bool {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) else {
        return false;
    };
    let results = value["results"].as_array().cloned().unwrap_or_default();
    results.iter().any(|entry| {
        let code = &entry["statusCode"];
        let code = code
            .as_i64()
            .or_else(|| code.as_str().and_then(|text| text.trim().parse().ok()));
        let table = CodeTable::default();
        let is_end = |class| matches!(class, Class::Paid | Class::Failed | Class::Refused);
        entry["payerTransactionID"] == id
            && code
                .and_then(|code| i32::try_from(code).ok())
                .is_some_and(|code| is_end(table.of_post(code)) || is_end(table.of_status(code)))
    })
}

fn no_end_without_proof(body: &[u8], status: u16) {
    for question in [POST, QUERY] {
        let reply = ask(question, &[A, B], status, body);
        assert_eq!(reply.outcomes.len(), 2);
        for (id, outcome) in [A, B].into_iter().zip(&reply.outcomes) {
            if let Event::Reply(verdict) | Event::Answer(verdict) = outcome.event {
                let is_end = matches!(verdict.class, Class::Paid | Class::Failed | Class::Refused);
                assert!(!is_end || names_an_end(body, id));
                assert!(matches!(status, 200..=299 | 400..=499));
            }
        }
    }
    let _ = super::callback::read_callback(
        body,
        &CodeTable::default(),
        &crate::gateway::scrub::Scrub::nothing(),
    );
}

proptest! {
    #[test]
    fn no_bytes_panic_or_end_a_payment(
        body in prop::collection::vec(any::<u8>(), 0..200),
        status in 0_u16..1000,
    ) {
        no_end_without_proof(&body, status);
    }

    #[test]
    fn no_body_without_a_definite_entry_ends_a_payment(
        body in near_reply(),
        status in prop::sample::select(vec![200_u16, 200, 200, 202, 302, 400, 404, 429, 500, 503]),
    ) {
        no_end_without_proof(body.as_bytes(), status);
    }
}
