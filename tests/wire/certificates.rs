//! Who is spoken to: at every address, a server with a sound certificate of the pinned authority and nobody else.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use disburse::gateway::{
    DocumentClient, Gateway, HttpGateway, OperationError, Profile, TokenClient,
};
use disburse::lifecycle::Event;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use reqwest::Url;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::around::{TOKEN, issued, kenyan_number, service};
use super::payments::{A, about, acknowledgement, id, one, profile};
use super::server::{Connection, Server};
use super::{ACKNOWLEDGED, only, soon};

/// An authority that signs.
struct Authority {
    params: CertificateParams,
    key: KeyPair,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, name);
        Self {
            params,
            key: KeyPair::generate().unwrap(),
        }
    }

    fn pem(&self) -> String {
        self.params.self_signed(&self.key).unwrap().pem()
    }

    fn der(&self) -> CertificateDer<'static> {
        self.params.self_signed(&self.key).unwrap().der().clone()
    }

    /// Signs what a server shows, after a test has had its way with it.
    fn sign(&self, change: impl FnOnce(&mut CertificateParams)) -> Shown {
        let mut params = leaf();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let issuer = Issuer::from_params(&self.params, &self.key);
        let certificate = params.signed_by(&key, &issuer).unwrap();
        Shown::new(vec![certificate.der().clone()], &key)
    }
}

