//! The gateway's interface: posts, status queries and callbacks, as evidence about payments, and the operations around them.
//!
//! [`HttpGateway`] turns every reply, and every silence, into one [`Outcome`] per payment. Nothing here re-sends:
//! one call puts at most one copy of its payments on the wire. [`TokenClient`], [`LookupClient`] and [`DocumentClient`]
//! speak to the other addresses; no payment is touched by them.

mod accounts;
mod callback;
mod channel;
mod classify;
mod connect;
mod decimal;
mod documents;
mod endpoint;
mod float;
mod guard;
mod http;
mod lookup;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod offline;
mod operations;
mod path;
mod pool;
mod profile;
mod scrub;
mod text;
mod tls;
mod token;
pub mod wire;

/// What the simulation shares with the client: the reading of replies.
#[cfg(test)]
pub(crate) mod simulated {
    pub(crate) use super::classify::{Failure, Question, Response, classify, failed};
}

use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use crate::domain::Said;
use crate::domain::{GatewayTransactionId, PayerTransactionId, Payment, ServiceCode};
use crate::lifecycle::Event;

pub use callback::{CallbackNotice, read_callback};
pub use documents::DocumentClient;
pub use http::HttpGateway;
pub use lookup::LookupClient;
pub use operations::{
    AccountAnswer, Bill, BillAnswer, BillInquiry, FloatBalance, LookupInquiry, NetworkOf,
    OperationError, Uploaded,
};
pub use profile::{ExtraDataForm, Profile, SupportDocumentIn};
pub use scrub::{Scrub, Secrets};
pub use token::{Bearer, TokenClient};

/// One payment to post.
#[derive(Clone)]
pub struct Outgoing {
    /// The payment.
    pub payment: Arc<Payment>,
    /// The reference under which the file service has its document (section 4.5); the row's own comes before it.
    pub support_document: Option<String>,
    /// Where the gateway reports its final status; `None` asks for no callback.
    pub callback_url: Option<String>,
}

// The callback's address is a capability: whoever knows it can report a status.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("payment", &self.payment.id)
            .field("callback", &self.callback_url.is_some())
            .finish()
    }
}

/// One payment to ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// `payerTransactionID`.
    pub id: PayerTransactionId,
    /// `gatewayTransactionID`, when the gateway has named one.
    pub gateway_transaction_id: Option<GatewayTransactionId>,
}

/// What the gateway, or its silence, said about one payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The evidence.
    pub event: Event,
    /// Its words.
    pub said: Said,
}

/// The outcome of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// One per payment asked, in the same order.
    pub outcomes: Vec<Outcome>,
    /// What the request says about the gateway itself.
    pub signal: Signal,
}

/// What one request says about the gateway itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// It answered about at least one of the payments.
    Healthy,
    /// The request never left: nothing could be sent.
    Unreachable(String),
    /// The request may have arrived, and no usable answer came back.
    Lost(String),
    /// It asks for fewer requests (429), for this long when it says so; five minutes at most.
    SlowDown(Option<Duration>),
    /// No further request makes sense.
    Stop(StopReason),
}

/// Why no further request makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The gateway did not let us in: `authStatusCode` 132, HTTP 401 or 403. Repetition may lock the account.
    Credentials(String),
    /// This is not the gateway's address: a redirect, HTTP 404 or 405.
    Misconfigured(String),
}

/// A payment gateway.
pub trait Gateway: Send + Sync + 'static {
    /// Posts payments in one request (section 4.2).
    fn post(&self, payments: &[Outgoing]) -> impl Future<Output = Reply> + Send;

    /// Asks what became of payments in one request.
    fn query(&self, payments: &[Inquiry]) -> impl Future<Output = Reply> + Send;

    /// Asks for the balance of a service's float account; `None` when the gateway tells nothing usable.
    // Not every deployment tells it.
    fn balance(
        &self,
        service: &ServiceCode,
    ) -> impl Future<Output = Result<Option<FloatBalance>, OperationError>> + Send {
        let _ = service;
        std::future::ready(Ok(None))
    }
}

/// Why there is no client, or no callback in a body.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address is not set, or not one that payments, documents or secrets may be sent to.
    #[error("the gateway's {key} {problem}")]
    Address {
        /// The key of the configuration that holds it.
        key: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The connect timeout is not shorter than the request timeout, or one of them is zero.
    // A total timeout that fires while connecting could not be told from one that fires after sending.
    #[error(
        "connect_timeout ({connect:?}) must be more than zero and shorter than request_timeout ({request:?})"
    )]
    Timeouts {
        /// The connect timeout.
        connect: Duration,
        /// The request timeout.
        request: Duration,
    },
    /// The proxy's address is not one. It is not shown: it may hold a password.
    #[error("the gateway's proxy is not the address of a proxy")]
    Proxy,
    /// The file of certificates cannot be read.
    #[error("cannot read the certificates in {path}: {source}")]
    CaFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file holds no certificate.
    #[error("{path} holds no certificate in PEM form")]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The client cannot be built, for want of root certificates for example.
    #[error("cannot set up the HTTPS client: {0}")]
    Client(String),
    /// A body that is no callback.
    #[error("not a payment callback: {0}")]
    Callback(&'static str),
}
