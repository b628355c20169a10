//! The client. Every layer below it that could send a payment twice, or elsewhere, is switched off.

use std::fmt;
use std::io;
use std::time::Duration;

use hyper::body::Bytes;
use jiff::fmt::rfc2822;
use reqwest::header::{ACCEPT, CONTENT_TYPE, DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Certificate, Client, Proxy, Url, redirect, retry};
use secrecy::zeroize::Zeroizing;

use super::classify::{Failure, Question, Response, classify, failed};
use super::text::clean;
use super::wire::Requests;
use super::{Error, Gateway, Inquiry, Outgoing, Profile, Reply, Signal};
use crate::domain::PayerTransactionId;
use crate::lifecycle::CodeTable;

/// Longer waits than this that the gateway asks for are cut to it.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);
/// Unused connections that are kept.
const IDLE_CONNECTIONS_MAX: usize = 256;

/// The gateway behind HTTP.
pub struct HttpGateway {
    client: Client,
    endpoint: Url,
    requests: Requests,
    codes: CodeTable,
    connect_timeout: Duration,
    request_timeout: Duration,
    body_limit: usize,
}

impl HttpGateway {
    /// Builds the client. Nothing is sent yet.
    ///
    /// # Errors
    /// Refuses addresses and timeouts that are not safe to pay with, and certificates that cannot be read.
    pub fn new(profile: Profile) -> Result<Self, Error> {
        let endpoint = profile.endpoint()?;
        if profile.connect_timeout.is_zero() || profile.connect_timeout >= profile.request_timeout {
            return Err(Error::Timeouts {
                connect: profile.connect_timeout,
                request: profile.request_timeout,
            });
        }
        Ok(Self {
            client: client(&profile, &endpoint)?,
            endpoint,
            requests: Requests::new(&profile),
            codes: profile.codes,
            connect_timeout: profile.connect_timeout,
            request_timeout: profile.request_timeout,
            body_limit: profile.body_limit,
        })
    }

    async fn ask(
        &self,
        question: Question,
        ids: &[PayerTransactionId],
        body: Zeroizing<Vec<u8>>,
    ) -> Reply {
        let Some(first) = ids.first() else {
            return Reply {
                outcomes: Vec::new(),
                signal: Signal::Healthy,
            };
        };
        let request = self
            .client
            .post(self.endpoint.clone())
            // The owner wipes the bytes, the password among them, when the last of them is dropped.
            .body(Bytes::from_owner(body));
        let reply = match request.send().await {
            Ok(response) => {
                let status = response.status().as_u16();
                let retry_after = retry_after(response.headers());
                let body = self.read(response).await;
                let response = Response {
                    status,
                    retry_after,
                    body: body.as_deref().map_err(Clone::clone),
                };
                classify(question, ids, &response, &self.codes)
            }
            Err(error) => failed(question, ids, self.failure(&error.without_url())),
        };
        tracing::debug!(?question, %first, payments = ids.len(), signal = kind(&reply.signal), "asked the gateway");
        reply
    }

    /// Reads the body up to the limit; the request's timeout goes on running.
    async fn read(&self, mut response: reqwest::Response) -> Result<Vec<u8>, String> {
        let too_large = || format!("a reply larger than {} bytes", self.body_limit);
        let announced = response.content_length().unwrap_or(0);
        if announced > self.body_limit as u64 {
            return Err(too_large());
        }
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > self.body_limit => {
                    return Err(too_large());
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => return Ok(body),
                Err(error) => return Err(self.cause(&error.without_url())),
            }
        }
    }

    fn failure(&self, error: &reqwest::Error) -> Failure {
        let cause = self.cause(error);
        // Nothing else proves that not a byte has left: not a reset, not a timeout, not an incomplete reply.
        if error.is_builder() || error.is_connect() {
            Failure::Unsent(cause)
        } else {
            Failure::Lost(cause)
        }
    }

    /// Says in short what went wrong, without the address.
    fn cause(&self, error: &reqwest::Error) -> String {
        if error.is_timeout() {
            return if error.is_connect() {
                format!("no connection within {:?}", self.connect_timeout)
            } else {
                format!("timed out after {:?}", self.request_timeout)
            };
        }
        if error.is_dns() {
            return "the host name does not resolve".to_owned();
        }
        let mut innermost: &(dyn std::error::Error + 'static) = error;
        while let Some(source) = innermost.source() {
            innermost = source;
            let known = if let Some(error) = innermost.downcast_ref::<io::Error>() {
                known_io(error.kind())
            } else if let Some(error) = innermost.downcast_ref::<hyper::Error>() {
                known_http(error)
            } else {
                None
            };
            if let Some(text) = known {
                return text.to_owned();
            }
        }
        clean(&innermost.to_string())
    }
}

// The prepared requests hold the password.
impl fmt::Debug for HttpGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpGateway")
            .field("endpoint", &self.endpoint.as_str())
            .finish_non_exhaustive()
    }
}

