//! Tokens that the payment path finds expired (section 7.4): renewed once, and no post is repeated for it.

use disburse::gateway::{
    AccountAnswer, Gateway, HttpGateway, OperationError, Profile, Signal, StopReason,
};
use disburse::lifecycle::Event;

use super::around::{bill, everything_at, header, issued, requests, service};
use super::payments::{A, about, acknowledgement, one};
use super::server::Server;
use super::{ACKNOWLEDGED, only, settle, soon};

const EXPIRED: &str = r#"{"data":null,"message":"Token expired at 2026-11-22T08:00:00Z","success":false,"statusCode":131}"#;

/// A gateway that takes one token alone, and issues `token-1`, `token-2` and so on.
fn gateway(status: &'static str, valid: &'static str, reply: String) -> (Server, HttpGateway) {
    let issued_so_far = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(move |mut connection| {
        while let Some((head, _)) = connection.request_with_head() {
            if head.contains("/oauth/token") {
                let number = 1 + issued_so_far.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                connection.reply("200 OK", &issued(&format!("token-number-{number}"), "3600"));
            } else if header(&head, "authorization") == Some(valid) {
                connection.reply("200 OK", &reply);
            } else {
                connection.reply(status, EXPIRED);
            }
        }
    });
    let gateway = HttpGateway::new(Profile {
        payment_bearer: true,
        ..everything_at(&server.url())
    });
    (server, gateway.unwrap())
}

/// How many requests for a token came, and how many others.
fn counts(server: &Server) -> (usize, usize) {
    let all = requests(server);
    let tokens = all
        .iter()
        .filter(|(head, _)| head.contains("/oauth/"))
        .count();
    (tokens, all.len() - tokens)
}

#[tokio::test]
async fn a_post_that_meets_an_expired_token_is_lost_and_only_the_token_is_renewed() {
    for status in ["200 OK", "401 Unauthorized"] {
        let (server, gateway) = gateway(status, "Bearer token-number-2", acknowledgement(A));
        let reply = soon(gateway.post(&one(A))).await;
        assert_eq!(only(&reply).event, Event::Lost, "{status}");
        assert!(only(&reply).said.cause.contains("expired"), "{:?}", reply);
        // Neither a reason to stop, nor wrong credentials.
        assert!(matches!(reply.signal, Signal::Lost(_)), "{reply:?}");
        settle().await;
        assert_eq!(server.copies(A), 1, "{status}: a post is never repeated");
        assert_eq!(only(&soon(gateway.post(&one(A))).await).event, ACKNOWLEDGED);
        assert_eq!(counts(&server), (2, 2), "{status}");
    }
}

#[tokio::test]
async fn a_question_that_meets_an_expired_token_is_asked_once_more() {
    let entry = r#"{"authStatus":{"authStatusCode":131},"results":[{"payerTransactionID":"AAAAAAAAAAAAAAAAAAAAAAAAAA","statusCode":140,"accountNumber":"77","serviceCode":"WATER"}]}"#;
    let valid_account = entry.replace("140", "307");
    let due = entry.replace("140", r#"308,"dueAmount":10,"currency":"KES""#);
    let balance =
        r#"{"authStatus":{"authStatusCode":131},"results":[{"balance":10,"currencyCode":"KES"}]}"#;
    for status in ["200 OK", "401 Unauthorized"] {
        let (server, asked) = gateway(status, "Bearer token-number-2", entry.to_owned());
        let reply = soon(asked.query(&about(A))).await;
        assert!(matches!(only(&reply).event, Event::Answer(_)), "{reply:?}");
        assert_eq!((reply.signal, counts(&server)), (Signal::Healthy, (2, 2)));

        let (server, asked) = gateway(status, "Bearer token-number-2", valid_account.clone());
        let answer = soon(asked.account(&service("WATER"), "77")).await.unwrap();
        assert!(matches!(answer, AccountAnswer::Valid { .. }));
        assert_eq!(counts(&server), (2, 2));

        let (server, asked) = gateway(status, "Bearer token-number-2", due.clone());
        let answers = soon(asked.bills(&[bill("WATER", "77")])).await.unwrap();
        assert_eq!(
            (format!("{answers:?}").as_str(), counts(&server)),
            ("[Due]", (2, 2))
        );

        let (server, asked) = gateway(status, "Bearer token-number-2", balance.to_owned());
        let balances = soon(asked.float(&[service("WATER")])).await.unwrap();
        assert_eq!(balances[0].as_ref().unwrap().minor, 1_000);
        assert_eq!(counts(&server), (2, 2));
    }
}

#[tokio::test]
async fn a_token_that_is_no_better_renewed_stops_the_run() {
    let (server, gateway) = gateway("200 OK", "Bearer nobody", String::new());
    let stop = |signal: &Signal| matches!(signal, Signal::Stop(StopReason::Credentials(why)) if why.contains("renewed for it"));
    let reply = soon(gateway.query(&about(A))).await;
    assert_eq!(only(&reply).event, Event::NoAnswer);
    assert!(stop(&reply.signal), "{reply:?}");
    assert_eq!(counts(&server), (2, 2));
    let posted = soon(gateway.post(&one(A))).await;
    assert_eq!(only(&posted).event, Event::Lost);
    assert!(stop(&posted.signal), "{posted:?}");
    assert_eq!(server.copies("postPayment"), 1);
    let refused = soon(gateway.float(&[service("WATER")])).await;
    assert!(
        matches!(refused, Err(OperationError::Credentials { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn the_same_number_means_authenticated_in_every_other_form() {
    for reply in [
        // An envelope says it of us, whatever else it says.
        r#"{"authStatus":{"authStatusCode":131},"success":false,"statusCode":131,"data":null}"#,
        r#"{"results":[],"success":false,"statusCode":131}"#,
        r#"{"success":false,"statusCode":131,"data":{}}"#,
        r#"{"success":true,"statusCode":131,"data":null}"#,
        r#"{"success":false,"statusCode":132,"data":null}"#,
        r#"{"statusCode":131,"message":"expired"}"#,
    ] {
        let (server, gateway) = gateway("500 Never", "Bearer token-number-1", reply.to_owned());
        let asked = soon(gateway.query(&about(A))).await;
        assert_eq!(only(&asked).event, Event::NoAnswer, "{reply}");
        let posted = soon(gateway.post(&one(A))).await;
        assert_eq!(only(&posted).event, Event::Lost, "{reply}");
        assert_eq!(counts(&server), (1, 2), "{reply}");
    }
}
