//! The HTTP side of the listener, with a bound on everything a caller controls.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::{Method, Request, StatusCode};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::counts::{CallbackOutcome, Counts};
use super::proof::Proof;
use super::{Addresses, acknowledgement, kept};
use crate::dialect::Dialect;
use crate::domain::{PayerTransactionId, Timestamp};
use crate::gateway::{CallbackNotice, Scrub, Secrets, read_callbacks, read_packets};
use crate::journal::{IncomingCallback, Journal, ReadBy, Received, Transition};
use crate::lifecycle::{CodeTable, Event, Policy, StepContext};
use crate::server::{self, Bounds, Doing, Guest, Reply, empty};

const BODY_MAX: usize = 64 * 1024;
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// Connections at once.
const SEATS_MAX: usize = 512;

/// What the listener works with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The journal.
    pub journal: Journal,
    /// The addresses that were given out.
    pub addresses: Addresses,
    /// Code -> class.
    pub codes: Arc<CodeTable>,
    /// The waits.
    pub policy: Arc<Policy>,
    /// What callers may repeat and nobody may read.
    pub secrets: Secrets,
    /// How callbacks differ from the interface document.
    pub dialect: Arc<Dialect>,
    /// What they show beside their address.
    pub proof: Proof,
    /// For which gateway it reads, and how; `None` reads whatever comes.
    pub reads_as: Option<Arc<ReadBy>>,
    /// Told of every payment that a callback moved.
    pub moved: Option<mpsc::Sender<Transition>>,
}

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    counts: Arc<Counts>,
}

/// Takes the port.
///
/// # Errors
/// The port is taken, or may not be.
pub async fn bind(address: SocketAddr) -> std::io::Result<Listener> {
    Ok(Listener {
        socket: server::bind(address).await?,
        counts: Arc::default(),
    })
}

impl Listener {
    /// Returns the address that was taken.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Returns what is counted of what it answers.
    #[must_use]
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Serves until told to stop; what is under way is finished first.
    pub async fn serve(self, options: Options, stop: CancellationToken) {
        let (options, counts) = (Arc::new(options), self.counts);
        let answer = move |request, caller: Arc<Guest>| {
            let (options, counts) = (Arc::clone(&options), Arc::clone(&counts));
            async move {
                let reply = answer(request, &options, &caller).await;
                counts.answered(&reply);
                reply
            }
        };
        server::serve(self.socket, Bounds::of_short_calls(SEATS_MAX), stop, answer).await;
    }
}

async fn answer(request: Request<Incoming>, options: &Options, caller: &Guest) -> Reply {
    let path = request.uri().path();
    let whose = match options.addresses.is_of_all(path) {
        true => Some(None),
        false => options.addresses.recognise(path).map(Some),
    };
    let (Some(whose), true) = (whose, request.method() == Method::POST) else {
        return empty(StatusCode::NOT_FOUND);
    };
    if !caller.is(Doing::Sending) {
        return empty(StatusCode::SERVICE_UNAVAILABLE);
    }
    let reply = genuine(whose, request, options, caller).await;
    caller.is(Doing::Resting);
    reply
}

/// Reads and stores what comes to the address of a payment, or of all of them.
async fn genuine(
    whose: Option<PayerTransactionId>,
    request: Request<Incoming>,
    options: &Options,
    caller: &Guest,
) -> Reply {
    let (head, body) = request.into_parts();
    let body = match tokio::time::timeout(BODY_WITHIN, read(body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return empty(StatusCode::BAD_REQUEST),
        Err(_) => return empty(StatusCode::REQUEST_TIMEOUT),
    };
    // From here on it is not cut off, whoever else needs the place.
    if !caller.is(Doing::Stored) {
        return empty(StatusCode::SERVICE_UNAVAILABLE);
    }
    // Of a body that is too long nobody can tell whether it was signed.
    let (Read::Whole(bytes) | Read::Beginning(bytes, _)) = &body;
    if !options.proof.holds(&head.headers, bytes) {
        tracing::warn!("a callback without its secret or its signature is not taken");
        return empty(StatusCode::UNAUTHORIZED);
    }
    let scrub = options.secrets.scrub();
    let Some(id) = whose else {
        let notes = match &body {
            Read::Whole(body) => notes_of(body, options, &scrub),
            Read::Beginning(..) => return empty(StatusCode::PAYLOAD_TOO_LARGE),
        };
        drop(body);
        return take_all(notes, options).await;
    };
    let (note, too_long) = match &body {
        Read::Whole(body) => (note_of(id, body, options, &scrub), false),
        Read::Beginning(head, announced) => (note_of_long(id, head, *announced, &scrub), true),
    };
    // Not kept while the journal is waited for: the connection reads its next request into the same memory.
    drop(body);
    let mut reply = take(id, note, options, Timestamp::now()).await;
    if too_long && reply.status() == StatusCode::OK {
        // It is kept that it came; what it says nobody has read, so that nothing of it is acknowledged.
        reply = empty(StatusCode::PAYLOAD_TOO_LARGE);
    }
    reply
}

/// What was read of a body.
enum Read {
    Whole(Vec<u8>),
    /// Its first bytes, as many as are read, and how many it is to have, if it said so.
    Beginning(Vec<u8>, Option<u64>),
}

/// Reads a body as far as the longest one that is taken.
async fn read(mut body: Incoming) -> Result<Read, hyper::Error> {
    let announced = body.size_hint().exact();
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        // What is no data is a trailer, of which nothing is wanted.
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        let room = BODY_MAX - read.len();
        read.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return Ok(Read::Beginning(read, announced));
        }
    }
    Ok(Read::Whole(read))
}