/// What a sound certificate says.
fn leaf() -> CertificateParams {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

/// What a server shows.
struct Shown {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Shown {
    fn new(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Self {
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Self {
            chain,
            key: key.into(),
        }
    }
}

/// A server for every address of the interface; counts the bytes of requests that got through the handshake.
fn serve(shown: Shown) -> (Server, Arc<AtomicUsize>) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(shown.chain, shown.key)
        .unwrap();
    let (config, read) = (Arc::new(config), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&read);
    let server = Server::start(move |connection| answer(connection, &config, &counted));
    (server, read)
}

fn answer(connection: Connection<'_>, config: &Arc<ServerConfig>, counted: &AtomicUsize) {
    let session = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut stream = StreamOwned::new(session, connection.stream);
    let (mut request, mut part) = (Vec::new(), [0; 4096]);
    while !is_whole(&request) {
        match stream.read(&mut part) {
            Ok(count @ 1..) => request.extend_from_slice(&part[..count]),
            _ => return,
        }
        counted.store(request.len(), Ordering::SeqCst);
    }
    let text = String::from_utf8_lossy(&request);
    let body = match () {
        () if text.contains("oauth") => issued(TOKEN, "3600"),
        () if text.contains("%PDF-") => r#"{"reference":"DOC-1"}"#.to_owned(),
        () if text.contains("number") && !text.contains("payload") => {
            r#"{"carrier":"E","timeZone":"Africa/Nairobi"}"#.to_owned()
        }
        () => acknowledgement(A),
    };
    let length = body.len();
    let reply =
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    let _ = stream.write_all(reply.as_bytes());
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .to_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
        .unwrap_or(0);
    request.len() >= head.len() + 4 + length
}

/// What is done at one of the addresses; `true` when it was answered.
const ADDRESSES: [&str; 5] = [
    "base_url, post",
    "base_url, query",
    "auth_url",
    "api_url",
    "file_service_url",
];

async fn reached(address: &str, url: &str, ca_file: Option<PathBuf>, good_tokens: &str) -> bool {
    let here = Some(Url::parse(url).unwrap());
    let own = Profile {
        ca_file: ca_file.clone(),
        connect_timeout: Duration::from_millis(1_500),
        auth_url: here.clone(),
        api_url: here.clone(),
        file_service_url: here,
        ..profile(url)
    };
    let outcome: Result<(), OperationError> = match address {
        "base_url, post" => {
            let reply = soon(HttpGateway::new(own).unwrap().post(&one(A))).await;
            let event = only(&reply).event;
            assert!([ACKNOWLEDGED, Event::Unsent].contains(&event), "{event:?}");
            return event == ACKNOWLEDGED;
        }
        "base_url, query" => {
            let reply = soon(HttpGateway::new(own).unwrap().query(&about(A))).await;
            return only(&reply).event != Event::NoAnswer;
        }
        "auth_url" => soon(TokenClient::new(&own).unwrap().bearer())
            .await
            .map(drop),
        "api_url" => {
            // Its token comes from a server that is sound.
            let issuer = Profile {
                auth_url: Some(Url::parse(good_tokens).unwrap()),
                ..profile(good_tokens)
            };
            let tokens = TokenClient::new(&issuer).unwrap();
            let lookups = disburse::gateway::LookupClient::new(&own, tokens).unwrap();
            soon(lookups.lookup(&kenyan_number())).await.map(drop)
        }
        _ => {
            let documents = DocumentClient::new(&own).unwrap();
            soon(documents.upload(&id(A), "a.pdf", b"%PDF-".to_vec()))
                .await
                .map(drop)
        }
    };
    match outcome {
        Ok(()) => true,
        Err(OperationError::Unavailable(_)) => false,
        Err(error) => panic!("{address}: {error:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_address_accepts_the_pinned_authority_and_refuses_everybody_else() {
    let folder = tempfile::tempdir().unwrap();
    let (pinned, stranger) = (Authority::new("pinned"), Authority::new("stranger"));
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, pinned.pem()).unwrap();
    let tokens = super::around::issuing("");

    let self_signed = || {
        let key = KeyPair::generate().unwrap();
        let certificate = leaf().self_signed(&key).unwrap();
        Shown::new(vec![certificate.der().clone()], &key)
    };
    // Its own name and key, over a certificate that may sign nothing.
    let by_a_leaf = || {
        let (params, key) = (leaf(), KeyPair::generate().unwrap());
        let between = params
            .signed_by(&key, &Issuer::from_params(&pinned.params, &pinned.key))
            .unwrap();
        let own = KeyPair::generate().unwrap();
        let last = leaf()
            .signed_by(&own, &Issuer::from_params(&params, &key))
            .unwrap();
        Shown::new(vec![last.der().clone(), between.der().clone()], &own)
    };
    type Case<'a> = (&'a str, Box<dyn Fn() -> Shown + 'a>, bool);
    let cases: [Case<'_>; 9] = [
        (
            "of the pinned authority",
            Box::new(|| pinned.sign(|_| ())),
            true,
        ),
        ("self-signed", Box::new(self_signed), false),
        (
            "of an unknown authority",
            Box::new(|| stranger.sign(|_| ())),
            false,
        ),
        (
            "of an unknown authority, which sends its own certificate along",
            Box::new(|| {
                let mut shown = stranger.sign(|_| ());
                shown.chain.push(stranger.der());
                shown
            }),
            false,
        ),
        (
            "expired",
            Box::new(|| {
                pinned.sign(|leaf| {
                    leaf.not_before = date_time_ymd(2020, 1, 1);
                    leaf.not_after = date_time_ymd(2021, 1, 1);
                })
            }),
            false,
        ),
        (
            "not valid yet",
            Box::new(|| pinned.sign(|leaf| leaf.not_before = date_time_ymd(4000, 1, 1))),
            false,
        ),
        (
            "of another host",
            Box::new(|| {
                pinned.sign(|leaf| {
                    *leaf = CertificateParams::new([
                        "gateway.example".to_owned(),
                        "127.0.0.2".to_owned(),
                    ])
                    .unwrap();
                })
            }),
            false,
        ),
        (
            "of a client",
            Box::new(|| {
                pinned.sign(|leaf| {
                    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]
                })
            }),
            false,
        ),
        (
            "signed by one that is no authority",
            Box::new(by_a_leaf),
            false,
        ),
    ];
    for (what, shown, sound) in &cases {
        for address in ADDRESSES {
            let (server, read) = serve(shown());
            let url = format!("https://{}", server.address);
            let got_there = reached(address, &url, Some(ca_file.clone()), &tokens.url()).await;
            assert_eq!(got_there, *sound, "{address}: a certificate {what}");
            let bytes = read.load(Ordering::SeqCst);
            assert_eq!(
                bytes > 0,
                *sound,
                "{address}: {bytes} bytes to a certificate {what}"
            );
            assert!(server.connections() > 0, "{address}: a certificate {what}");
        }
    }
    // The machine's own authorities do not know the pinned one.
    for address in ADDRESSES {
        let (server, read) = serve(pinned.sign(|_| ()));
        let url = format!("https://{}", server.address);
        assert!(
            !reached(address, &url, None, &tokens.url()).await,
            "{address}"
        );
        assert_eq!(read.load(Ordering::SeqCst), 0, "{address}");
    }
    println!(
        "{} certificates at {} addresses",
        cases.len() + 1,
        ADDRESSES.len()
    );
}

#[tokio::test]
async fn what_goes_over_a_proxy_is_encrypted_to_the_gateway_all_the_same() {
    let pinned = Authority::new("pinned");
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, pinned.pem()).unwrap();
    let stranger = Authority::new("stranger");
    // A proxy that opens the tunnel and then pretends to be the gateway.
    let shown = stranger
        .sign(|leaf| *leaf = CertificateParams::new(["gateway.example".to_owned()]).unwrap());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(shown.chain, shown.key)
        .unwrap();
    let (config, read) = (Arc::new(config), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&read);
    let proxy = Server::start(move |mut connection| {
        if connection.request().is_some() {
            connection.send("HTTP/1.1 200 Connected\r\n\r\n");
            answer(connection, &config, &counted);
        }
    });
    let profile = Profile {
        proxy: Some(proxy.url()),
        ca_file: Some(ca_file),
        ..profile("https://gateway.example")
    };
    let gateway = HttpGateway::new(profile).unwrap();
    let reply = soon(gateway.post(&one(A))).await;
    assert_eq!(only(&reply).event, Event::Unsent);
    assert!(soon(gateway.float(&[service("B2C")])).await.is_err());
    assert_eq!(read.load(Ordering::SeqCst), 0);
    assert_eq!(proxy.copies("CONNECT gateway.example:443"), 2);
}
