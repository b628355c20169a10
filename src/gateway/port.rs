//! What a gateway is asked, and what comes of it, whatever it is that answers.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::operations::{FloatBalance, OperationError};
use crate::domain::{
    Country, GatewayTransactionId, PayerTransactionId, Payment, ResponseDetails, ServiceCode,
};
use crate::lifecycle::Event;

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
    /// The row's country, for the envelope; `None` is the profile's.
    pub country: Option<Country>,
}

/// What the gateway, or its silence, said about one payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The evidence.
    pub event: Event,
    /// Its words.
    pub said: ResponseDetails,
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
