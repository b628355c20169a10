//! The gateway's interface: posts, status queries and callbacks, as evidence about payments, and the operations around them.
//!
//! [`HttpGateway`] turns every reply, and every silence, into one [`Outcome`] per payment. Nothing here re-sends:
//! one call puts at most one copy of its payments on the wire. [`TokenClient`], [`LookupClient`] and [`DocumentClient`]
//! speak to the other addresses; no payment is touched by them.

mod classify;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod offline;
mod operations;
mod payments;
mod port;
mod profile;
mod resident;
mod scrub;
mod services;
mod transport;
pub mod wire;

pub use crate::domain::ResponseDetails;
pub use classify::callback::{CallbackNotice, Packet, read_callback, read_callbacks, read_packets};
pub use error::Error;
pub use operations::{
    AccountAnswer, Bill, BillAnswer, BillInquiry, FloatBalance, LookupInquiry, NetworkOf,
    OperationError, Uploaded,
};
pub use payments::http::HttpGateway;
pub use port::{Gateway, Inquiry, Outcome, Outgoing, Reply, Signal, StopReason};
pub use profile::{ExtraDataForm, Keys, Profile, SupportDocumentIn, identity};
pub(crate) use resident::stay;
pub use scrub::{Scrub, Secrets};
pub use services::documents::DocumentClient;
pub use services::lookup::LookupClient;
pub use services::reach::reach;
pub use services::token::{Bearer, TokenClient};
pub use services::webhook::{SigningSecret, Webhook, WebhookError};

/// What the simulation shares with the client: the reading of replies.
#[cfg(test)]
pub(crate) mod simulated {
    pub(crate) use super::classify::{Question, Response, classify, failed};
    pub(crate) use super::transport::failure::Failure;
}
