//! Every code of the interface, and of the decisions where it shows nothing, from each of its three sources.

use std::fmt::Write as _;

use super::callback::read_callback;
use super::tests::{A, POST, QUERY, ask};
use crate::domain::Timestamp;
use crate::lifecycle::{
    CodeMeaning, CodeTable, Event, PaymentState, Policy, State, StepContext, step,
};

/// Sections 3, 5 and 7.2, the status query, bills and accounts, our own reply to a callback, and some that nobody knows.
const CODES: [i32; 40] = [
    0, 1, 104, 106, 109, 110, 111, 115, 120, 131, 132, 138, 139, 140, 141, 142, 143, 146, 147, 148,
    149, 167, 174, 178, 180, 183, 188, 200, 216, 217, 219, 229, 230, 231, 232, 301, 306, 308, 400,
    9999,
];

fn reply(code: i32) -> String {
    format!(
        r#"{{"authStatus":{{"authStatusCode":131}},"results":[{{"statusCode":{code},"payerTransactionID":"{A}"}}]}}"#
    )
}

fn callback(code: i32) -> CodeMeaning {
    let body = format!(
        r#"{{"function":"GATEWAY.pushPaymentStatus","countryCode":"KE","payload":{{"packet":{{"statusCode":{code},"payerTransactionID":"{A}"}}}}}}"#
    );
    let notice = read_callback(
        body.as_bytes(),
        &CodeTable::default(),
        &crate::gateway::scrub::Scrub::nothing(),
    )
    .unwrap();
    assert_eq!(notice.verdict.code, code);
    notice.verdict
}

/// Returns where a payment stands after one piece of evidence, long after its last post.
fn after(state: State, event: Event) -> &'static str {
    let long_ago = Timestamp::from_millis(0);
    let life = PaymentState {
        state,
        attempts: 1,
        posted_at: Some(long_ago),
        quarantine_from: Some(long_ago),
        exposures: u32::from(state != State::Posting),
        known: state == State::Acknowledged,
        ..PaymentState::NEW
    };
    let moment = StepContext {
        now: Timestamp::from_millis(600_000),
        jitter: 0,
    };
    step(&life, event, moment, &Policy::default())
        .life
        .state
        .name()
}

#[test]
fn every_code_has_one_meaning_from_a_post_a_status_query_and_a_callback() {
    let mut table = String::from(
        "code  reply to a post                 status reply                    callback\n",
    );
    for code in CODES {
        let posted = ask(POST, &[A], 200, reply(code).as_bytes()).outcomes[0].event;
        let asked = ask(QUERY, &[A], 200, reply(code).as_bytes()).outcomes[0].event;
        let (Event::Reply(by_post), Event::Answer(by_query)) = (posted, asked) else {
            panic!("{code}: {posted:?} {asked:?}");
        };
        let pushed = callback(code);
        let cells = [
            (by_post, after(State::Posting, posted)),
            (by_query, after(State::InDoubt, asked)),
            (pushed, after(State::Acknowledged, Event::Callback(pushed))),
        ];
        let mut line = format!("{code:4}");
        for (verdict, state) in cells {
            write!(line, "  {:30}", format!("{:?} -> {state}", verdict.class)).unwrap();
        }
        writeln!(table, "{}", line.trim_end()).unwrap();
    }
    insta::assert_snapshot!("codes", table);
}

#[test]
fn a_code_as_text_is_the_same_code() {
    for code in CODES {
        let text = reply(code).replace(
            &format!("\"statusCode\":{code}"),
            &format!("\"statusCode\":\"{code}\""),
        );
        for question in [POST, QUERY] {
            let number = ask(question, &[A], 200, reply(code).as_bytes());
            assert_eq!(ask(question, &[A], 200, text.as_bytes()), number, "{code}");
        }
    }
}

// The money moves once because these hold, whatever the table says.
#[test]
fn what_proves_nothing_never_ends_a_payment_and_never_posts_it_again() {
    for code in [
        0, 1, 104, 131, 138, 139, 148, 174, 178, 219, 229, 301, 308, 400, 9999,
    ] {
        let posted = ask(POST, &[A], 200, reply(code).as_bytes()).outcomes[0].event;
        let asked = ask(QUERY, &[A], 200, reply(code).as_bytes()).outcomes[0].event;
        for state in [
            after(State::Posting, posted),
            after(State::InDoubt, asked),
            after(State::Acknowledged, Event::Callback(callback(code))),
        ] {
            assert!(
                ["in_doubt", "acknowledged", "delivered"].contains(&state),
                "{code}: {state}"
            );
        }
    }
}
