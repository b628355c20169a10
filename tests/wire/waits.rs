//! A post that waited before it could leave is looked at once more: meanwhile another run may have taken over, or an earlier
//! payment of its row may have been paid.

use std::time::Duration;

use disburse::gateway::{Gateway, HttpGateway, Profile, Reply, Signal};
use disburse::ledger::standstill::SILENCE_MAX;
use disburse::lifecycle::Event;

use super::around::{TOKEN, everything_at, issued};
use super::payments::{A, about, acknowledgement, one};
use super::server::Server;
use super::tls::{https, lingering};
use super::{ACKNOWLEDGED, only, soon};

/// Longer than a look holds.
fn long() -> Duration {
    SILENCE_MAX + Duration::from_millis(200)
}

/// The first attempt is withheld.
fn assert_withheld(reply: &Reply) {
    let outcome = only(reply);
    assert_eq!(outcome.event, Event::Unsent);
    assert!(outcome.said.cause.contains("is looked at once more"));
    assert!(matches!(reply.signal, Signal::Unreachable(_)));
}

#[tokio::test]
async fn a_post_that_waited_for_its_token_is_looked_at_again() {
    let issuer = Server::start(|mut connection| {
        while connection.request().is_some() {
            std::thread::sleep(long());
            connection.reply("200 OK", &issued(TOKEN, "3600"));
        }
    });
    let server = Server::start(|mut connection| {
        while connection.request().is_some() {
            connection.reply("200 OK", &acknowledgement(A));
        }
    });
    let bearing = || {
        HttpGateway::new(Profile {
            payment_bearer: true,
            auth_url: everything_at(&issuer.url()).auth_url,
            ..everything_at(&server.url())
        })
        .unwrap()
    };
    let gateway = bearing();
    assert_withheld(&soon(gateway.post(&one(A))).await);
    assert_eq!(server.connections(), 0, "not a byte of it left");
    // The token is there by now.
    assert_eq!(only(&soon(gateway.post(&one(A))).await).event, ACKNOWLEDGED);
    assert_eq!(server.copies(A), 1);
    // A question may wait.
    soon(bearing().query(&about(A))).await;
    assert_eq!(server.copies(A), 2);
}

#[tokio::test]
async fn a_post_that_waited_for_its_connection_is_looked_at_again() {
    let (server, requests) = lingering(long());
    let gateway = HttpGateway::new(Profile {
        connect_timeout: Duration::from_secs(4),
        ..https(&server, "ca.pem")
    })
    .unwrap();
    assert_withheld(&soon(gateway.post(&one(A))).await);
    assert!(requests.try_recv().is_err(), "no request of it arrived");
    assert_eq!(only(&soon(gateway.post(&one(A))).await).event, ACKNOWLEDGED);
    assert_eq!(requests.try_iter().count(), 1);
    assert_eq!(server.connections(), 1, "the connection was kept");
}
