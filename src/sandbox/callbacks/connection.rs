//! The connection over which a worker sends callbacks: kept open between them, and served by the worker itself.
//!
//! Plain HTTP to this machine is all it can do.

use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of a listener's reply is read, in bytes.
const REPLY_MAX: usize = 64 * 1024;

type Sent = Request<Full<Bytes>>;

/// Returns the address when it is plain HTTP on this machine.
// A sandbox must not tell a real listener that money has moved.
pub(in crate::sandbox) fn callable(text: &str) -> Option<Uri> {
    // What follows # is the caller's own.
    let uri: Uri = text.split('#').next()?.parse().ok()?;
    let host = uri.host()?;
    let loopback = host.eq_ignore_ascii_case("localhost")
        || host
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    (uri.scheme_str() == Some("http") && loopback).then_some(uri)
}

/// Sends one callback at a time.
#[derive(Default)]
pub(in crate::sandbox) struct Caller {
    line: Option<Line>,
}

impl Caller {
    /// Waits for something else, and sees meanwhile whether the other side closes the connection.
    pub async fn until<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = std::pin::pin!(other);
        if let Some(line) = &mut self.line {
            tokio::select! {
                biased;
                done = other.as_mut() => return done,
                _ = line.connection.as_mut() => {}
            }
            self.line = None;
        }
        other.await
    }

    /// Returns whether the listener acknowledged.
    pub async fn call(
        &mut self,
        target: &Uri,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: String,
    ) -> bool {
        let status = tokio::time::timeout(TIMEOUT, self.exchange(target, headers, body)).await;
        status == Ok(Some(StatusCode::OK))
    }

    async fn exchange(
        &mut self,
        target: &Uri,
        headers: Vec<(HeaderName, HeaderValue)>,
        body: String,
    ) -> Option<StatusCode> {
        let address = target.authority()?.as_str();
        let path = target.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::post(path)
            .header(HOST, address)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(Full::from(body))
            .ok()?;
        request.headers_mut().extend(headers);
        // Taken out, so that a connection is lost with an exchange that is given up.
        let open = self.line.take().filter(|line| line.address == address);
        if let Some(mut line) = open {
            match line.send(request).await {
                Ok(status) => {
                    self.line = Some(line);
                    return status;
                }
                // The listener had closed it before anything was written.
                Err(unwritten) => request = *unwritten,
            }
        }
        let mut line = Line::open(target).await?;
        let status = line.send(request).await.ok()?;
        self.line = Some(line);
        status
    }
}

/// An open connection.
struct Line {
    /// Host and port.
    address: String,
    sender: SendRequest<Full<Bytes>>,
    connection: Pin<Box<http1::Connection<TokioIo<TcpStream>, Full<Bytes>>>>,
}

impl Line {
    async fn open(target: &Uri) -> Option<Self> {
        let host = target.host()?.trim_matches(['[', ']']);
        let connect = TcpStream::connect((host, target.port_u16().unwrap_or(80)));
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, connect).await;
        let stream = stream.ok()?.ok()?;
        // A failure to ask for that costs only time.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
        Some(Self {
            address: target.authority()?.as_str().to_owned(),
            sender,
            connection: Box::pin(connection),
        })
    }

    /// Sends a request and reads its reply to the end; gives a request back of which nothing was written.
    async fn send(&mut self, request: Sent) -> Result<Option<StatusCode>, Box<Sent>> {
        let Self {
            sender, connection, ..
        } = self;
        let exchange = async {
            if sender.ready().await.is_err() {
                return Err(Box::new(request));
            }
            let reply = match sender.try_send_request(request).await {
                Ok(reply) => reply,
                Err(mut error) => {
                    return error.take_message().map_or(Ok(None), |r| Err(Box::new(r)));
                }
            };
            let status = reply.status();
            let mut body = reply.into_body();
            // Read to its end, the connection can be used again.
            let mut read = 0;
            while let Some(Ok(frame)) = body.frame().await {
                read += frame.data_ref().map_or(0, Bytes::len);
                if read > REPLY_MAX {
                    break;
                }
            }
            Ok(Some(status))
        };
        let mut exchange = std::pin::pin!(exchange);
        tokio::select! {
            biased;
            done = exchange.as_mut() => done,
            // What it has read is handed over before it ends.
            _ = connection.as_mut() => exchange.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_to_this_machine_is_called() {
        for here in [
            "http://127.0.0.1:8480/callbacks/1",
            "http://localhost/callbacks?of=1#part",
            "http://[::1]:80/",
            "http://127.1.2.3",
        ] {
            assert!(callable(here).is_some(), "{here}");
        }
        for elsewhere in [
            "https://127.0.0.1/",
            "http://192.0.2.1/",
            "http://localhost.example/",
            "http://127.0.0.1.example/",
            "http://user@192.0.2.1/",
            "//127.0.0.1/",
            "/callbacks",
            "localhost:80",
            "file:///127.0.0.1",
            "",
        ] {
            assert!(callable(elsewhere).is_none(), "{elsewhere}");
        }
    }
}
