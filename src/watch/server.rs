//! The HTTP side of the page, with a bound on everything a caller controls.

use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::body::Body;
use super::pages::Pages;
use super::route::{Asked, File, Key, Refusal, judge};
use super::shared::{Reading, Shared};
use super::token::Token;
use super::view::{Source, Trouble};
use crate::page::{HEADERS, event};
use crate::server::{self, Bounds, Doing, Guest};

/// Ten viewers with six connections each; a browser that listens comes again after an hour.
const BOUNDS: Bounds = Bounds {
    seats: 64,
    connection_within: Duration::from_secs(3600),
    last_within: TAKEN_WITHIN,
    drain_within: Duration::from_secs(3),
};
/// How often a page that is looked at may change.
const TICK: Duration = Duration::from_secs(1);
/// How long a reading may wait for others.
const TURN_WITHIN: Duration = Duration::from_secs(10);
/// A caller who takes nothing for so long is gone.
const TAKEN_WITHIN: Duration = Duration::from_secs(20);
/// Readings at once, of all callers.
const READINGS_MAX: usize = 2;
/// A file is sent in parts of this size.
const PART: usize = 64 * 1024;

/// A bound listener.
#[derive(Debug)]
pub struct Listener {
    socket: std::net::TcpListener,
    token: Token,
}

struct Context {
    source: Arc<dyn Source>,
    token: Token,
    pages: Pages,
    shared: Shared,
    readings: Semaphore,
    stop: CancellationToken,
    /// When it was told to stop: whoever looks is shown what was so from then on.
    stopped: OnceLock<Instant>,
}

type Reply = Response<Body>;

impl Listener {
    /// Takes the port, and makes the address that is told.
    ///
    /// # Errors
    /// The port is taken, or may not be.
    pub fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = std::net::TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            token: Token::new()?,
        })
    }

    /// Returns the address for a browser.
    ///
    /// # Errors
    /// The socket is gone.
    pub fn address(&self) -> std::io::Result<String> {
        let address = self.socket.local_addr()?;
        Ok(format!("http://{address}/{}/", self.token.as_str()))
    }

    /// Serves until told to stop; whoever looks is shown how everything stands last.
    pub(super) async fn serve(self, source: Arc<dyn Source>, stop: CancellationToken) {
        let socket = match TcpListener::from_std(self.socket) {
            Ok(socket) => socket,
            Err(error) => {
                tracing::warn!(%error, "the page cannot be served");
                return;
            }
        };
        let proof = match Token::new() {
            Ok(proof) => proof,
            Err(error) => {
                tracing::warn!(%error, "the page cannot be served");
                return;
            }
        };
        let context = Arc::new(Context {
            source,
            pages: Pages::new(&self.token, &proof),
            token: self.token,
            shared: Shared::default(),
            readings: Semaphore::new(READINGS_MAX),
            stop: stop.clone(),
            stopped: OnceLock::new(),
        });
        let answer = move |request, caller: Arc<Guest>| {
            let context = Arc::clone(&context);
            async move { answer(request, &caller, &context).await }
        };
        server::serve(socket, BOUNDS, stop, answer).await;
    }
}

fn reply(status: StatusCode, media_type: &'static str, body: Body) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    for (name, value) in HEADERS.iter() {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    reply
}

fn html(status: StatusCode, page: &str) -> Reply {
    let page = Bytes::copy_from_slice(page.as_bytes());
    reply(status, "text/html; charset=utf-8", Body::Whole(page))
}

/// Says no to whoever does not have the address, in words that tell nothing of it.
fn refused(refusal: Refusal) -> Reply {
    let (status, text) = match refusal {
        Refusal::Host => (
            StatusCode::MISDIRECTED_REQUEST,
            "Open this page as 127.0.0.1 or localhost.\n",
        ),
        Refusal::Method => (StatusCode::METHOD_NOT_ALLOWED, "Read only.\n"),
        Refusal::Nothing => (
            StatusCode::NOT_FOUND,
            "There is nothing here. Open the whole address that the program has shown.\n",
        ),
    };
    let body = Body::Whole(Bytes::from_static(text.as_bytes()));
    let mut reply = reply(status, "text/plain; charset=utf-8", body);
    if refusal == Refusal::Method {
        let takes = HeaderValue::from_static("GET, HEAD");
        reply.headers_mut().insert(ALLOW, takes);
    }
    reply
}

fn busy() -> Reply {
    let text = "Too many browsers show this page at once. Reload it in a minute.\n";
    let body = Body::Whole(Bytes::from_static(text.as_bytes()));
    let mut reply = reply(
        StatusCode::SERVICE_UNAVAILABLE,
        "text/plain; charset=utf-8",
        body,
    );
    reply
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("60"));
    reply
}

async fn answer(request: Request<Incoming>, caller: &Arc<Guest>, context: &Arc<Context>) -> Reply {
    let (method, uri) = (request.method(), request.uri());
    let asked = match judge(&context.token, method, uri, request.headers()) {
        Ok(asked) => asked,
        Err(refusal) => return refused(refusal),
    };
    // Somebody else needed the place: there are more viewers than places.
    if !caller.is(Doing::Resting) {
        return busy();
    }
    let is_head = method == Method::HEAD;
    let pages = &context.pages;
    let shown = match asked {
        Asked::Live(key) => context
            .live(&key, None)
            .await
            .map(|reading| html(StatusCode::OK, &reading.page)),
        Asked::Events(key) => Ok(context.events(key, caller, is_head)),
        Asked::Rows(wanted) => {
            let read = move |source: &dyn Source| source.rows(&wanted);
            context
                .read(read)
                .await
                .map(|view| html(StatusCode::OK, &pages.rows(&view)))
        }
        Asked::Payment { batch, id } => {
            let read = move |source: &dyn Source| source.payment(&batch, &id);
            context
                .read(read)
                .await
                .map(|view| html(StatusCode::OK, &pages.payment(&view)))
        }
        Asked::Search(text) => {
            let read = move |source: &dyn Source| source.search(&text);
            context
                .read(read)
                .await
                .map(|view| html(StatusCode::OK, &pages.found(&view)))
        }
        // Nothing is written for whoever wants the head alone.
        Asked::Report { file, .. } if is_head => Ok(reply(
            StatusCode::OK,
            file.media_type(),
            Body::Whole(Bytes::new()),
        )),
        Asked::Report { batch, file } => context.report(batch, file, caller).await,
    };
    shown.unwrap_or_else(|trouble| match trouble {
        Trouble::NotThere(text) => html(StatusCode::NOT_FOUND, &pages.trouble("Not found", &text)),
        Trouble::Failed(text) => html(
            StatusCode::SERVICE_UNAVAILABLE,
            &pages.trouble("It cannot be shown", &text),
        ),
    })
}

