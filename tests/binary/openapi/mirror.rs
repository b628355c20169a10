//! A copy of everything that passes between program and sandbox, for a validating proxy beside them.
//!
//! The proxy writes JSON anew, so that 1500.50 becomes 1500.5: no signature would survive that. Here the bytes pass as they are,
//! and each exchange is played to the proxy once more, before a stage that answers as the other side did.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Names the exchange that is played again.
const EXCHANGE: &str = "x-exchange";
const BODY_MAX: usize = 16 * 1024 * 1024;
const TIMEOUT: Duration = Duration::from_secs(30);

type Reply = (StatusCode, HeaderMap, Bytes);
/// The proxies that see each exchange.
type Audience = Arc<Mutex<Vec<String>>>;

/// Where exchanges are played again: it answers as the other side did.
#[derive(Clone, Default)]
struct Stage {
    replies: Arc<Mutex<BTreeMap<String, Reply>>>,
    played: Arc<AtomicUsize>,
}

/// What stands between two sides, for any number of them.
pub struct Mirrors {
    /// Where proxies find the stage.
    pub stage_url: String,
    stage: Stage,
    audience: Audience,
    client: reqwest::Client,
    runtime: Runtime,
}

/// One of them.
#[derive(Clone)]
struct Door {
    upstream: String,
    client: reqwest::Client,
    audience: Audience,
    stage: Stage,
}

impl Mirrors {
    /// Starts the stage.
    pub fn start() -> Self {
        // Another test may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let stage = Stage::default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .retry(reqwest::retry::never())
            .timeout(TIMEOUT)
            .build()
            .unwrap();
        let playing = Router::new().fallback(answer).with_state(stage.clone());
        Self {
            stage_url: serve(&runtime, playing),
            stage,
            audience: Audience::default(),
            client,
            runtime,
        }
    }

    /// Stands before another side; returns where.
    pub fn before(&self, upstream: &str) -> String {
        let door = Door {
            upstream: upstream.to_owned(),
            client: self.client.clone(),
            audience: Arc::clone(&self.audience),
            stage: self.stage.clone(),
        };
        serve(&self.runtime, Router::new().fallback(pass).with_state(door))
    }

    /// Plays every further exchange to a proxy before the stage.
    pub fn show(&self, proxy: &str) {
        self.audience.lock().unwrap().push(proxy.to_owned());
    }
}

/// Serves on a port of its own; returns the address.
fn serve(runtime: &Runtime, router: Router) -> String {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    runtime.spawn(async move { axum::serve(listener, router).await });
    url
}

/// The headers that belong to the exchange, and not to the connection.
fn of_exchange(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    headers
}

async fn pass(State(door): State<Door>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, BODY_MAX).await.unwrap();
    let target = head.uri.path_and_query().unwrap().as_str();
    let sent = |to: &str, headers: HeaderMap| {
        let request = door
            .client
            .request(head.method.clone(), format!("{to}{target}"));
        request.headers(headers).body(body.clone()).send()
    };
    // The other side may be away: then there is no exchange.
    let Ok(reply) = sent(&door.upstream, of_exchange(&head.headers)).await else {
        return response((StatusCode::BAD_GATEWAY, HeaderMap::new(), Bytes::new()));
    };
    let (status, headers) = (reply.status(), of_exchange(reply.headers()));
    let Ok(body_of_reply) = reply.bytes().await else {
        return response((StatusCode::BAD_GATEWAY, HeaderMap::new(), Bytes::new()));
    };
    let reply = (status, headers, body_of_reply);
    let name = door
        .stage
        .played
        .fetch_add(1, Ordering::Relaxed)
        .to_string();
    door.stage
        .replies
        .lock()
        .unwrap()
        .insert(name.clone(), reply.clone());
    let audience = door.audience.lock().unwrap().clone();
    for proxy in audience {
        let mut headers = of_exchange(&head.headers);
        headers.insert(EXCHANGE, name.parse().unwrap());
        // What the proxy thinks of it is in its own output.
        let _ = sent(&proxy, headers).await;
    }
    response(reply)
}

async fn answer(State(stage): State<Stage>, request: Request) -> Response {
    let name = request.headers()[EXCHANGE].to_str().unwrap();
    let reply = stage.replies.lock().unwrap()[name].clone();
    response(reply)
}

fn response((status, headers, body): Reply) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
