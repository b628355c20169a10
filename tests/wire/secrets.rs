//! What logs, errors and debug output show: identifiers, and nothing that pays or names anyone.

use std::io;
use std::sync::{Arc, Mutex};

use disburse::gateway::{Gateway, HttpGateway, Profile};
use tracing::level_filters::LevelFilter;

use super::payments::{A, PASSWORD, gateway, kenyan, outgoing, profile};
use super::server::Server;
use super::{acknowledging, soon};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn logs_and_debug_output_hold_identifiers_only() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    // A gateway that quotes what it was told.
    let echo = Server::start(|mut connection| {
        while connection.request().is_some() {
            connection.reply(
                "200 OK",
                r#"{"authStatus":{"authStatusCode":132,"authStatusDescription":"pa\"ss\\word of 254700000001"}}"#,
            );
        }
    });
    let posts = [outgoing(kenyan(A), Some("https://pay.example/capability"))];
    let mut shown = format!("{posts:?}");
    for server in [acknowledging(), echo] {
        let gateway = gateway(&server.url());
        soon(gateway.post(&posts)).await;
        shown.push_str(&format!("{gateway:?} {:?}", profile(&server.url())));
    }
    let unproxied = HttpGateway::new(Profile {
        proxy: Some("http://user:hunter2@".into()),
        ..profile("https://gateway.example")
    });
    shown.push_str(&format!("{:?} ", unproxied.unwrap_err()));
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains(A), "{logged}");
    shown.push_str(&logged);

    for secret in [
        PASSWORD,
        "ss\\word",
        "hunter2",
        "254700000001",
        "capability",
    ] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}
