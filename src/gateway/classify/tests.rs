use std::time::Duration;

use super::*;
use crate::dialect::Dialect;
use crate::gateway::scrub::Scrub;

pub(super) const A: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAA";
pub(super) const B: &str = "BBBBBBBBBBBBBBBBBBBBBBBBBB";
pub(super) const POST: Question = Question::Post;
pub(super) const QUERY: Question = Question::Status;

fn ids(texts: &[&str]) -> Vec<PayerTransactionId> {
    texts
        .iter()
        .map(|text| PayerTransactionId::parse(text).unwrap())
        .collect()
}

pub(super) fn ask(question: Question, asked: &[&str], status: u16, body: &[u8]) -> Reply {
    let response = Response {
        status,
        retry_after: Some(Duration::from_secs(9)),
        body: Ok(body),
        scrub: &Scrub::nothing(),
        replies: &Dialect::document().replies,
        not_found_words_count: false,
    };
    classify(question, &ids(asked), &response, &CodeTable::default())
}

/// Writes out the short forms of the tables.
fn spelled(body: &str) -> String {
    let mut body = body.to_owned();
    for (short, code) in [("$OK", 131), ("$NO", 132), ("$ODD", 174)] {
        let auth = format!(
            r#""authStatus":{{"authStatusCode":{code},"authStatusDescription":"said so"}}"#
        );
        body = body.replace(short, &auth);
    }
    body = body
        .replace("$ID", A)
        .replace("$BOM", "\u{feff}")
        .replace("$EMPTY", "");
    while let Some(start) = body.find('$') {
        let digits = body[start + 1..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        let end = start + 1 + digits;
        let entry = format!(
            r#"{{"statusCode":{},"payerTransactionID":"{A}"}}"#,
            &body[start + 1..end]
        );
        body.replace_range(start..end, &entry);
    }
    body
}

/// Yields the rows of a table: HTTP status, body, expectation.
fn rows(table: &'static str) -> impl Iterator<Item = (u16, String, &'static str)> {
    table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (status, rest) = line.split_once(" | ").unwrap();
            let (body, expected) = rest.rsplit_once(" | ").unwrap();
            (status.parse().unwrap(), spelled(body.trim_end()), expected)
        })
}

/// `reply(139 Acknowledged) healthy`: the event and the signal in a few words.
fn outline(reply: &Reply) -> String {
    let events = reply.outcomes.iter().map(|outcome| match outcome.event {
        Event::Reply(verdict) => format!("reply({} {:?})", verdict.code, verdict.class),
        Event::Answer(verdict) => format!("answer({} {:?})", verdict.code, verdict.class),
        event => format!("{event:?}").to_lowercase(),
    });
    let signal = match &reply.signal {
        Signal::Healthy => "healthy",
        Signal::Unreachable(_) => "unreachable",
        Signal::Lost(_) => "lost",
        Signal::SlowDown(_) => "slow down",
        Signal::Stop(StopReason::Credentials(_)) => "stop: credentials",
        Signal::Stop(StopReason::Misconfigured(_)) => "stop: misconfigured",
    };
    format!("{} -> {signal}", events.collect::<Vec<_>>().join(" "))
}

#[test]
fn every_reply_to_a_post_has_one_meaning() {
    for (status, body, expected) in rows(include_str!("posts.txt")) {
        let reply = ask(POST, &[A], status, body.as_bytes());
        assert_eq!(outline(&reply), expected, "HTTP {status} {body}");
        let outcome = &reply.outcomes[0];
        assert_eq!(outcome.said.http_status, Some(status));
        let decided = matches!(outcome.event, Event::Reply(_));
        assert_eq!(outcome.said.cause.is_empty(), decided, "{body}");
    }
}

#[test]
fn every_status_reply_has_one_meaning() {
    for (status, body, expected) in rows(include_str!("queries.txt")) {
        let reply = ask(QUERY, &[A], status, body.as_bytes());
        assert_eq!(outline(&reply), expected, "HTTP {status} {body}");
    }
}

#[test]
fn entries_are_matched_by_identifier_and_never_by_position() {
    let body = format!(
        r#"{{"authStatus":{{"authStatusCode":131}},"results":[
            {{"statusCode":141,"payerTransactionID":"{B}"}},
            {{"statusCode":139,"payerTransactionID":"{A}"}}]}}"#
    );
    let reply = ask(POST, &[A, B], 200, body.as_bytes());
    assert_eq!(
        outline(&reply),
        "reply(139 Acknowledged) reply(141 Failed) -> healthy"
    );
    assert!(reply.outcomes.iter().all(|o| o.said.anomaly.is_none()));

    let body = body.replace(A, "FOREIGN");
    let reply = ask(POST, &[A, B], 200, body.as_bytes());
    assert_eq!(outline(&reply), "lost reply(141 Failed) -> healthy");
    let [first, second] = &reply.outcomes[..] else {
        panic!("two were asked");
    };
    assert_eq!(first.said.cause, "no entry about this identifier");
    assert!(
        first
            .said
            .anomaly
            .as_ref()
            .unwrap()
            .contains("name no payment")
    );
    assert_eq!(second.said.anomaly, None);
}

