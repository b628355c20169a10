//! The sandbox: a payment gateway that misbehaves on purpose and counts every execution.
//!
//! It is written against the interface alone and shares nothing with the client side but the values of
//! [`crate::domain`], so that it cannot share its mistakes. A request goes through `server` (HTTP, envelope) to one of the
//! `operations`, which judges it against the `books` under the one lock of the `gateway`, writes the change to the ledger
//! file, and only then replies. The `agenda` settles what was accepted; the workers of `callbacks` tell the listener.
//! What goes wrong is decided by `faults`: a pure function of seed, identifier and attempt.

mod agenda;
mod books;
mod callbacks;
mod description;
mod dialect;
mod entries;
mod error;
mod faults;
mod gateway;
mod http;
mod operations;
mod options;
mod outbox;
mod pages;
mod rules;
mod running;
mod server;
#[cfg(test)]
mod tests;

pub use books::verdict::{Execution, FloatAccount, Standing, Verdict};
pub use dialect::Seals;
pub use error::Error;
pub use faults::chances::{Faults, FloatShortage};
pub use faults::fault::Fault;
pub use options::{Options, SERVICES_MAX, Service};
pub use running::{Sandbox, start};