/// Stores what came to the address of all payments, each packet at its own, then answers. What names no payment of this journal
/// is somebody else's.
async fn take_all(notes: Vec<IncomingCallback>, options: &Options) -> Reply {
    let mut answered = empty(StatusCode::NOT_FOUND);
    for note in notes {
        let reply = take(note.id, note, options, Timestamp::now()).await;
        match reply.status() {
            StatusCode::OK => answered = reply,
            StatusCode::NOT_FOUND => {}
            // All of it comes again, and what is stored already is known then.
            _ => return reply,
        }
    }
    answered
}

/// Stores what came to the address of a payment, then answers.
async fn take(
    id: PayerTransactionId,
    note: IncomingCallback,
    options: &Options,
    now: Timestamp,
) -> Reply {
    let gateway_id = note.said.gateway_transaction_id.clone();
    let moment = StepContext {
        now,
        jitter: fastrand::u8(..),
    };
    let acknowledged =
        |gateway_id: Option<&str>| acknowledgement::reply(&options.dialect, id, gateway_id);
    planted_instead!(callback::stored_later(options, &note, moment, acknowledged));
    #[cfg(debug_assertions)]
    crate::failpoints::pass("before-callback-stored");
    let stored = options
        .journal
        .callback_read_by(
            note,
            moment,
            Arc::clone(&options.policy),
            options.reads_as.clone(),
        )
        .await;
    let outcome = match stored {
        Ok(Received::Stored(moved)) => {
            #[cfg(debug_assertions)]
            crate::failpoints::pass("before-callback-acknowledged");
            tracing::debug!(%id, moved = moved.is_some(), "callback stored");
            let outcome = match &moved {
                Some(_) => CallbackOutcome::Moved,
                None => CallbackOutcome::Stored,
            };
            if let (Some(moved), Some(channel)) = (moved, &options.moved) {
                // The run reads the journal anyway, so that a full channel loses nothing.
                let _ = channel.try_send(moved);
            }
            outcome
        }
        Ok(Received::Repeat) => CallbackOutcome::Repeat,
        // Sent again, it would change nothing again.
        Ok(Received::TooMany) => {
            tracing::debug!(%id, "a callback that changes nothing is not kept: many like it are kept already");
            CallbackOutcome::TooMany
        }
        Ok(Received::Unknown) => return empty(StatusCode::NOT_FOUND),
        // The first failure of the journal is told; each callback after it fails for the same reason.
        Err(error @ crate::journal::Error::Poisoned { .. }) => {
            tracing::debug!(%error, "a callback could not be stored");
            return empty(StatusCode::SERVICE_UNAVAILABLE);
        }
        Err(error) => {
            tracing::error!(%error, "a callback could not be stored");
            return empty(StatusCode::SERVICE_UNAVAILABLE);
        }
    };
    let gateway_id = gateway_id.as_ref().map(|id| id.as_str());
    let mut reply = acknowledged(gateway_id);
    reply.extensions_mut().insert(outcome);
    reply
}

/// Takes a callback as if it had come over the network; returns whether it was acknowledged.
#[cfg(test)]
pub(crate) async fn receive(
    id: PayerTransactionId,
    body: &[u8],
    options: &Options,
    now: Timestamp,
) -> bool {
    let note = note_of(id, body, options, &options.secrets.scrub());
    take(id, note, options, now).await.status() == StatusCode::OK
}

/// Reads a body. The address has proved who sends it: what cannot be read is kept as it is.
fn note_of(
    id: PayerTransactionId,
    body: &[u8],
    options: &Options,
    scrub: &Scrub,
) -> IncomingCallback {
    let blank = blank(id, body);
    let read = read_callbacks(body, &options.dialect, &options.codes, scrub);
    match read
        .map_err(|error| error.to_string())
        .and_then(|notices| about(id, notices))
    {
        Ok(CallbackNotice {
            id: named,
            verdict,
            mut said,
            ..
        }) => {
            let about_another = named.as_deref().is_some_and(|named| named != id.as_str());
            if about_another {
                said.anomaly = Some("the callback names another payment".into());
            }
            let event = (!about_another).then_some(Event::Callback(verdict));
            IncomingCallback {
                event,
                said,
                ..blank
            }
        }
        Err(error) => unread(id, body, &error, scrub),
    }
}

