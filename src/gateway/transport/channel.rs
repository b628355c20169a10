//! The connection to an address beside the payment path. Every layer below it that could send a request twice, or elsewhere, is switched off.

use std::io;
use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::header::{ACCEPT, DATE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, Method, Proxy, RequestBuilder, Url, redirect, retry};

use super::failure::Failure;
use super::tls;
use crate::gateway::error::Error;
use crate::gateway::profile::Profile;
use crate::gateway::wire::text::clean;

/// Longer waits than this that the other side asks for are cut to it.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);
/// What the client calls itself.
pub(in crate::gateway) const AGENT: &str = concat!("disburse/", env!("CARGO_PKG_VERSION"));
/// Unused connections that are kept.
const IDLE_CONNECTIONS_MAX: usize = 256;

/// A hardened client and the one address that it is for.
pub(in crate::gateway) struct Channel {
    client: Client,
    url: Url,
    method: Method,
    connect_timeout: Duration,
    request_timeout: Duration,
    body_limit: usize,
}

/// What came back.
pub(in crate::gateway) struct Answer {
    /// The HTTP status.
    pub(in crate::gateway) status: u16,
    /// `Retry-After`.
    pub(in crate::gateway) retry_after: Option<Duration>,
    /// The body, or why there is none.
    pub(in crate::gateway) body: Result<Vec<u8>, Broken>,
}

/// Why a reply has no body that could be read.
#[derive(Debug, thiserror::Error)]
pub(in crate::gateway) enum Broken {
    /// It goes on beyond the limit, in bytes.
    #[error("a reply larger than {0} bytes")]
    TooLarge(usize),
    /// The connection did not bring all of it.
    #[error("{0}")]
    Cut(String),
}

impl Channel {
    /// Builds the client. Nothing is sent yet.
    pub(in crate::gateway) fn new(
        profile: &Profile,
        url: Url,
        method: Method,
    ) -> Result<Self, Error> {
        check_timeouts(profile)?;
        Ok(Self {
            client: client(profile, &url)?,
            url,
            method,
            connect_timeout: profile.connect_timeout,
            request_timeout: profile.request_timeout,
            body_limit: profile.body_limit,
        })
    }

    /// Returns the address.
    pub(in crate::gateway) fn url(&self) -> &Url {
        &self.url
    }

    /// Begins a request to the address.
    pub(in crate::gateway) fn post(&self) -> RequestBuilder {
        self.client.request(self.method.clone(), self.url.clone())
    }

    /// Begins a request to the address with a query, which is encoded already.
    pub(in crate::gateway) fn post_with(&self, query: &str) -> RequestBuilder {
        let mut url = self.url.clone();
        url.set_query(Some(query));
        self.client.request(self.method.clone(), url)
    }

    /// Sends a request, once.
    pub(in crate::gateway) async fn send(
        &self,
        request: RequestBuilder,
    ) -> Result<Answer, Failure> {
        match request.send().await {
            Ok(response) => Ok(Answer {
                status: response.status().as_u16(),
                retry_after: retry_after(response.headers()),
                body: self.read(response).await,
            }),
            Err(error) => Err(self.failure(&error.without_url())),
        }
    }

    /// Reads the body up to the limit; the request's timeout goes on running.
    async fn read(&self, mut response: reqwest::Response) -> Result<Vec<u8>, Broken> {
        let too_large = || Broken::TooLarge(self.body_limit);
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
                Err(error) => return Err(Broken::Cut(self.cause(&error.without_url()))),
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

    fn cause(&self, error: &reqwest::Error) -> String {
        cause(error, self.connect_timeout, self.request_timeout)
    }
}
/// Says in short what went wrong, without the address.
pub(in crate::gateway) fn cause(
    error: &reqwest::Error,
    connect_timeout: Duration,
    request_timeout: Duration,
) -> String {
    if error.is_timeout() {
        return if error.is_connect() {
            format!("no connection within {connect_timeout:?}")
        } else {
            format!("timed out after {request_timeout:?}")
        };
    }
    if error.is_dns() {
        return "the host name does not resolve".to_owned();
    }
    words(error)
}

/// Says in short what went wrong on a connection.
pub(in crate::gateway) fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    loop {
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
        match innermost.source() {
            Some(source) => innermost = source,
            None => return clean(&innermost.to_string()),
        }
    }
}

/// Refuses a connect timeout that is not shorter than the one of the whole request.
pub(in crate::gateway) fn check_timeouts(profile: &Profile) -> Result<(), Error> {
    let (connect, request) = (profile.connect_timeout, profile.request_timeout);
    if connect.is_zero() || connect >= request {
        return Err(Error::Timeouts { connect, request });
    }
    Ok(())
}

fn client(profile: &Profile, endpoint: &Url) -> Result<Client, Error> {
    let encrypted = endpoint.scheme() == "https";
    let mut headers = profile.fixed_headers()?;
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let mut builder = hardened(encrypted)
        .connect_timeout(profile.connect_timeout)
        .timeout(profile.request_timeout)
        .pool_idle_timeout(profile.idle_timeout)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .tls_backend_preconfigured(tls::config(profile.ca_file.as_deref(), encrypted)?)
        .default_headers(headers);
    builder = match &profile.proxy {
        Some(address) => builder.proxy(Proxy::all(address.as_str()).map_err(|_| Error::Proxy)?),
        // Named by nobody but the environment, a proxy would receive the payments.
        None => builder.no_proxy(),
    };
    built(builder)
}

/// A client that sends nothing twice and nothing elsewhere.
pub(in crate::gateway) fn hardened(encrypted: bool) -> ClientBuilder {
    Client::builder()
        // By default a request is repeated up to twice when the server resets its stream, read or not.
        .retry(retry::never())
        .http1_only()
        // By default 307 and 308 carry the body, credentials included, to wherever the reply says.
        .redirect(redirect::Policy::none())
        .referer(false)
        .https_only(encrypted)
        .tcp_nodelay(true)
        .user_agent(AGENT)
}

/// Builds it, or says the innermost reason why it cannot be.
pub(in crate::gateway) fn built(builder: ClientBuilder) -> Result<Client, Error> {
    builder.build().map_err(|error| {
        let mut innermost: &dyn std::error::Error = &error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        Error::Client(clean(&innermost.to_string()))
    })
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
pub(in crate::gateway) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
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
