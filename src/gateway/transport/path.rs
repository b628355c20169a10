//! The payment path: one body to one address, over connections that stay open.
//!
//! It speaks to hyper itself: a client that can do more costs twice as much for each post. Nothing here repeats a request
//! that may have left, follows a redirect or looks at the environment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT,
};
use hyper::{Method, Response, Uri};
use reqwest::Url;
use secrecy::ExposeSecret as _;
use tokio::time::{Instant, timeout_at};

use super::channel::{AGENT, Answer, Broken, check_timeouts, retry_after, words};
use super::connect::{Connector, Open, Sent};
use super::failure::Failure;
use super::guard::{Guarded, STOOD_STILL, WAITED};
use super::pool::{IDLE_MAX, Pool};
use super::signature::Signer;
use crate::dialect::{self, Operation};
use crate::domain::Pulse;
use crate::gateway::error::Error;
use crate::gateway::profile::Profile;
use crate::gateway::wire::Body;
use crate::ledger::standstill::{is_fresh_word, may_depart};

/// Returns whether what was seen then still counts: another run may have taken over since, or an earlier generation may have
/// been paid.
fn still_holds(looked: Option<Instant>) -> bool {
    looked.is_none_or(|looked| is_fresh_word(looked.elapsed()))
}

/// Returns what signs requests, where the dialect says that they are signed.
fn signer(profile: &Profile) -> Result<Option<Signer>, Error> {
    let Some(signing) = &profile.dialect.signing else {
        return Ok(None);
    };
    let key = profile.keys.signing.as_ref();
    let key = key.ok_or(Error::Signing("its key was not read"))?;
    Signer::new(signing, key.expose_secret(), profile.clock).map(Some)
}

/// Returns the method as hyper has it.
pub(in crate::gateway) fn method(method: dialect::Method) -> Method {
    match method {
        dialect::Method::Post => Method::POST,
        dialect::Method::Put => Method::PUT,
    }
}

/// The way to the payment operation.
pub(in crate::gateway) struct Path {
    url: Url,
    connector: Connector,
    pool: Arc<Pool>,
    targets: BTreeMap<Operation, (Method, Uri)>,
    headers: HeaderMap,
    signer: Option<Signer>,
    request_timeout: Duration,
    body_limit: usize,
    /// Nothing leaves after a standstill.
    pulse: Option<Arc<Pulse>>,
}

impl Path {
    /// Prepares the way to the payment operation. Nothing is sent yet.
    pub(in crate::gateway) fn new(profile: &Profile) -> Result<Self, Error> {
        let url = profile.endpoint()?;
        check_timeouts(profile)?;
        let no_address = || Error::Client("the address is none that HTTP can carry".to_owned());
        let target = |operation| {
            let target = profile.address_of(operation).path().parse();
            let method = method(profile.dialect.call(operation).method);
            target.map(|target| (operation, (method, target)))
        };
        let targets: Result<_, _> = Operation::ALL
            .map(|(operation, ..)| target(operation))
            .into_iter()
            .collect();
        let host = url.host_str().unwrap_or_default();
        // The port of the scheme is not named.
        let host = url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let host = HeaderValue::from_str(&host).map_err(|_| no_address())?;
        let json = HeaderValue::from_static("application/json");
        let mut headers = profile.fixed_headers()?;
        headers.extend([
            (CONTENT_TYPE, json.clone()),
            (ACCEPT, json),
            (USER_AGENT, HeaderValue::from_static(AGENT)),
            (HOST, host),
        ]);
        Ok(Self {
            connector: Connector::new(profile, &url)?,
            url,
            pool: Pool::new(profile.idle_timeout),
            targets: targets.map_err(|_| no_address())?,
            headers,
            signer: signer(profile)?,
            request_timeout: profile.request_timeout,
            body_limit: profile.body_limit,
            pulse: None,
        })
    }

    /// Lets nothing leave while the pulse shows a standstill.
    pub(in crate::gateway) fn follow(&mut self, pulse: Arc<Pulse>) {
        self.pulse = Some(pulse);
    }

