//! Callbacks (section 6): sent by a few workers, again and again until they are acknowledged or given up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::Error;
use super::agenda::Task;
use super::details::callback_body;
use super::event::Event;
use super::faults::{Draw, Fault};
use super::state::Gateway;
use super::verdict::Standing;

/// How many callbacks are under way at once: as many as a client's posts by default.
pub(super) const WORKERS: usize = 64;
/// The longest pause between two sendings.
const BACKOFF_MAX: Duration = Duration::from_secs(5);
/// How much of a listener's reply is read, in bytes.
const REPLY_MAX: usize = 64 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(10);

/// A callback to send now.
pub(super) struct Call {
    pub id: Arc<str>,
    /// How often it was sent before.
    pub sent: u32,
    /// Whether it was acknowledged already.
    pub repeat: bool,
    /// Dropped when this sending is over, which tells whoever waits for it.
    pub watched: Option<oneshot::Sender<()>>,
}

impl Call {
    /// The `sent + 1`-th sending.
    pub fn nth(id: Arc<str>, sent: u32) -> Self {
        Self {
            id,
            sent,
            repeat: false,
            watched: None,
        }
    }
}

/// Callbacks that wait for a worker, and the client that sends them.
pub(super) struct Outbox {
    // Bounded by the ledger: one callback per identifier, and its repetition.
    waiting: Mutex<VecDeque<Call>>,
    more: Notify,
    client: reqwest::Client,
}

impl Outbox {
    pub fn new() -> Result<Self, Error> {
        // A provider that is installed already serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .http1_only()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .pool_max_idle_per_host(WORKERS)
            .pool_idle_timeout(Duration::from_secs(5))
            // Only plain loopback addresses are called, so that no machine's certificates are needed.
            .tls_certs_only([])
            .build()
            .map_err(Error::Client)?;
        Ok(Self {
            waiting: Mutex::default(),
            more: Notify::new(),
            client,
        })
    }

    /// Hands callbacks to the workers.
    pub fn push(&self, calls: Vec<Call>) {
        if calls.is_empty() {
            return;
        }
        self.waiting
            .lock()
            .expect("no holder of the outbox panics")
            .extend(calls);
        self.more.notify_one();
    }

    async fn next(&self) -> Call {
        loop {
            let (call, more) = {
                let mut waiting = self.waiting.lock().expect("no holder of the outbox panics");
                (waiting.pop_front(), !waiting.is_empty())
            };
            if more {
                // One wake-up may stand for several callbacks: the next worker is woken for the rest.
                self.more.notify_one();
            }
            match call {
                Some(call) => return call,
                None => self.more.notified().await,
            }
        }
    }
}

/// Sends callbacks for ever; one of [`WORKERS`].
pub(super) async fn work(gateway: Arc<Gateway>) {
    loop {
        let mut call = gateway.outbox.next().await;
        let watched = call.watched.take();
        deliver(&gateway, call).await;
        drop(watched);
    }
}

/// Sends a callback once, and plans what follows from the listener's answer.
async fn deliver(gateway: &Gateway, call: Call) {
    let (status, owed) = {
        let book = gateway.book();
        (
            book.ledger.status(&call.id),
            book.ledger.owes_callback(&call.id),
        )
    };
    // An acknowledged callback is not sent again, unless that is the point.
    if !owed && !call.repeat {
        return;
    }
    let Some((standing, acceptance)) =
        status.and_then(|status| Some((status.standing, status.acceptance?)))
    else {
        return;
    };
    // A second acceptance is under way: its end is told when it comes.
    if matches!(standing, Standing::Pending | Standing::Delivered) {
        return;
    }
    let Some(url) = acceptance.post.callback.as_deref().and_then(callable) else {
        tracing::warn!("a callback to an address that is not plain loopback HTTP is withheld");
        over(gateway, call.id.clone());
        return;
    };
    let acknowledged = send(gateway, url, callback_body(gateway, standing, &acceptance)).await;
    if call.repeat {
        return;
    }
    if acknowledged {
        let doubled = gateway.plan.callback(&call.id, acceptance.attempt);
        if doubled == Some(Fault::CallbackDoubled) {
            gateway.faulted.count(Fault::CallbackDoubled);
            let range = 50..=800;
            let delay = gateway
                .plan
                .within(&range, Draw::Repeat, &call.id, acceptance.attempt);
            let due = Instant::now() + Duration::from_millis(delay);
            gateway.agenda.add(due, Task::Repeat(call.id.clone()));
        }
        over(gateway, call.id.clone());
    } else if call.sent + 1 < gateway.options.callback_attempts_max {
        let backoff = Duration::from_millis(gateway.options.callback_backoff_ms)
            .saturating_mul(1 << call.sent.min(16))
            .min(BACKOFF_MAX);
        let next = Task::Call {
            id: call.id.clone(),
            sent: call.sent + 1,
        };
        gateway.agenda.add(Instant::now() + backoff, next);
    } else {
        over(gateway, call.id.clone());
    }
}

fn over(gateway: &Gateway, id: Arc<str>) {
    if let Err(error) = gateway.book().record(Event::Called { id }) {
        tracing::error!(%error, "the sandbox cannot keep its ledger");
    }
}

/// Returns the address when it is plain HTTP on this machine.
// A sandbox must not tell a real listener that money has moved.
fn callable(text: &str) -> Option<reqwest::Url> {
    let url = reqwest::Url::parse(text).ok()?;
    let host = url.host_str()?;
    let loopback = host == "localhost"
        || host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    (url.scheme() == "http" && loopback).then_some(url)
}

/// Returns whether the listener acknowledged.
async fn send(gateway: &Gateway, url: reqwest::Url, body: String) -> bool {
    let request = gateway
        .outbox
        .client
        .post(url)
        .header("content-type", "application/json")
        .body(body);
    let Ok(mut reply) = request.send().await else {
        return false;
    };
    let acknowledged = reply.status() == reqwest::StatusCode::OK;
    // Read to its end, the connection can be used again.
    let mut read = 0;
    while let Ok(Some(part)) = reply.chunk().await {
        read += part.len();
        if read > REPLY_MAX {
            break;
        }
    }
    acknowledged
}
