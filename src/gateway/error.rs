//! Why there is no client, or no callback in a body.

use std::path::PathBuf;
use std::time::Duration;

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
    /// Requests cannot be signed.
    #[error("requests cannot be signed: {0}")]
    Signing(&'static str),
    /// A header of the dialect cannot be sent.
    #[error("the header {0} has a value that no header can carry")]
    Header(String),
    /// A body that is no callback.
    #[error("not a payment callback: {0}")]
    Callback(&'static str),
}