/// Returns what a callback at the address of a payment says of it: the only notice, or those that name it, if they agree.
fn about(
    id: PayerTransactionId,
    mut notices: Vec<CallbackNotice>,
) -> Result<CallbackNotice, String> {
    if notices.len() > 1 {
        notices.retain(|notice| notice.id.as_deref() == Some(id.as_str()));
    }
    let mut notices = notices.into_iter();
    let first = notices
        .next()
        .ok_or("packets, none of which names this payment")?;
    match notices.all(|other| other == first) {
        true => Ok(first),
        false => Err("packets about this payment that differ".to_owned()),
    }
}

/// Reads a body at the address of all payments: a note for each payment that it names. What cannot be read is kept for each
/// payment whose identifier stands in it, and hastens the question about it. [`BODY_MAX`] bounds how many these are.
fn notes_of(body: &[u8], options: &Options, scrub: &Scrub) -> Vec<IncomingCallback> {
    let mut of_payments: BTreeMap<PayerTransactionId, Vec<Result<CallbackNotice, String>>> =
        BTreeMap::new();
    match read_packets(body, &options.dialect, &options.codes, scrub) {
        Ok(packets) => {
            for (named, notice) in packets {
                let id = named.as_deref().and_then(PayerTransactionId::parse);
                if let Some(id) = id {
                    let notice = notice.map_err(|error| error.to_string());
                    of_payments.entry(id).or_default().push(notice);
                }
            }
        }
        Err(error) => {
            for id in identifiers_in(body) {
                of_payments.insert(id, vec![Err(error.to_string())]);
            }
            if of_payments.is_empty() {
                tracing::warn!(
                    "a callback at the shared address cannot be read, and names no payment"
                );
            }
        }
    }
    of_payments
        .into_iter()
        .map(|(id, own)| {
            let own: Result<Vec<CallbackNotice>, String> = own.into_iter().collect();
            match own.and_then(|own| about(id, own)) {
                Ok(notice) => IncomingCallback {
                    event: Some(Event::Callback(notice.verdict)),
                    said: notice.said,
                    ..blank(id, body)
                },
                Err(error) => unread(id, body, &error, scrub),
            }
        })
        .collect()
}

/// Finds whatever has the form of an identifier.
fn identifiers_in(body: &[u8]) -> Vec<PayerTransactionId> {
    let text = String::from_utf8_lossy(body);
    // With the characters that stand in a prefix or a UUID, and without.
    let long = text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '-'));
    let short = text.split(|c: char| !c.is_ascii_alphanumeric());
    let found: BTreeSet<PayerTransactionId> = long
        .chain(short)
        .filter_map(PayerTransactionId::parse)
        .collect();
    found.into_iter().collect()
}

/// Notes a genuine body that says nothing that can be read.
fn unread(id: PayerTransactionId, body: &[u8], error: &str, scrub: &Scrub) -> IncomingCallback {
    let mut note = blank(id, body);
    note.said.anomaly = Some(format!("not a callback: {error}"));
    note.body = Some(kept_of(body, Some(body.len()), scrub));
    note
}

/// Notes a body that is longer than any that is read: that it came, how long it was to be, and how it began.
fn note_of_long(
    id: PayerTransactionId,
    head: &[u8],
    announced: Option<u64>,
    scrub: &Scrub,
) -> IncomingCallback {
    let long = match announced {
        Some(length) => format!("{length} bytes, and at most {BODY_MAX} are read"),
        None => format!("more than {BODY_MAX} bytes, of which no more are read"),
    };
    let mut note = blank(id, head);
    note.said.anomaly = Some(format!("not a callback: {long}"));
    note.body = Some(kept_of(head, None, scrub));
    note
}

fn blank(id: PayerTransactionId, body: &[u8]) -> IncomingCallback {
    IncomingCallback {
        id,
        event: None,
        said: crate::domain::ResponseDetails::default(),
        digest: Sha256::digest(body).into(),
        body: None,
    }
}

fn kept_of(body: &[u8], length: Option<usize>, scrub: &Scrub) -> String {
    // Before it is cut: half of a secret is not recognised.
    let text = String::from_utf8_lossy(body);
    match scrub.text(&text) {
        Cow::Borrowed(_) => kept::kept(body, length),
        Cow::Owned(text) => kept::kept(text.as_bytes(), length),
    }
}
