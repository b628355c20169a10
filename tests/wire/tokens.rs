//! Tokens: one request however many wait, renewed in time, and no payment without one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use disburse::gateway::{
    Gateway, HttpGateway, OperationError, Profile, Signal, StopReason, TokenClient,
};
use disburse::lifecycle::Event;

use super::around::{
    TOKEN, everything_at, header, issued, issuing, kenyan_number, lookups, requests,
};
use super::payments::{A, about, acknowledgement, one};
use super::server::Server;
use super::{ACKNOWLEDGED, only, soon};

fn tokens(url: &str) -> TokenClient {
    TokenClient::new(&everything_at(url)).unwrap()
}

/// A server that issues `token-1`, `token-2` and so on, each with this lifetime.
fn numbered(expires_in: &'static str) -> Server {
    let count = AtomicUsize::new(0);
    Server::start(move |mut connection| {
        while connection.request().is_some() {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            connection.reply("200 OK", &issued(&format!("token-{number}"), expires_in));
        }
    })
}

/// How many requests for a token arrived.
fn asked(server: &Server) -> usize {
    server.copies("POST /api/v1/oauth/token")
}

/// Asks with fifty tasks, the reply held back until all of them wait.
async fn fifty(
    client: &TokenClient,
    release: &mpsc::Sender<()>,
) -> Vec<Result<(), OperationError>> {
    let begun = Arc::new(AtomicUsize::new(0));
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let (client, begun) = (client.clone(), begun.clone());
            tokio::spawn(async move {
                begun.fetch_add(1, Ordering::SeqCst);
                client.bearer().await.map(|_| ())
            })
        })
        .collect();
    while begun.load(Ordering::SeqCst) < 50 {
        tokio::task::yield_now().await;
    }
    release.send(()).unwrap();
    let mut outcomes = Vec::new();
    for task in waiting {
        outcomes.push(soon(task).await.unwrap());
    }
    outcomes
}

/// A server that answers once it is released.
fn held_back(status: &'static str, body: String) -> (Server, mpsc::Sender<()>) {
    let (release, released) = mpsc::channel();
    let released = Mutex::new(released);
    let server = Server::start(move |mut connection| {
        while connection.request().is_some() {
            let _ = released.lock().unwrap().recv();
            connection.reply(status, &body);
        }
    });
    (server, release)
}

#[tokio::test]
async fn fifty_tasks_that_wait_are_one_request() {
    let (server, release) = held_back("200 OK", issued(TOKEN, "3600"));
    let outcomes = fifty(&tokens(&server.url()), &release).await;
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(asked(&server), 1);
}

#[tokio::test]
async fn a_failure_is_given_to_all_who_wait_and_forgotten_soon() {
    let (server, release) = held_back("503 Busy", String::new());
    let client = tokens(&server.url());
    let start = Instant::now();
    let outcomes = fifty(&client, &release).await;
    let busy = OperationError::Unavailable("the token endpoint (section 4.1): HTTP 503".into());
    assert!(outcomes.iter().all(|outcome| *outcome == Err(busy.clone())));
    assert_eq!(asked(&server), 1);
    // A closed channel releases every later request at once.
    drop(release);
    while asked(&server) < 2 {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "it is never asked again"
        );
        assert_eq!(soon(client.bearer()).await.unwrap_err(), busy);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_task_that_gives_up_leaves_the_others_unharmed() {
    let (server, release) = held_back("200 OK", issued(TOKEN, "3600"));
    let client = tokens(&server.url());
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.bearer().await.map(|_| ()) }
    });
    while asked(&server) == 0 {
        tokio::task::yield_now().await;
    }
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    release.send(()).unwrap();
    release.send(()).unwrap();
    assert!(soon(client.bearer()).await.is_ok());
}

