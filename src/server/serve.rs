//! Accepting, answering and draining, with a bound on everything that a caller controls.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::seats::{Guest, Seats};

const HEADERS_WITHIN: Duration = Duration::from_secs(5);
const HEADERS_BYTES_MAX: usize = 16 * 1024;

/// How many callers there are at once, and how long each may stay.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Callers at once.
    pub seats: usize,
    /// No further request is taken from a connection after this.
    pub connection_within: Duration,
    /// What is under way then is cut off after this.
    pub last_within: Duration,
    /// How long the end waits for what is under way.
    pub drain_within: Duration,
}

impl Bounds {
    /// Returns those of callers who say one thing after another, and are answered at once.
    #[must_use]
    pub fn of_short_calls(seats: usize) -> Self {
        Self {
            seats,
            connection_within: Duration::from_secs(120),
            last_within: Duration::from_secs(120),
            drain_within: Duration::from_secs(5),
        }
    }
}

/// What a caller is answered.
pub type Reply = Response<Full<Bytes>>;

/// Returns an answer without a body.
#[must_use]
pub fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(Full::default());
    *reply.status_mut() = status;
    reply
}

/// Takes the port.
///
/// # Errors
/// The port is taken, or may not be.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers callers until told to stop; what is under way is finished first.
pub async fn serve<A, F, B>(socket: TcpListener, bounds: Bounds, stop: CancellationToken, answer: A)
where
    A: Fn(Request<Incoming>, Arc<Guest>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let seats = Arc::new(Seats::new(bounds.seats));
    let tasks = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&socket, &seats) => accepted,
        };
        let Some((stream, guest)) = accepted else {
            continue;
        };
        let (answer, stop) = (answer.clone(), stop.clone());
        let guest = Arc::new(guest);
        tasks.spawn(serve_connection(stream, guest, answer, (bounds, stop)));
    }
    // A caller that comes now is refused at once, rather than left waiting in the kernel's queue.
    drop(socket);
    tasks.close();
    let _ = tokio::time::timeout(bounds.drain_within, tasks.wait()).await;
}

async fn accept(socket: &TcpListener, seats: &Arc<Seats>) -> Option<(TcpStream, Guest)> {
    match socket.accept().await {
        Ok((stream, peer)) => Some((stream, seats.take(peer.ip()).await)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            // Out of file descriptors, mostly: accepting at once again would spin.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn serve_connection<A, F, B>(
    stream: TcpStream,
    guest: Arc<Guest>,
    answer: A,
    (bounds, stop): (Bounds, CancellationToken),
) where
    A: Fn(Request<Incoming>, Arc<Guest>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let _ = stream.set_nodelay(true);
    let caller = Arc::clone(&guest);
    let service = service_fn(move |request| {
        let answered = answer(request, Arc::clone(&caller));
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(HEADERS_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let served = async {
        tokio::select! {
            ended = connection.as_mut() => return Some(ended),
            () = stop.cancelled() => {}
            () = tokio::time::sleep(bounds.connection_within) => {}
        }
        // What is under way, if anything, is done and acknowledged.
        connection.as_mut().graceful_shutdown();
        tokio::time::timeout(bounds.last_within, connection)
            .await
            .ok()
    };
    let ended = tokio::select! {
        ended = served => ended,
        // Never while what it sent is being stored.
        () = guest.asked_to_leave() => None,
    };
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