impl Gateway for HttpGateway {
    async fn post(&self, payments: &[Outgoing]) -> Reply {
        let ids: Vec<_> = payments
            .iter()
            .map(|outgoing| outgoing.payment.id)
            .collect();
        self.ask(Question::Post, &ids, self.requests.post(payments))
            .await
    }

    async fn query(&self, payments: &[Inquiry]) -> Reply {
        let ids: Vec<_> = payments.iter().map(|inquiry| inquiry.id).collect();
        self.ask(Question::Status, &ids, self.requests.query(payments))
            .await
    }
}

fn client(profile: &Profile, endpoint: &Url) -> Result<Client, Error> {
    // An error means that a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let encrypted = endpoint.scheme() == "https";
    let json = HeaderValue::from_static("application/json");
    let mut builder = Client::builder()
        // By default a request is repeated up to twice when the server resets its stream, read or not.
        .retry(retry::never())
        .http1_only()
        // By default 307 and 308 carry the body, credentials included, to wherever the reply says.
        .redirect(redirect::Policy::none())
        .referer(false)
        .https_only(encrypted)
        .connect_timeout(profile.connect_timeout)
        .timeout(profile.request_timeout)
        .pool_idle_timeout(profile.idle_timeout)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .tcp_nodelay(true)
        .user_agent(concat!("disburse/", env!("CARGO_PKG_VERSION")))
        .default_headers(HeaderMap::from_iter([
            (CONTENT_TYPE, json.clone()),
            (ACCEPT, json),
        ]));
    builder = match &profile.proxy {
        Some(address) => builder.proxy(Proxy::all(address.as_str()).map_err(|_| Error::Proxy)?),
        // Named by nobody but the environment, a proxy would receive the payments.
        None => builder.no_proxy(),
    };
    if let Some(path) = &profile.ca_file {
        let unreadable = |source| Error::CaFile {
            path: path.clone(),
            source,
        };
        let pem = std::fs::read(path).map_err(unreadable)?;
        let certificates = Certificate::from_pem_bundle(&pem).unwrap_or_default();
        if certificates.is_empty() {
            return Err(Error::NoCertificate { path: path.clone() });
        }
        builder = builder.tls_certs_only(certificates);
    } else if !encrypted {
        // Without encryption no roots are needed, and a machine that has none is no obstacle.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| {
        let mut innermost: &dyn std::error::Error = &error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        Error::Client(clean(&innermost.to_string()))
    })
}

// The reasons stay out of logs: they may quote the gateway, which may quote us.
fn kind(signal: &Signal) -> &'static str {
    match signal {
        Signal::Healthy => "healthy",
        Signal::Unreachable(_) => "unreachable",
        Signal::Lost(_) => "lost",
        Signal::SlowDown(_) => "slow down",
        Signal::Stop(_) => "stop",
    }
}

fn known_io(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::ConnectionRefused => Some("connection refused"),
        io::ErrorKind::ConnectionReset => Some("connection reset"),
        io::ErrorKind::ConnectionAborted => Some("connection aborted"),
        io::ErrorKind::BrokenPipe => Some("connection closed while sending"),
        io::ErrorKind::UnexpectedEof => Some("connection closed before the reply was complete"),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Some("network unreachable")
        }
        _ => None,
    }
}

fn known_http(error: &hyper::Error) -> Option<&'static str> {
    if error.is_incomplete_message() {
        Some("connection closed before the reply was complete")
    } else if error.is_parse() {
        Some("a reply that is not HTTP/1.1")
    } else {
        None
    }
}

/// Reads `Retry-After`: seconds, or a date, which is compared with the reply's own `Date` and so with the same clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if value.bytes().all(|b| b.is_ascii_digit()) && !value.is_empty() {
        // More digits than a number holds are more than the limit in any case.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let date = |text: &str| Some(rfc2822::parse(text).ok()?.timestamp().as_second());
        let until = date(value)?;
        let from = date(headers.get(DATE)?.to_str().ok()?)?;
        Duration::from_secs(u64::try_from(until.saturating_sub(from)).unwrap_or(0))
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date_and_bounded() {
        let sent = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        for (value, date, expected) in [
            ("0", None, Some(0)),
            ("7", None, Some(7)),
            ("86400", None, Some(300)),
            ("99999999999999999999999", None, Some(300)),
            ("Sun, 06 Nov 1994 08:49:57 GMT", sent, Some(20)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", sent, Some(0)),
            ("Mon, 07 Nov 1994 08:49:37 GMT", sent, Some(300)),
            ("Sun, 06 Nov 1994 08:49:57 GMT", None, None),
            ("soon", sent, None),
            ("-1", sent, None),
            ("", sent, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
            if let Some(date) = date {
                headers.insert(DATE, HeaderValue::from_static(date));
            }
            assert_eq!(
                retry_after(&headers),
                expected.map(Duration::from_secs),
                "{value}"
            );
        }
    }
}
