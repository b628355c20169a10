//! Connections of the payment path: opened when needed, used again, closed when idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use disburse::gateway::{Gateway, HttpGateway, Profile, Signal};
use disburse::lifecycle::Event;

use super::payments::{A, B, C, acknowledgement, gateway, one, profile};
use super::server::Server;
use super::tls::file;
use super::{ACKNOWLEDGED, acknowledging, only, settle, soon};

#[tokio::test]
async fn connections_that_close_between_requests_cost_no_second_copy() {
    let server = Server::start(|mut connection| {
        connection.request();
        connection.reply("200 OK", &acknowledgement(A));
    });
    let gateway = gateway(&server.url());
    let mut replies = 0;
    for round in 0..200 {
        let before = server.copies(A);
        let reply = soon(gateway.post(&one(A))).await;
        let copies = server.copies(A) - before;
        match only(&reply).event {
            ACKNOWLEDGED => assert_eq!(copies, 1, "round {round}"),
            Event::Lost => assert!(copies <= 1, "round {round}"),
            event => panic!("round {round}: {event:?}"),
        }
        replies += usize::from(only(&reply).event == ACKNOWLEDGED);
    }
    settle().await;
    assert!((replies..=200).contains(&server.copies(A)));
    assert!(replies > 0);
}

#[tokio::test]
async fn connections_are_reused() {
    let server = acknowledging();
    let gateway = gateway(&server.url());
    for _ in 0..5 {
        let reply = soon(gateway.post(&one(A))).await;
        assert_eq!(reply.signal, Signal::Healthy);
    }
    assert_eq!((server.connections(), server.copies(A)), (1, 5));
    assert_eq!(soon(gateway.post(&[])).await.outcomes, []);
    assert_eq!(server.copies("postPayment"), 5);
}

#[tokio::test]
async fn posts_at_once_have_a_connection_each_and_the_next_ones_use_them() {
    let server = acknowledging();
    let gateway = gateway(&server.url());
    for _ in 0..3 {
        let (a, b, c) = (one(A), one(B), one(C));
        let at_once = async { tokio::join!(gateway.post(&a), gateway.post(&b), gateway.post(&c)) };
        let (a, b, c) = soon(at_once).await;
        for reply in [a, b, c] {
            assert_eq!(only(&reply).event, ACKNOWLEDGED);
        }
    }
    assert_eq!(server.connections(), 3);
    for id in [A, B, C] {
        assert_eq!(server.copies(id), 3);
    }
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_closed_in_time() {
    let closed = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&closed);
    let server = Server::start(move |mut connection| {
        while connection.request().is_some() {
            connection.reply("200 OK", &acknowledgement(A));
        }
        seen.fetch_add(1, Ordering::SeqCst);
    });
    let gateway = HttpGateway::new(Profile {
        idle_timeout: Duration::from_millis(300),
        ..profile(&server.url())
    })
    .unwrap();
    for round in 1..=2 {
        for _ in 0..2 {
            let reply = soon(gateway.post(&one(A))).await;
            assert_eq!(only(&reply).event, ACKNOWLEDGED);
        }
        assert_eq!(server.connections(), round);
        let gone = async {
            while closed.load(Ordering::SeqCst) < round {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        soon(gone).await;
    }
}

#[tokio::test]
async fn a_connection_whose_reply_was_given_up_is_not_used_again() {
    let server = Server::start(|mut connection| {
        let first = connection.request();
        // The rest of this reply would be read as the start of the next one.
        connection.send("HTTP/1.1 200 OK\r\ncontent-length: 4096\r\n\r\n");
        if first.is_some_and(|body| !String::from_utf8(body).unwrap().contains(A)) {
            connection.send(" ".repeat(4096 - acknowledgement(B).len()));
            connection.send(acknowledgement(B));
        }
        connection.drain();
    });
    let gateway = HttpGateway::new(Profile {
        request_timeout: Duration::from_millis(700),
        ..profile(&server.url())
    })
    .unwrap();
    let reply = soon(gateway.post(&one(A))).await;
    assert_eq!(only(&reply).event, Event::Lost);
    let reply = soon(gateway.post(&one(B))).await;
    assert_eq!(only(&reply).event, ACKNOWLEDGED);
    assert_eq!((server.connections(), server.copies(B)), (2, 1));
}

#[tokio::test]
async fn a_named_proxy_that_refuses_sees_no_payment() {
    let proxy = Server::start(|mut connection| {
        connection.request();
        connection.send("HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n");
        connection.drain();
    });
    let gateway = HttpGateway::new(Profile {
        proxy: Some(proxy.url().replace("//", "//user:sesame@")),
        ca_file: Some(file("ca.pem")),
        ..profile("https://gateway.example")
    })
    .unwrap();
    let reply = soon(gateway.post(&one(A))).await;
    assert_eq!(only(&reply).event, Event::Unsent);
    assert_eq!(proxy.copies("CONNECT gateway.example:443"), 1);
    assert_eq!(proxy.copies("Basic dXNlcjpzZXNhbWU="), 1);
    assert_eq!(proxy.copies(A), 0);
}
