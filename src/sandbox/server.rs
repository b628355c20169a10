//! The HTTP side: connections, routes, and the envelope that all functions share.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::codes::{FAILURE, NOT_AUTHENTICATED, description, refusal};
use super::replies::{self, HangUp};
use super::request::{Credentials, Envelope};
use super::state::Gateway;
use super::{listing, query};

/// The path of every payment function.
const PAYMENTS: &str = "/v1/global-api/payments";
const BODY_MAX: usize = 1024 * 1024;
const CONNECTIONS_MAX: usize = 512;
/// How long a connection may be idle, or take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The routes. Another endpoint is another line here; another function another line in [`payments`].
fn router(gateway: Arc<Gateway>) -> Router {
    Router::new()
        .route(PAYMENTS, post(payments))
        .route("/sandbox/ledger", get(ledger))
        .with_state(gateway)
}

/// Accepts connections until `stop`; a connection then ends with the request it is in, or at `kill`.
pub(super) async fn serve(
    listener: TcpListener,
    gateway: Arc<Gateway>,
    tasks: TaskTracker,
    stop: CancellationToken,
    kill: CancellationToken,
) {
    let service = TowerToHyperService::new(router(gateway));
    let seats = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accept = async {
            let seat = seats.clone().acquire_owned().await;
            (seat, listener.accept().await)
        };
        let (seat, accepted) = tokio::select! {
            () = stop.cancelled() => return,
            accepted = accept => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of descriptors, most likely: wait for some to be closed.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (service, stop, kill) = (service.clone(), stop.clone(), kill.clone());
        tasks.spawn(async move {
            let _seat = seat;
            tokio::select! {
                () = kill.cancelled() => {}
                () = converse(stream, service, stop) => {}
            }
        });
    }
}

/// The reply is withheld on purpose.
#[derive(Debug, thiserror::Error)]
#[error("the connection closes without a reply")]
struct Withheld;

async fn converse(
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    stop: CancellationToken,
) {
    // Small replies must not wait for one another; a failure to ask for that costs only time.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let reply = service.call(request);
        async move {
            let reply = replies::infallible(reply.await);
            // An error from the service makes the server close the connection without a byte.
            match reply.extensions().get::<HangUp>() {
                Some(HangUp) => Err(Withheld),
                None => Ok(reply),
            }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // How a connection ends is the other side's affair.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn payments(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    let body = Limited::new(request.into_body(), BODY_MAX).collect();
    let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return replies::too_large(),
        _ => return replies::incomplete(),
    };
    let envelope: Envelope<'_> = match serde_json::from_slice(&body) {
        Ok(envelope) => envelope,
        Err(error) => {
            let why = format!("The request is not valid JSON of the interface: {error}");
            return replies::json(refusal(FAILURE, &why));
        }
    };
    let Some(payload) = &envelope.payload else {
        return replies::json(refusal(FAILURE, "payload is missing"));
    };
    if !admits(&gateway, payload.credentials.as_ref()) {
        let why = description(NOT_AUTHENTICATED);
        return replies::json(refusal(NOT_AUTHENTICATED, why));
    }
    match envelope.function.as_ref() {
        "GATEWAY.postPayment" => super::post::answer(&gateway, &envelope, payload.packet).await,
        "GATEWAY.queryPaymentStatus" => query::answer(&gateway, payload.packet),
        "" => replies::json(refusal(FAILURE, "function is missing")),
        unknown => {
            let shown: String = unknown.chars().take(64).collect();
            replies::json(refusal(FAILURE, &format!("Unknown function {shown}")))
        }
    }
}

fn admits(gateway: &Gateway, given: Option<&Credentials<'_>>) -> bool {
    match (&gateway.options.credentials, given) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some((username, password)), Some(given)) => {
            given.username == username.as_str() && given.password == password.as_str()
        }
    }
}

/// The query of `GET /sandbox/ledger`.
#[derive(serde::Deserialize)]
struct LedgerQuery {
    #[serde(default)]
    summary: bool,
}

async fn ledger(
    State(gateway): State<Arc<Gateway>>,
    Query(LedgerQuery { summary }): Query<LedgerQuery>,
) -> Response {
    replies::json(listing::render(&gateway, summary))
}
