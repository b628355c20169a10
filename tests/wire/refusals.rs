//! A gateway that refuses a request as a whole, with no entry about a payment: it proves nothing, and what it says is kept
//! for the person who has to find out.

use disburse::gateway::{Gateway, Signal, StopReason};
use disburse::lifecycle::Event;

use super::payments::{A, PASSWORD, about, gateway, one};
use super::server::Server;
use super::soon;

const REFUSALS: [(&str, &str, &str); 7] = [
    (
        "200 OK",
        r#"{"authStatus":{"authStatusCode":131,"authStatusDescription":"API call processed"},"statusCode":232,"statusDescription":"Above the limit"}"#,
        "API call processed; statusCode 232; Above the limit",
    ),
    (
        "200 OK",
        r#"{"authStatus":{"authStatusCode":131},"results":[],"message":"Service under maintenance"}"#,
        "Service under maintenance",
    ),
    (
        "200 OK",
        r#"{"authStatus":{"authStatusCode":174,"statusCode":106,"description":"Service inactive"}}"#,
        "statusCode 106; Service inactive",
    ),
    (
        "200 OK",
        r#"{"success":false,"message":"Bad packet"}"#,
        "Bad packet",
    ),
    ("400 Bad", r#"{"message":"Bad packet"}"#, "Bad packet"),
    (
        "403 No",
        r#"{"error":"Address not on the list"}"#,
        "Address not on the list",
    ),
    (
        "500 Oops",
        r#"{"message":"Out of memory"}"#,
        "Out of memory",
    ),
];

#[tokio::test]
async fn the_words_of_a_refusal_without_an_entry_are_kept_and_prove_nothing() {
    for (status, body, words) in REFUSALS {
        let server = Server::start(move |mut connection| {
            while connection.request().is_some() {
                connection.reply(status, body);
            }
        });
        for (reply, nothing) in [
            (
                soon(gateway(&server.url()).post(&one(A))).await,
                Event::Lost,
            ),
            (
                soon(gateway(&server.url()).query(&about(A))).await,
                Event::NoAnswer,
            ),
        ] {
            assert_eq!(reply.outcomes.len(), 1);
            let outcome = &reply.outcomes[0];
            assert_eq!(outcome.event, nothing, "{body}");
            assert_eq!(outcome.said.description, words, "{body}");
            assert_ne!(outcome.said.cause, "", "{body}");
            if let Signal::Stop(StopReason::Credentials(why) | StopReason::Misconfigured(why)) =
                &reply.signal
            {
                assert!(
                    why.ends_with(&format!(": {words}")),
                    "a run that stops says why: {why}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_that_repeats_our_password_is_kept_without_it() {
    let body =
        serde_json::json!({"message": format!("wrong: {PASSWORD}!"), "statusCode": 7}).to_string();
    let server = Server::start(move |mut connection| {
        while connection.request().is_some() {
            connection.reply("200 OK", &body);
        }
    });
    let reply = soon(gateway(&server.url()).post(&one(A))).await;
    let said = &reply.outcomes[0].said;
    assert_eq!(said.description, "statusCode 7; wrong: [hidden]!");
}
