//! How a request gets to an address and its answer back: connections, TLS, timeouts, and one copy on the wire at most.
//! Payments go over a path of their own, on which nothing is ever sent twice; nothing here knows what a reply means.

pub(super) mod channel;
pub(super) mod connect;
pub(super) mod endpoint;
pub(super) mod failure;
pub(super) mod guard;
pub(super) mod path;
pub(super) mod pool;
pub(super) mod signature;
pub(super) mod tls;