#[tokio::test]
async fn a_token_is_renewed_ahead_of_its_expiry_and_not_before() {
    let server = numbered("2");
    let client = tokens(&server.url());
    let start = Instant::now();
    let first = format!("{:?}", soon(client.bearer()).await.unwrap().lifetime());
    assert_eq!(first, "Some(2s)");
    // Half of so short a life is left for the renewal.
    while asked(&server) < 2 {
        soon(client.bearer()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        assert!(
            start.elapsed() < Duration::from_secs(2),
            "not renewed ahead"
        );
    }
    assert!(start.elapsed() >= Duration::from_millis(1_000));
}

#[tokio::test]
async fn a_renewal_that_fails_leaves_the_token_that_still_counts() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |mut connection| {
        while connection.request().is_some() {
            match count.fetch_add(1, Ordering::SeqCst) {
                0 => connection.reply("200 OK", &issued(TOKEN, "4")),
                _ => connection.reply("503 Busy", ""),
            }
        }
    });
    let client = tokens(&server.url());
    let start = Instant::now();
    while asked(&server) < 2 {
        assert!(soon(client.bearer()).await.is_ok());
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(
            start.elapsed() < Duration::from_secs(4),
            "not renewed ahead"
        );
    }
    assert!(soon(client.bearer()).await.is_ok());
    while soon(client.bearer()).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(
            start.elapsed() < Duration::from_secs(6),
            "used beyond its expiry"
        );
    }
    assert!(start.elapsed() >= Duration::from_secs(4));
}

#[tokio::test]
async fn lifetimes_that_say_nothing_are_no_reason_to_ask_every_time() {
    for expires_in in [
        "null",
        "0",
        "\"soon\"",
        "-1",
        "1e99",
        "99999999999999999999999",
        "\"3600\"",
    ] {
        let server = numbered(expires_in);
        let client = tokens(&server.url());
        for _ in 0..3 {
            soon(client.bearer()).await.unwrap();
        }
        assert_eq!(asked(&server), 1, "{expires_in}");
    }
}

#[tokio::test]
async fn only_the_token_that_was_found_expired_is_given_up() {
    let server = numbered("3600");
    let client = tokens(&server.url());
    let first = soon(client.bearer()).await.unwrap();
    client.invalidate(&first).await;
    client.invalidate(&first).await;
    soon(client.bearer()).await.unwrap();
    // Another task comes late with the same finding.
    client.invalidate(&first).await;
    soon(client.bearer()).await.unwrap();
    assert_eq!(asked(&server), 2);
}

