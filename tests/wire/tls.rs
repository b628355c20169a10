//! TLS: one protocol, the roots that were named, and no byte of a payment to a stranger.

use std::io::Read;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use disburse::gateway::{
    DocumentClient, Error, Gateway, HttpGateway, LookupClient, OperationError, Profile, TokenClient,
};
use disburse::lifecycle::Event;
use reqwest::Url;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::around::{TOKEN, issued, kenyan_number};
use super::payments::{A, acknowledgement, id, one, profile};
use super::server::Server;
use super::{ACKNOWLEDGED, only, soon};

pub fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/wire/tls")
        .join(name)
}

/// A server that offers HTTP/2 before HTTP/1.1, and tells which of them was chosen.
fn encrypted() -> (Server, Receiver<Option<Vec<u8>>>) {
    encrypted_until(b"]}}", acknowledgement(A))
}

/// The same, where each connection takes its time to be opened.
pub fn lingering(pause: Duration) -> (Server, Receiver<Option<Vec<u8>>>) {
    encrypted_after(pause, b"]}}", acknowledgement(A))
}

/// The same for requests that end otherwise, with another reply.
fn encrypted_until(end: &'static [u8], body: String) -> (Server, Receiver<Option<Vec<u8>>>) {
    encrypted_after(Duration::ZERO, end, body)
}

fn encrypted_after(
    pause: Duration,
    end: &'static [u8],
    body: String,
) -> (Server, Receiver<Option<Vec<u8>>>) {
    let chain = vec![CertificateDer::from_pem_file(file("server.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = Arc::new(config);
    let (sender, receiver): (Sender<Option<Vec<u8>>>, _) = channel();
    let sender = Mutex::new(sender);
    let server = Server::start(move |connection| {
        std::thread::sleep(pause);
        let session = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(session, connection.stream);
        let mut request = Vec::new();
        let mut bytes = [0; 4096];
        while !request.ends_with(end) {
            match stream.read(&mut bytes) {
                Ok(count @ 1..) => request.extend_from_slice(&bytes[..count]),
                _ => return,
            }
        }
        let protocol = stream.conn.alpn_protocol().map(<[u8]>::to_vec);
        let _ = sender.lock().unwrap().send(protocol);
        let reply = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let _ = std::io::Write::write_all(&mut stream, reply.as_bytes());
    });
    (server, receiver)
}

pub fn https(server: &Server, ca_file: &str) -> Profile {
    Profile {
        ca_file: Some(file(ca_file)),
        connect_timeout: Duration::from_millis(900),
        ..profile(&format!("https://{}", server.address))
    }
}

#[tokio::test]
async fn only_http1_is_spoken_however_much_http2_is_offered() {
    let (server, protocol) = encrypted();
    let gateway = HttpGateway::new(https(&server, "ca.pem")).unwrap();
    let reply = soon(gateway.post(&one(A))).await;
    assert_eq!(only(&reply).event, ACKNOWLEDGED);
    assert_eq!(
        protocol.try_recv().unwrap().as_deref(),
        Some(&b"http/1.1"[..])
    );
    assert!(protocol.try_recv().is_err(), "there is one request");
}

#[tokio::test]
async fn a_server_that_the_roots_do_not_know_gets_nothing() {
    let (server, protocol) = encrypted();
    // The only root is one that has not signed the server's certificate.
    let gateway = HttpGateway::new(https(&server, "server.pem")).unwrap();
    let reply = soon(gateway.post(&one(A))).await;
    assert_eq!(only(&reply).event, Event::Unsent);
    assert!(protocol.try_recv().is_err());
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_unsent() {
    let server = Server::start(|mut connection| connection.drain());
    let gateway = HttpGateway::new(https(&server, "ca.pem")).unwrap();
    let reply = soon(gateway.post(&one(A))).await;
    assert_eq!(only(&reply).event, Event::Unsent);
    assert_eq!(only(&reply).said.cause, "no connection within 900ms");
}

#[test]
fn a_file_without_certificates_is_refused() {
    let profile = |name| Profile {
        ca_file: Some(file(name)),
        ..profile("https://gateway.example")
    };
    assert!(matches!(
        HttpGateway::new(profile("missing.pem")),
        Err(Error::CaFile { .. })
    ));
    assert!(matches!(
        HttpGateway::new(profile("server.key")),
        Err(Error::NoCertificate { .. })
    ));
}

#[tokio::test]
async fn every_address_is_encrypted_or_not_by_its_own_scheme() {
    // The payments go to this machine without encryption; the tokens do not.
    let (server, protocol) = encrypted_until(b"\r\n\r\n", issued(TOKEN, "3600"));
    let mixed = Profile {
        base_url: Url::parse("http://127.0.0.1:1").unwrap(),
        auth_url: Some(Url::parse(&format!("https://{}", server.address)).unwrap()),
        ..https(&server, "ca.pem")
    };
    assert!(HttpGateway::new(mixed.clone()).is_ok());
    let bearer = soon(TokenClient::new(&mixed).unwrap().bearer()).await;
    assert_eq!(bearer.unwrap().lifetime(), Some(Duration::from_secs(3_600)));
    assert_eq!(
        protocol.try_recv().unwrap().as_deref(),
        Some(&b"http/1.1"[..])
    );
}

#[tokio::test]
async fn a_stranger_gets_no_password_no_number_and_no_document() {
    let (server, protocol) = encrypted_until(b"\r\n\r\n", issued(TOKEN, "3600"));
    let address = Some(Url::parse(&format!("https://{}", server.address)).unwrap());
    let mistaken = Profile {
        auth_url: address.clone(),
        api_url: address.clone(),
        file_service_url: address,
        ..https(&server, "server.pem")
    };
    let tokens = TokenClient::new(&mistaken).unwrap();
    let token = soon(tokens.bearer()).await.map(|_| ());
    let issuer = super::around::issuing("");
    let good = TokenClient::new(&super::around::everything_at(&issuer.url())).unwrap();
    let lookups = LookupClient::new(&mistaken, good).unwrap();
    let lookup = soon(lookups.lookup(&kenyan_number())).await.map(|_| ());
    let documents = DocumentClient::new(&mistaken).unwrap();
    let payment = id(A);
    let upload = soon(documents.upload(&payment, "a.pdf", b"%PDF-".to_vec())).await;
    for outcome in [token, lookup, upload.map(|_| ())] {
        assert!(
            matches!(outcome, Err(OperationError::Unavailable(_))),
            "{outcome:?}"
        );
    }
    assert!(protocol.try_recv().is_err());
}
