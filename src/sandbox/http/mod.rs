//! Requests and replies as the interface writes them: bodies, envelopes, fields and codes.
//! Nothing here knows the running gateway.

pub(super) mod body;
pub(super) mod codes;
pub(super) mod replies;
pub(super) mod request;
pub(super) mod validation;
