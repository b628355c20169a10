//! The clients of the other addresses: access tokens, networks of phone numbers, and supporting documents.
//! No payment is touched by them.

pub(super) mod authorization;
pub(super) mod documents;
pub(super) mod lookup;
pub(super) mod reach;
pub(super) mod token;
pub(super) mod webhook;