#[test]
fn what_does_not_fit_is_noted() {
    for (body, part) in [
        (
            r#"{$OK,"results":[$139,$141]}"#,
            "different codes: 139, 141",
        ),
        (
            r#"{$OK,"results":[$139,{"statusCode":139,"payerTransactionID":"B"}]}"#,
            "1 of the reply's entries",
        ),
        (
            r#"{$OK,"results":[{"statusCode":139,"payerTransactionID":"$ID","gatewayTransactionID":1},{"statusCode":139,"payerTransactionID":"$ID","gatewayTransactionID":2}]}"#,
            "1 and 2",
        ),
        (
            r#"{$NO,"results":[$139]}"#,
            "authentication failed, and yet",
        ),
    ] {
        let reply = ask(POST, &[A], 200, spelled(body).as_bytes());
        let anomaly = reply.outcomes[0].said.anomaly.clone().unwrap_or_default();
        assert!(anomaly.contains(part), "{body}: {anomaly}");
    }
}

#[test]
fn the_words_of_an_entry_are_kept() {
    let body = spelled(
        r#"{$OK,"results":[{"statusCode":140,"statusDescription":"Done\u001b[2J","payerTransactionID":"$ID",
        "gatewayTransactionID":900719925474099312345,"receiptNumber":"[\"QK1\",\"QK2\"]","receiverNarration":["1234-5678"]}]}"#,
    );
    let said = ask(QUERY, &[A], 200, body.as_bytes())
        .outcomes
        .remove(0)
        .said;
    assert_eq!(said.description, "Done[2J");
    let id = said.gateway_transaction_id.as_ref().unwrap();
    assert_eq!(id.as_str(), "900719925474099312345");
    assert_eq!(said.receipt_number.as_deref(), Some("QK1, QK2"));
    assert_eq!(said.receiver_narration.as_deref(), Some(r#"["1234-5678"]"#));
    assert!(!format!("{said:?}").contains("1234-5678"));

    for (receipt, expected) in [
        (r#""[\"\"]""#, None),
        (r#""""#, None),
        ("[]", None),
        ("null", None),
        (r#""[x""#, Some("[x")),
        ("17", Some("17")),
    ] {
        let body = spelled(
            &r#"{$OK,"results":[{"statusCode":140,"payerTransactionID":"$ID","receiptNumber":R}]}"#
                .replace(":R}", &format!(":{receipt}}}")),
        );
        let said = ask(QUERY, &[A], 200, body.as_bytes())
            .outcomes
            .remove(0)
            .said;
        assert_eq!(said.receipt_number.as_deref(), expected, "{receipt}");
    }
}

#[test]
fn the_application_id_of_148_is_found_beside_the_results() {
    for (results, expected) in [
        (r#"[$148]"#, Some("beside")),
        (
            r#"[{"statusCode":148,"payerTransactionID":"$ID","receiptNumber":"in"}]"#,
            Some("in"),
        ),
        (
            r#"[$148,{"statusCode":148,"payerTransactionID":"B"}]"#,
            None,
        ),
        (r#"[$139]"#, None),
    ] {
        let body = spelled(&format!(
            r#"{{$OK,"results":{results},"receiptNumber":"beside"}}"#
        ));
        let said = ask(POST, &[A], 200, body.as_bytes())
            .outcomes
            .remove(0)
            .said;
        assert_eq!(said.receipt_number.as_deref(), expected, "{results}");
    }
}

#[test]
fn failures_without_a_status_are_unsent_only_when_proven() {
    for (question, failure, expected) in [
        (
            POST,
            Failure::Unsent("refused".into()),
            "unsent -> unreachable",
        ),
        (POST, Failure::Lost("reset".into()), "lost -> lost"),
        (
            QUERY,
            Failure::Unsent("refused".into()),
            "noanswer -> unreachable",
        ),
        (QUERY, Failure::Lost("reset".into()), "noanswer -> lost"),
    ] {
        assert_eq!(outline(&failed(question, &ids(&[A]), failure)), expected);
    }
    // A status whose body broke off still says what it says.
    for (status, expected) in [
        (200, "lost -> lost"),
        (401, "lost -> stop: credentials"),
        (404, "lost -> stop: misconfigured"),
        (429, "lost -> slow down"),
    ] {
        let response = Response {
            status,
            retry_after: None,
            body: Err("connection reset".to_owned()),
            scrub: &Scrub::nothing(),
            replies: &Dialect::document().replies,
            not_found_words_count: false,
        };
        let reply = classify(POST, &ids(&[A]), &response, &CodeTable::default());
        assert_eq!(outline(&reply), expected, "HTTP {status}");
    }
}

#[test]
fn deep_or_endless_bodies_are_not_followed() {
    for body in [
        "[".repeat(200_000),
        r#"{"a":"#.repeat(200_000),
        spelled(&format!(
            r#"{{$OK,"results":[{{"statusCode":140,"payerTransactionID":"$ID","x":{}{}}}]}}"#,
            "[".repeat(40),
            "]".repeat(40)
        )),
    ] {
        let reply = ask(POST, &[A], 200, body.as_bytes());
        assert_eq!(outline(&reply), "lost -> lost");
        assert_eq!(reply.outcomes[0].said.cause, "a reply nested too deeply");
    }
    // Brackets inside a text are no nesting.
    let body = spelled(&format!(
        r#"{{$OK,"results":[{{"statusCode":139,"payerTransactionID":"$ID","statusDescription":"\"{}"}}]}}"#,
        "[".repeat(40)
    ));
    let reply = ask(POST, &[A], 200, body.as_bytes());
    assert_eq!(outline(&reply), "reply(139 Acknowledged) -> healthy");
}