impl Context {
    /// Reads on a thread that may wait, no more than [`READINGS_MAX`] at once.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Source) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let turn = tokio::time::timeout(TURN_WITHIN, self.readings.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(Trouble::Failed(
                "Other pages are being read. Reload this one in a moment.".to_owned(),
            ));
        };
        let source = Arc::clone(&self.source);
        let done = tokio::task::spawn_blocking(move || read(source.as_ref())).await;
        done.unwrap_or_else(|_| Err(Trouble::Failed("It could not be read.".to_owned())))
    }

    /// Returns a page that many look at.
    async fn live(&self, key: &Key, from: Option<Instant>) -> Result<Reading, Trouble> {
        let read = || async {
            Ok(match key.clone() {
                Key::Batches => {
                    let view = self.read(Source::batches).await?;
                    self.pages.batches(&view)
                }
                Key::Batch(name) => {
                    let view = self.read(move |source| source.batch(&name)).await?;
                    self.pages.batch(&view)
                }
            })
        };
        self.shared.get(key, from, read).await
    }

    fn events(self: &Arc<Self>, key: Key, caller: &Arc<Guest>, is_head: bool) -> Reply {
        let (sender, parts) = mpsc::channel(2);
        let body = match is_head {
            true => Body::Whole(Bytes::new()),
            false => {
                let (context, caller) = (Arc::clone(self), Arc::clone(caller));
                tokio::spawn(async move { context.send_events(&key, &sender, &caller).await });
                Body::Parts(parts)
            }
        };
        reply(StatusCode::OK, "text/event-stream", body)
    }

    /// Sends a page whenever it has changed, and when it was read where it has not.
    async fn send_events(&self, key: &Key, sender: &mpsc::Sender<Bytes>, caller: &Guest) {
        let mut shown: Arc<str> = Arc::from("");
        let mut is_first = true;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let is_last = tokio::select! {
                () = self.stop.cancelled() => true,
                () = sender.closed() => return,
                _ = ticks.tick() => false,
            };
            // Where it cannot be read, the browser asks again in its own time.
            let from = is_last.then(|| *self.stopped.get_or_init(Instant::now));
            let Ok(reading) = self.live(key, from).await else {
                return;
            };
            let mut text = match is_first {
                // Whoever has the port after this program does not know what the page knows.
                true => event("proof", self.pages.proof()),
                false => String::new(),
            };
            is_first = false;
            text.push_str(&event("at", &reading.at));
            if reading.content != shown {
                text.push_str(&event("page", &reading.content));
                shown = reading.content;
            }
            if is_last {
                text.push_str(&event("gone", ""));
            }
            if !sent(sender, Bytes::from(text), caller).await || is_last {
                return;
            }
        }
    }

    /// Writes the report, and sends one file of it in parts.
    async fn report(
        self: &Arc<Self>,
        batch: String,
        file: File,
        caller: &Arc<Guest>,
    ) -> Result<Reply, Trouble> {
        let saved_as = format!("attachment; filename=\"{batch}-{}\"", file.name());
        let opened = self.read(move |source| source.report(&batch, file)).await?;
        let length = opened.metadata().map(|of| of.len()).ok();
        let (sender, parts) = mpsc::channel(2);
        let caller = Arc::clone(caller);
        tokio::spawn(async move { send_file(opened, &sender, &caller).await });
        let mut reply = reply(StatusCode::OK, file.media_type(), Body::Parts(parts));
        let headers = reply.headers_mut();
        // The name of a batch holds nothing that could end the quotes.
        if let Ok(value) = HeaderValue::from_str(&saved_as) {
            headers.insert(CONTENT_DISPOSITION, value);
        }
        if let Some(length) = length {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        Ok(reply)
    }
}

/// Sends a part; returns whether it was taken.
async fn sent(sender: &mpsc::Sender<Bytes>, part: Bytes, caller: &Guest) -> bool {
    match tokio::time::timeout(TAKEN_WITHIN, sender.send(part)).await {
        Ok(Ok(())) => true,
        Ok(Err(_)) => false,
        Err(_) => {
            caller.cut_off();
            false
        }
    }
}

async fn send_file(mut file: std::fs::File, sender: &mpsc::Sender<Bytes>, caller: &Guest) {
    loop {
        let read = tokio::task::spawn_blocking(move || {
            let mut part = Vec::with_capacity(PART);
            let read = (&mut file).take(PART as u64).read_to_end(&mut part);
            read.map(|_| (file, part))
        });
        let Ok(Ok((rest, part))) = read.await else {
            // Fewer bytes than were announced: the browser sees that it is not whole.
            caller.cut_off();
            return;
        };
        file = rest;
        if part.is_empty() || !sent(sender, Bytes::from(part), caller).await {
            return;
        }
    }
}
