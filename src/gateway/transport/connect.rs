//! Opens connections to one address: name, TCP, a proxy's tunnel, TLS.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HeaderMap, HeaderValue, USER_AGENT};
use hyper::rt::{Read, Write};
use hyper::{Request, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Proxy, Url};
use tower_service::Service;

use super::channel::{AGENT, words};
use super::guard::Guarded;
use super::tls;
use crate::gateway::error::Error;
use crate::gateway::profile::Profile;

/// An open connection, as seen from those who send.
pub(in crate::gateway) type Open = SendRequest<Guarded>;
/// A request.
pub(in crate::gateway) type Sent = Request<Guarded>;

type Tcp = HttpConnector<Names>;
type Any = Box<dyn std::error::Error + Send + Sync>;

/// How often a silent connection is probed, and how many probes may stay without an answer.
const PROBE_EVERY: Duration = Duration::from_secs(15);
const PROBES_MAX: u32 = 3;
/// How long bytes may stay without an acknowledgement.
#[cfg(target_os = "linux")]
const UNHEARD_MAX: Duration = Duration::from_secs(30);

/// Opens connections to one address.
pub(in crate::gateway) struct Connector {
    way: Way,
    address: Uri,
    timeout: Duration,
}

#[derive(Clone)]
enum Way {
    Straight(HttpsConnector<Tcp>),
    Tunnel(Box<HttpsConnector<Tunnel<HttpsConnector<Tcp>>>>),
}

impl Connector {
    /// Prepares connections. Nothing is opened yet.
    pub(in crate::gateway) fn new(profile: &Profile, endpoint: &Url) -> Result<Self, Error> {
        let config = tls::config(profile.ca_file.as_deref(), endpoint.scheme() == "https")?;
        let address: Uri = endpoint
            .as_str()
            .parse()
            .map_err(|_| Error::Client("the address is none that HTTP can carry".to_owned()))?;
        let way = match &profile.proxy {
            // What the environment names is not looked at: it would receive the payments.
            None => Way::Straight(HttpsConnector::from((tcp(), Arc::new(config)))),
            Some(proxy) => {
                let mut outer = config.clone();
                outer.alpn_protocols.clear();
                let outer = HttpsConnector::from((tcp(), Arc::new(outer)));
                let tunnel = tunnel(proxy, &address, outer)?;
                let inner = HttpsConnector::from((tunnel, Arc::new(config)));
                Way::Tunnel(Box::new(inner))
            }
        };
        Ok(Self {
            way,
            address,
            timeout: profile.connect_timeout,
        })
    }

    /// Opens a connection, or says why there is none.
    pub(in crate::gateway) async fn open(&self) -> Result<Open, String> {
        match tokio::time::timeout(self.timeout, self.dial()).await {
            Ok(Ok(open)) => Ok(open),
            Ok(Err(error)) => Err(words(&*error)),
            Err(_) => Err(format!("no connection within {:?}", self.timeout)),
        }
    }

    async fn dial(&self) -> Result<Open, Any> {
        let address = self.address.clone();
        match self.way.clone() {
            Way::Straight(mut connector) => serve(connector.call(address).await?).await,
            Way::Tunnel(mut connector) => serve(connector.call(address).await?).await,
        }
    }
}

/// Runs a connection until one of its ends closes it.
async fn serve<T: Read + Write + Unpin + Send + 'static>(stream: T) -> Result<Open, Any> {
    let (open, connection) = http1::handshake(stream).await?;
    // Whoever sends hears of its errors.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(open)
}

fn tcp() -> Tcp {
    let mut tcp = HttpConnector::new_with_resolver(Names(GaiResolver::new()));
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(PROBE_EVERY));
    tcp.set_keepalive_interval(Some(PROBE_EVERY));
    tcp.set_keepalive_retries(Some(PROBES_MAX));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNHEARD_MAX));
    tcp
}

/// Looks up host names as the system does, and says so where there is none.
#[derive(Clone)]
struct Names(GaiResolver);

#[derive(Debug, thiserror::Error)]
#[error("the host name does not resolve")]
struct NoSuchHost;

impl Service<Name> for Names {
    type Response = GaiAddrs;
    type Error = NoSuchHost;
    type Future = Pin<Box<dyn Future<Output = Result<GaiAddrs, NoSuchHost>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), NoSuchHost>> {
        self.0.poll_ready(context).map_err(|_| NoSuchHost)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let found = self.0.call(name);
        Box::pin(async { found.await.map_err(|_| NoSuchHost) })
    }
}

fn tunnel<C>(proxy: &str, address: &Uri, connector: C) -> Result<Tunnel<C>, Error> {
    Proxy::all(proxy).map_err(|_| Error::Proxy)?;
    let matcher = Matcher::builder().all(proxy).build();
    let proxy = matcher.intercept(address).ok_or(Error::Proxy)?;
    let agent = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(AGENT))]);
    let tunnel = Tunnel::new(proxy.uri().clone(), connector).with_headers(agent);
    Ok(match proxy.basic_auth() {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_host_that_has_no_name_is_told_in_plain_words() {
        // No system asks others about a label of more than 63 characters.
        let address = format!("https://{}.invalid", "a".repeat(64));
        let error = tcp().call(address.parse().unwrap()).await.unwrap_err();
        assert_eq!(words(&error), "the host name does not resolve");
    }
}