    fn may_depart(&self) -> bool {
        let pulse = self.pulse.as_ref();
        pulse.is_none_or(|pulse| may_depart(pulse.silence()))
    }

    /// Returns the address.
    pub(in crate::gateway) fn url(&self) -> &Url {
        &self.url
    }

    /// Sends a body, once. `looked`: when it was last asked whether it may leave, where that matters.
    pub(in crate::gateway) async fn post(
        &self,
        body: Body,
        authorization: Option<HeaderValue>,
        looked: Option<Instant>,
    ) -> Result<Answer, Failure> {
        if !self.may_depart() {
            return Err(Failure::Unsent(STOOD_STILL.to_owned()));
        }
        // The token is kept, so that the next attempt need not wait for it.
        if !still_holds(looked) {
            return Err(Failure::Unsent(WAITED.to_owned()));
        }
        let mut headers = self.headers.clone();
        if let Some(signer) = &self.signer
            && let Err(error) = signer.sign(&body, &mut headers)
        {
            return Err(Failure::Unsent(error.to_string()));
        }
        let (method, target) = &self.targets[&body.operation()];
        let mut request = Sent::new(Guarded::new(body, self.pulse.clone()));
        request.method_mut().clone_from(method);
        request.uri_mut().clone_from(target);
        *request.headers_mut() = headers;
        if let Some(token) = authorization {
            request.headers_mut().insert(AUTHORIZATION, token);
        }
        let deadline = Instant::now() + self.request_timeout;
        let late = || format!("timed out after {:?}", self.request_timeout);
        let (open, response) = match timeout_at(deadline, self.send(request, looked)).await {
            Ok(sent) => sent?,
            // The connect timeout is shorter: a request that runs into this one may have left.
            Err(_) => return Err(Failure::Lost(late())),
        };
        let (status, retry_after) = (response.status().as_u16(), retry_after(response.headers()));
        let body = timeout_at(deadline, self.read(response.into_body())).await;
        let body = body.unwrap_or_else(|_| Err(Broken::Cut(late())));
        if body.is_ok() {
            self.pool.put(open);
        }
        Ok(Answer {
            status,
            retry_after,
            body,
        })
    }

    async fn send(
        &self,
        mut request: Sent,
        looked: Option<Instant>,
    ) -> Result<(Open, Response<Incoming>), Failure> {
        for _ in 0..IDLE_MAX {
            let Some(mut open) = self.pool.take() else {
                break;
            };
            match open.try_send_request(request).await {
                Ok(response) => return Ok((open, response)),
                // The other side had closed the connection. The request comes back only if not a byte of it was written.
                Err(mut error) => match error.take_message() {
                    Some(unwritten) => request = unwritten,
                    None => return Err(Failure::Lost(words(error.error()))),
                },
            }
        }
        // Apart, as it is large and seldom needed.
        let opened = Box::pin(self.connector.open()).await;
        // Nothing else proves that not a byte has left: not a reset, not a timeout, not an incomplete reply.
        let mut open = opened.map_err(Failure::Unsent)?;
        if !still_holds(looked) {
            // The next attempt need not wait for it.
            if open.ready().await.is_ok() {
                self.pool.put(open);
            }
            return Err(Failure::Unsent(WAITED.to_owned()));
        }
        match open.send_request(request).await {
            Ok(response) => Ok((open, response)),
            Err(error) => Err(Failure::Lost(words(&error))),
        }
    }

    /// Reads the body up to the limit.
    async fn read(&self, mut incoming: Incoming) -> Result<Vec<u8>, Broken> {
        let too_large = || Broken::TooLarge(self.body_limit);
        let announced = incoming.size_hint().lower();
        if announced > self.body_limit as u64 {
            return Err(too_large());
        }
        let mut body = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|error| Broken::Cut(words(&error)))?;
            let Some(chunk) = frame.data_ref() else {
                continue;
            };
            if body.len() + chunk.len() > self.body_limit {
                return Err(too_large());
            }
            body.extend_from_slice(chunk);
        }
        Ok(body)
    }
}
