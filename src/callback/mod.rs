//! The listener of callbacks: authenticate, store, acknowledge, apply.
//!
//! A callback carries no signature (section 6, "not shown"), so that every payment is given an address that cannot be
//! guessed: `{public_url}/{payerTransactionID}/{HMAC-SHA256 of it}`. Anything else gets a 404, all alike.

mod acknowledgement;
mod address;
mod kept;
mod proof;
mod server;

pub use address::Addresses;
pub use proof::{Proof, ProofError};
#[cfg(test)]
pub(crate) use server::receive;
pub use server::{Listener, Options, bind};