#[tokio::test]
async fn what_the_token_endpoint_says_is_told_in_plain_words_with_what_to_do() {
    for (status, body, expected) in [
        (
            "400 Bad",
            r#"{"error":"missing parameters","error_description":"username is required"}"#,
            "section 2.2: the token endpoint (section 4.1) says that a parameter is missing (missing parameters: username is required); check username, password and client_id",
        ),
        (
            "200 OK",
            r#"{"error":"invalid_request","error_description":"invalid credentials pa\"ss\\word"}"#,
            "section 2.2: the token endpoint (section 4.1) does not accept the credentials (invalid_request: invalid credentials [hidden]); check username, password and client_id before another attempt",
        ),
        (
            "401 Who",
            r#"{"error":"locked"}"#,
            "section 2.2: HTTP 401, the token endpoint (section 4.1) did not let us in (locked); check username, password and client_id before another attempt",
        ),
        (
            "400 Bad",
            r#"{"error":"unsupported_grant_type"}"#,
            "section 2.2: the token endpoint (section 4.1) issues no token (unsupported_grant_type)",
        ),
        (
            "200 OK",
            r#"{"access_token":"abc","token_type":"mac"}"#,
            "section 2.1: a token whose token_type is not bearer from the token endpoint",
        ),
        (
            "200 OK",
            r#"{"access_token":"a b\r\nx: y","token_type":"bearer"}"#,
            "section 2.1: an access_token that no header can carry from the token endpoint",
        ),
        (
            "200 OK",
            r#"{"access_token":""}"#,
            "section 2.1: a reply without an access_token from the token endpoint",
        ),
    ] {
        let server = Server::start(move |mut connection| {
            connection.request();
            connection.reply(status, body);
        });
        let error = soon(tokens(&server.url()).bearer()).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

/// A server whose lookup says that a token has expired until the second one is issued.
fn expiring(status: &'static str, renewed_counts: bool) -> Server {
    let issued_so_far = AtomicUsize::new(0);
    Server::start(move |mut connection| {
        while let Some((head, _)) = connection.request_with_head() {
            if head.starts_with("POST /api/v1/oauth/token") {
                let number = issued_so_far.fetch_add(1, Ordering::SeqCst) + 1;
                connection.reply("200 OK", &issued(&format!("token-{number}"), "3600"));
            } else if header(&head, "authorization") == Some("Bearer token-1") || !renewed_counts {
                connection.reply(
                    status,
                    r#"{"data":null,"message":"expired at 12:00","success":false,"statusCode":131}"#,
                );
            } else {
                connection.reply("200 OK", r#"{"carrier":"E","timeZone":"Africa/Nairobi"}"#);
            }
        }
    })
}

#[tokio::test]
async fn a_token_that_a_lookup_finds_expired_is_renewed_once_and_the_lookup_made_once_more() {
    for status in [
        "200 OK",
        "401 Expired",
        "403 Expired",
        "400 Bad",
        "500 Oops",
    ] {
        let server = expiring(status, true);
        let lookups = lookups(&everything_at(&server.url()));
        for _ in 0..2 {
            assert_eq!(
                soon(lookups.lookup(&kenyan_number()))
                    .await
                    .unwrap()
                    .carrier,
                "E"
            );
        }
        let heads: Vec<String> = requests(&server)
            .into_iter()
            .map(|(head, _)| match header(&head, "authorization") {
                Some(value) => value.to_owned(),
                None => "a token".to_owned(),
            })
            .collect();
        let expected = [
            "a token",
            "Bearer token-1",
            "a token",
            "Bearer token-2",
            "Bearer token-2",
        ];
        assert_eq!(heads, expected, "{status}");
    }
    let server = expiring("200 OK", false);
    let lookups = lookups(&everything_at(&server.url()));
    assert_eq!(
        soon(lookups.lookup(&kenyan_number()))
            .await
            .unwrap_err()
            .to_string(),
        "section 7.4: the network lookup does not accept a token that was renewed for it (expired at 12:00); check that auth_url and api_url belong together"
    );
    assert_eq!((asked(&server), server.copies("network-lookup")), (2, 2));
}

#[tokio::test]
async fn fifty_lookups_with_an_expired_token_renew_it_once() {
    let server = expiring("401 Expired", true);
    let lookups = Arc::new(lookups(&everything_at(&server.url())));
    let all: Vec<_> = (0..50)
        .map(|_| {
            let lookups = lookups.clone();
            tokio::spawn(async move { lookups.lookup(&kenyan_number()).await })
        })
        .collect();
    for lookup in all {
        assert_eq!(soon(lookup).await.unwrap().unwrap().carrier, "E");
    }
    assert_eq!(asked(&server), 2);
}

#[tokio::test]
async fn a_value_that_is_no_number_is_told_apart_from_a_lookup_that_fails() {
    for (reply, expected) in [
        (
            r#"{"errorCode":400,"errorDescription":"not a phone number"}"#,
            OperationError::NotANumber("not a phone number (errorCode 400)".into()),
        ),
        (
            r#"{"errorCode":"400","errorDescription":""}"#,
            OperationError::NotANumber("errorCode 400".into()),
        ),
        (
            r#"{"errorCode":500,"errorDescription":"down"}"#,
            OperationError::Refused {
                section: "7.4",
                what: "down (errorCode 500)".into(),
            },
        ),
        (
            r#"{"carrier":"","timeZone":"Africa/Nairobi"}"#,
            OperationError::Unreadable {
                section: "2.6",
                what: "a reply without a carrier from the network lookup".into(),
            },
        ),
    ] {
        let server = issuing(reply);
        let lookups = lookups(&everything_at(&server.url()));
        assert_eq!(
            soon(lookups.lookup(&kenyan_number())).await,
            Err(expected),
            "{reply}"
        );
    }
}

fn bearing(gateway: &Server, auth: &str) -> HttpGateway {
    HttpGateway::new(Profile {
        payment_bearer: true,
        auth_url: everything_at(auth).auth_url,
        ..everything_at(&gateway.url())
    })
    .unwrap()
}

#[tokio::test]
async fn with_payment_bearer_posts_and_queries_carry_one_token() {
    let issuer = numbered("3600");
    let server = Server::start(|mut connection| {
        while connection.request().is_some() {
            connection.reply("200 OK", &acknowledgement(A));
        }
    });
    let gateway = bearing(&server, &issuer.url());
    assert_eq!(only(&soon(gateway.post(&one(A))).await).event, ACKNOWLEDGED);
    soon(gateway.query(&about(A))).await;
    let received = requests(&server);
    assert_eq!(received.len(), 2);
    for (head, _) in &received {
        assert_eq!(header(head, "authorization"), Some("Bearer token-1"));
    }
    assert_eq!(asked(&issuer), 1);
    assert_eq!(soon(gateway.post(&[])).await.outcomes, []);
}

#[tokio::test]
async fn without_a_token_no_payment_leaves() {
    let refused = r#"{"error":"invalid_request","error_description":"invalid credentials"}"#;
    let missing = r#"{"error":"missing parameters","error_description":"username is required"}"#;
    for (status, body, kind) in [
        ("503 Busy", "", "unreachable"),
        ("200 OK", "<html>", "unreachable"),
        ("400 Bad", refused, "credentials"),
        ("400 Bad", missing, "misconfigured"),
        ("404 Where", "", "misconfigured"),
    ] {
        let issuer = Server::start(move |mut connection| {
            connection.request();
            connection.reply(status, body);
        });
        let server = Server::start(|mut connection| connection.drain());
        let gateway = bearing(&server, &issuer.url());
        let posted = soon(gateway.post(&[one(A), one(super::payments::B)].concat())).await;
        let asked = soon(gateway.query(&about(A))).await;
        assert_eq!(server.connections(), 0, "{status} {body}");
        assert_eq!(posted.outcomes.len(), 2);
        for outcome in &posted.outcomes {
            assert_eq!(outcome.event, Event::Unsent, "{status} {body}");
            assert!(
                outcome
                    .said
                    .cause
                    .starts_with("no token for the payments: ")
            );
        }
        assert_eq!(only(&asked).event, Event::NoAnswer);
        for signal in [posted.signal, asked.signal] {
            let found = match &signal {
                Signal::Unreachable(_) => "unreachable",
                Signal::Stop(StopReason::Credentials(_)) => "credentials",
                Signal::Stop(StopReason::Misconfigured(_)) => "misconfigured",
                _ => "another",
            };
            assert_eq!(found, kind, "{signal:?}");
        }
    }
}

#[tokio::test]
async fn a_401_on_a_post_is_what_it_always_is_and_costs_the_token() {
    let issuer = numbered("3600");
    let server = Server::start(|mut connection| {
        while let Some((head, _)) = connection.request_with_head() {
            match header(&head, "authorization") {
                Some("Bearer token-1") => connection.reply("401 Expired", ""),
                _ => connection.reply("200 OK", &acknowledgement(A)),
            }
        }
    });
    let gateway = bearing(&server, &issuer.url());
    let reply = soon(gateway.post(&one(A))).await;
    assert_eq!(only(&reply).event, Event::Lost);
    let credentials = Signal::Stop(StopReason::Credentials("HTTP 401".into()));
    assert_eq!(reply.signal, credentials);
    assert_eq!(server.copies(A), 1, "it is not sent again");
    assert_eq!(only(&soon(gateway.post(&one(A))).await).event, ACKNOWLEDGED);
    assert_eq!((asked(&issuer), server.copies(A)), (2, 2));
}
