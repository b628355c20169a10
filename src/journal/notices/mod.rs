//! Notices about the standing of a batch, kept until they are delivered. Nothing here moves a payment, and nothing is on the chain.

pub(super) mod deliver;
pub(super) mod make;
pub(super) mod waiting;
