//! A post that waited before it could leave is looked at once more: meanwhile another run may have taken over, or an earlier
//! payment of its row may have been paid.

use std::time::Duration;

use disburse::gateway::{Gateway, HttpGateway, Profile, Signal};
use disburse::ledger::standstill::SILENCE_MAX;
use disburse::lifecycle::Event;

use super::around::{TOKEN, everything_at, issued};
use super::payments::{A, about, acknowledgement, one};
use super::server::{Connection, Server};
use super::{ACKNOWLEDGED, only, soon};

/// Longer than a look holds.
fn linger() {
    std::thread::sleep(SILENCE_MAX + Duration::from_millis(200));
}

fn acknowledge(connection: &mut Connection<'_>) {
    while connection.request().is_some() {
        connection.reply("200 OK", &acknowledgement(A));
    }
}

/// The first attempt is withheld, and what it waited for is there for the second one.
async fn is_looked_at_again(gateway: HttpGateway, server: &Server) {
    let reply = soon(gateway.post(&one(A))).await;
    let outcome = only(&reply);
    assert_eq!(outcome.event, Event::Unsent);
    assert!(outcome.said.cause.contains("is looked at once more"));
    assert!(matches!(reply.signal, Signal::Unreachable(_)));
    assert_eq!(server.copies(A), 0, "not a byte of it left");
    assert_eq!(only(&soon(gateway.post(&one(A))).await).event, ACKNOWLEDGED);
    assert_eq!(server.copies(A), 1);
}

#[tokio::test]
async fn a_post_that_waited_for_its_token_is_looked_at_again() {
    let issuer = Server::start(|mut connection| {
        while connection.request().is_some() {
            linger();
            connection.reply("200 OK", &issued(TOKEN, "3600"));
        }
    });
    let server = Server::start(|mut connection| acknowledge(&mut connection));
    let bearing = || {
        HttpGateway::new(Profile {
            payment_bearer: true,
            auth_url: everything_at(&issuer.url()).auth_url,
            ..everything_at(&server.url())
        })
        .unwrap()
    };
    is_looked_at_again(bearing(), &server).await;
    // A question may wait.
    soon(bearing().query(&about(A))).await;
    assert_eq!(server.copies(A), 2);
}

#[tokio::test]
async fn a_post_that_waited_for_its_connection_is_looked_at_again() {
    // A proxy that takes its time for each tunnel, and is the gateway behind it.
    let server = Server::start(|mut connection| {
        if connection.request_with_head().is_some() {
            linger();
            connection.send("HTTP/1.1 200 Connected\r\n\r\n");
            acknowledge(&mut connection);
        }
    });
    let gateway = HttpGateway::new(Profile {
        proxy: Some(server.url()),
        connect_timeout: Duration::from_secs(4),
        ..everything_at("http://127.0.0.1:9")
    })
    .unwrap();
    is_looked_at_again(gateway, &server).await;
    assert_eq!(server.connections(), 1, "the connection was kept");
}
