//! HTTP replies, sound and broken.

use std::borrow::Cow;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderName, HeaderValue, Method, Response as HttpResponse, StatusCode};
use axum::response::Response;
use hyper::body::Frame;

use crate::page::HEADERS;
use crate::sandbox::error::Error;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const PAGE: &str = "<!DOCTYPE html><html><head><title>Service unavailable</title></head>\
    <body><h1>Service unavailable</h1><p>Please try again later.</p></body></html>\n";

/// Marks a reply that is never sent: the connection closes instead.
#[derive(Clone, Copy)]
pub(in crate::sandbox) struct HangUp;

fn reply(status: StatusCode, kind: HeaderValue, body: impl Into<Body>) -> Response {
    let mut reply = HttpResponse::new(body.into());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}

/// A JSON reply with status 200, as business errors have it too.
pub(in crate::sandbox) fn json(body: String) -> Response {
    reply(StatusCode::OK, JSON, body)
}

/// A JSON reply with another status.
pub(in crate::sandbox) fn json_with(status: StatusCode, body: String) -> Response {
    reply(status, JSON, body)
}

/// A refusal by the status alone, with its reason.
pub(in crate::sandbox) fn error(status: StatusCode, why: &str) -> Response {
    let body = serde_json::json!({"error": why});
    reply(status, JSON, body.to_string())
}

/// There is nothing at that path.
pub(in crate::sandbox) fn not_found() -> Response {
    error(StatusCode::NOT_FOUND, "there is nothing at this path")
}

/// The path takes other methods.
pub(in crate::sandbox) fn method_not_allowed() -> Response {
    error(
        StatusCode::METHOD_NOT_ALLOWED,
        "this path does not take this method",
    )
}

/// The path takes these methods, and no other.
pub(in crate::sandbox) fn takes_only(methods: &[Method]) -> Response {
    let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
    let mut reply = method_not_allowed();
    if let Ok(names) = HeaderValue::from_str(&names.join(", ")) {
        reply.headers_mut().insert(ALLOW, names);
    }
    reply
}

/// A page for a person, with the rules that its browser holds it to.
pub(in crate::sandbox) fn page(html: String) -> Response {
    let mut reply = reply(StatusCode::OK, HTML, html);
    for (name, value) in HEADERS.iter() {
        if let Ok(value) = HeaderValue::from_str(value) {
            reply
                .headers_mut()
                .insert(HeaderName::from_static(name), value);
        }
    }
    reply
}

/// A YAML document.
pub(in crate::sandbox) fn yaml(text: Cow<'static, str>) -> Response {
    reply(
        StatusCode::OK,
        HeaderValue::from_static("application/yaml"),
        Body::from(text),
    )
}

/// The ledger cannot be written: the sandbox itself cannot go on.
pub(in crate::sandbox) fn no_ledger(error: &Error) -> Response {
    tracing::error!(%error, "the sandbox cannot keep its ledger");
    unavailable()
}

/// The connection closes without a reply.
pub(in crate::sandbox) fn hang_up() -> Response {
    let mut reply = HttpResponse::new(Body::empty());
    reply.extensions_mut().insert(HangUp);
    reply
}

/// A server error in one of the forms they come in: a page, nothing, or JSON that says little.
pub(in crate::sandbox) fn server_error(bits: u64) -> Response {
    let status = match bits % 4 {
        0 => StatusCode::INTERNAL_SERVER_ERROR,
        1 => StatusCode::BAD_GATEWAY,
        2 => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::GATEWAY_TIMEOUT,
    };
    match (bits >> 8) % 3 {
        0 => reply(status, HTML, PAGE),
        1 => reply(status, HTML, ""),
        _ => reply(status, JSON, r#"{"error":"unexpected error"}"#),
    }
}

/// The gateway did not answer its own front end in time.
pub(in crate::sandbox) fn gateway_timeout() -> Response {
    reply(StatusCode::GATEWAY_TIMEOUT, HTML, PAGE)
}

/// The sandbox itself cannot go on.
pub(in crate::sandbox) fn unavailable() -> Response {
    reply(StatusCode::SERVICE_UNAVAILABLE, HTML, PAGE)
}

/// A page where JSON is due.
pub(in crate::sandbox) fn garbage() -> Response {
    reply(StatusCode::OK, HTML, PAGE)
}

/// Too many requests.
pub(in crate::sandbox) fn throttled() -> Response {
    let mut reply = reply(StatusCode::TOO_MANY_REQUESTS, JSON, "");
    let one_second = HeaderValue::from_static("1");
    reply.headers_mut().insert(RETRY_AFTER, one_second);
    reply
}

/// The body is larger than allowed.
pub(in crate::sandbox) fn too_large() -> Response {
    error(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
}

/// The body did not come in time, or broke off.
pub(in crate::sandbox) fn incomplete() -> Response {
    error(StatusCode::REQUEST_TIMEOUT, "the body did not arrive")
}

/// A reply that announces all of its body and breaks off in the middle.
pub(in crate::sandbox) fn truncated(body: String) -> Response {
    let whole = body.len();
    let mut half = Bytes::from(body);
    half.truncate(whole / 2);
    let mut reply = reply(StatusCode::OK, JSON, Body::new(Half(Some(half))));
    reply
        .headers_mut()
        .insert(CONTENT_LENGTH, HeaderValue::from(whole));
    reply
}

/// A body that fails after its first part.
struct Half(Option<Bytes>);

/// The failure that makes the server close the connection.
#[derive(Debug, thiserror::Error)]
#[error("the reply breaks off here")]
struct BreaksOff;

impl hyper::body::Body for Half {
    type Data = Bytes;
    type Error = BreaksOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BreaksOff>>> {
        let part = self.0.take().map(Frame::data).ok_or(BreaksOff);
        Poll::Ready(Some(part))
    }
}

/// Axum's handlers do not fail.
pub(in crate::sandbox) fn infallible(result: Result<Response, Infallible>) -> Response {
    match result {
        Ok(reply) => reply,
        Err(never) => match never {},
    }
}
