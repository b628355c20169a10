//! How a request may fail before any status comes back.

/// How a request failed before any status came back.
#[derive(Debug)]
pub(crate) enum Failure {
    /// No connection, or no request: proven never to have left.
    Unsent(String),
    /// Anything else.
    Lost(String),
}
