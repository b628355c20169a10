//! The page that a monitoring system fetches: `GET /metrics`, and nothing else.

use std::net::IpAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{HeaderMap, Method, Request, StatusCode};
use prometheus_client::encoding::{prometheus_text, text};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::registry::Metrics;
use super::scraped::look;
use crate::domain::Timestamp;
use crate::server::{self, Bounds, Doing, Guest, Reply, empty};

/// Connections at once: a few systems scrape, each over one.
const SEATS_MAX: usize = 16;
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Tells the metrics to whoever asks for them, until told to stop.
pub async fn serve(listener: TcpListener, metrics: Arc<Metrics>, stop: CancellationToken) {
    // A page of somebody else's, open in a browser here, reaches this machine by a name of its own.
    let of_this_machine = listener.local_addr().is_ok_and(|at| at.ip().is_loopback());
    let answer =
        move |request, caller| answer((request, of_this_machine), caller, Arc::clone(&metrics));
    server::serve(listener, Bounds::of_short_calls(SEATS_MAX), stop, answer).await;
}

async fn answer<B>(
    (request, of_this_machine): (Request<B>, bool),
    caller: Arc<Guest>,
    metrics: Arc<Metrics>,
) -> Reply {
    if of_this_machine && !names_this_machine(request.headers()) {
        return empty(StatusCode::MISDIRECTED_REQUEST);
    }
    let form = match form_of(request.method(), request.uri().path(), request.headers()) {
        Ok(form) => form,
        Err(status) => return refused(status),
    };
    if !caller.is(Doing::Stored) {
        return empty(StatusCode::SERVICE_UNAVAILABLE);
    }
    // Read and written beside the run, which may have but one thread.
    let told = tokio::task::spawn_blocking(move || page(&look(&metrics, Timestamp::now()), form));
    let reply = told
        .await
        .unwrap_or_else(|_| empty(StatusCode::INTERNAL_SERVER_ERROR));
    caller.is(Doing::Resting);
    reply
}

/// In which words the metrics are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    OpenMetrics,
    /// The older text of Prometheus, which every tool reads.
    Text,
}

/// Returns whether a request names a loopback address, or `localhost`.
fn names_this_machine(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let host = host.to_str().unwrap_or_default();
    let bare = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = bare.trim_start_matches('[').trim_end_matches(']');
    address.eq_ignore_ascii_case("localhost")
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn refused(status: StatusCode) -> Reply {
    let mut refused = empty(status);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        let get = HeaderValue::from_static("GET");
        refused.headers_mut().insert(ALLOW, get);
    }
    refused
}

fn form_of(method: &Method, path: &str, headers: &HeaderMap) -> Result<Form, StatusCode> {
    if path != "/metrics" {
        return Err(StatusCode::NOT_FOUND);
    }
    if method != Method::GET {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let accepts = headers.get_all(ACCEPT).iter();
    let asks = accepts
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("application/openmetrics-text"));
    Ok(match asks {
        true => Form::OpenMetrics,
        false => Form::Text,
    })
}

fn page(registry: &Registry, form: Form) -> Reply {
    let mut body = String::new();
    let (written, kind) = match form {
        Form::OpenMetrics => (text::encode(&mut body, registry), OPEN_METRICS),
        Form::Text => (
            prometheus_text::encode(&mut body, registry),
            prometheus_text::CONTENT_TYPE,
        ),
    };
    if written.is_err() {
        return empty(StatusCode::INTERNAL_SERVER_ERROR);
    }
    let mut reply = Reply::new(Full::from(body));
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_somebody_elses_is_told_nothing() {
        for (host, expected) in [
            ("127.0.0.1:9464", true),
            ("localhost:9464", true),
            ("LOCALHOST", true),
            ("[::1]:9464", true),
            ("127.0.0.2", true),
            ("evil.example:9464", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            assert_eq!(names_this_machine(&headers), expected, "{host:?}");
        }
        assert!(!names_this_machine(&HeaderMap::new()));
    }

    #[test]
    fn the_metrics_are_told_to_whoever_gets_them_and_in_the_words_that_it_asks_for() {
        let open = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
        for (method, path, accept, expected) in [
            (Method::GET, "/metrics", None, Ok(Form::Text)),
            (Method::GET, "/metrics", Some("*/*"), Ok(Form::Text)),
            (Method::GET, "/metrics", Some(open), Ok(Form::OpenMetrics)),
            (Method::POST, "/metrics", None, Err(405)),
            (Method::GET, "/metrics/", None, Err(404)),
            (Method::GET, "/", Some(open), Err(404)),
            (Method::DELETE, "/else", None, Err(404)),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(accept) = accept {
                headers.insert(ACCEPT, HeaderValue::from_static(accept));
            }
            let found = form_of(&method, path, &headers).map_err(|status| status.as_u16());
            assert_eq!(found, expected, "{method} {path} {accept:?}");
        }
    }
}
