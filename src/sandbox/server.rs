//! The HTTP side: connections, routes, and the envelope that all functions share.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use axum::response::Response;
use axum::routing::{get, post};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::description;
use super::dialect::{self, Asked, Judged, PAYMENTS};
use super::gateway::Gateway;
use super::http::body::{BODY_MAX, read_body};
use super::http::codes::{FAILURE, NOT_AUTHENTICATED, description, refusal};
use super::http::replies::{self, HangUp};
use super::http::request::{Credentials, Envelope};
use super::operations::{accounts, bills, floats, lookup, query, tokens, upload};
use super::pages::{listing, page};
use crate::dialect::{Header, Operation};

const CONNECTIONS_MAX: usize = 512;
/// How long a connection may be idle, or take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The routes. Another endpoint is another line here; another function another line in [`payments`].
fn router(gateway: Arc<Gateway>) -> Router {
    let pages = Router::new()
        .route("/sandbox/ledger", get(ledger))
        .route("/sandbox/float", post(floats::top_up))
        .route("/openapi.yaml", get(described))
        .route("/", get(front));
    if !gateway.options.dialect.is_the_document() {
        return pages
            .fallback(in_dialect)
            .method_not_allowed_fallback(async || replies::method_not_allowed())
            .with_state(gateway);
    }
    pages
        .route(PAYMENTS, post(payments))
        .route("/api/v1/oauth/token", post(tokens::answer))
        .route("/api/v1/transaction-documents", post(upload::answer))
        .route(
            "/v4/remittance/payments/network-lookup",
            post(lookup::answer),
        )
        .fallback(async || replies::not_found())
        .method_not_allowed_fallback(async || replies::method_not_allowed())
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
    let body = match read_body(request.into_body(), BODY_MAX).await {
        Ok(body) => body,
        Err(reply) => return reply,
    };
    match function(&gateway, &body, false).await {
        Ok(reply) => reply,
        Err(why) => replies::json(refusal(FAILURE, &why)),
    }
}

/// Answers a request in another dialect than the document's.
async fn in_dialect(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    let spoken = &gateway.options.dialect;
    let asked = Asked::of(spoken, request.method(), request.uri().path());
    let query = request.uri().query().map(str::to_owned);
    match asked {
        None => match Asked::methods(spoken, request.uri().path()) {
            methods if methods.is_empty() => replies::not_found(),
            methods => replies::takes_only(&methods),
        },
        Some(Asked::Token) => tokens::answer(State(gateway), RawQuery(query)).await,
        Some(Asked::Lookup) => match admits_beside(&gateway, spoken.lookup.header, &request) {
            Ok(()) => lookup::answer_admitted(request).await,
            Err(why) => lookup::denied(&why),
        },
        Some(Asked::Upload) => match admits_beside(&gateway, spoken.upload.header, &request) {
            Ok(()) => {
                let reply = upload::answer(State(Arc::clone(&gateway)), request).await;
                with_body(reply, |text| (dialect::uploaded(spoken, text), None)).await
            }
            Err(why) => lookup::denied(&why),
        },
        Some(Asked::Payments) => in_dialect_on_the_payment_path(&gateway, request).await,
    }
}

/// Judges what a request beside the payment path shows.
fn admits_beside(gateway: &Gateway, header: Header, request: &Request) -> Result<(), String> {
    let options = &gateway.options;
    let headers = request.headers();
    options.seals.check_headers(&options.dialect, headers)?;
    let pair = dialect::authorized(header, headers, &gateway.tokens)?;
    match (pair, &options.credentials) {
        (Some(given), Some(known)) if given != *known => {
            Err("wrong user name or password".to_owned())
        }
        _ => Ok(()),
    }
}

/// Puts another body into a reply, and another status where there is one.
async fn with_body(
    reply: Response,
    other: impl FnOnce(&str) -> (String, Option<StatusCode>),
) -> Response {
    // What breaks off on purpose, or is no text, is the same in every dialect.
    if reply.headers().contains_key(CONTENT_LENGTH) || reply.extensions().get::<HangUp>().is_some()
    {
        return reply;
    }
    let (mut head, body) = reply.into_parts();
    let Ok(body) = read_body(body, usize::MAX - 1).await else {
        return replies::unavailable();
    };
    let Ok(text) = str::from_utf8(&body) else {
        return Response::from_parts(head, Body::from(body));
    };
    let (body, status) = other(text);
    head.status = status.unwrap_or(head.status);
    Response::from_parts(head, Body::from(body))
}

async fn in_dialect_on_the_payment_path(gateway: &Arc<Gateway>, request: Request) -> Response {
    let options = &gateway.options;
    let (head, body) = request.into_parts();
    let body = match read_body(body, BODY_MAX).await {
        Ok(body) => body,
        Err(reply) => return reply,
    };
    let shown = (&head.method, head.uri.path(), &head.headers);
    let (operation, answered) = match dialect::judge(
        &options.dialect,
        &options.seals,
        &gateway.tokens,
        shown,
        &body,
    ) {
        Judged::Asks {
            operation,
            body,
            is_admitted,
        } => {
            let answered = match function(gateway, &body, is_admitted).await {
                Ok(reply) => reply,
                Err(why) => replies::json(refusal(FAILURE, &why)),
            };
            (operation, answered)
        }
        Judged::NotAuthenticated(why) => {
            let reply = replies::json(refusal(NOT_AUTHENTICATED, &why));
            (Operation::Post, reply)
        }
        Judged::Breaks(why) => (Operation::Post, replies::json(refusal(FAILURE, &why))),
    };
    with_body(answered, |text| {
        let said = dialect::reply(&options.dialect, operation, text);
        (
            said.body,
            said.is_denied.then_some(StatusCode::UNAUTHORIZED),
        )
    })
    .await
}

/// Answers a payment function; an error is about the request as a whole.
async fn function(
    gateway: &Arc<Gateway>,
    body: &[u8],
    is_admitted: bool,
) -> Result<Response, String> {
    let envelope = Envelope::read(body)?;
    let payload = envelope.payload()?;
    if !is_admitted && !admits(gateway, payload.credentials()?.as_ref()) {
        let why = description(NOT_AUTHENTICATED);
        return Ok(replies::json(refusal(NOT_AUTHENTICATED, why)));
    }
    let packet = payload.packet;
    Ok(match envelope.function.as_ref() {
        "GATEWAY.postPayment" => super::operations::post::answer(gateway, &envelope, packet).await,
        "GATEWAY.queryPaymentStatus" => query::answer(gateway, packet),
        "GATEWAY.queryBill" => bills::answer(gateway, packet),
        "GATEWAY.queryFloatBalance" => floats::answer(gateway, packet),
        "GATEWAY.validateAccount" => accounts::answer(gateway, packet),
        "" => return Err("function is missing".to_owned()),
        unknown => {
            let shown: String = unknown.chars().take(64).collect();
            return Err(format!("Unknown function {shown}"));
        }
    })
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

async fn ledger(State(gateway): State<Arc<Gateway>>, RawQuery(query): RawQuery) -> Response {
    let mut pairs = query.as_deref().unwrap_or_default().split('&');
    let summary = pairs.any(|pair| pair == "summary=true" || pair == "summary=1");
    replies::json(listing::render(&gateway, summary))
}

async fn described(State(gateway): State<Arc<Gateway>>) -> Response {
    replies::yaml(description::text(&gateway.options.dialect))
}

async fn front(State(gateway): State<Arc<Gateway>>) -> Response {
    replies::page(page::render(&gateway))
}
