//! Why a sandbox does not start, or does not do what it is told.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a sandbox does not start, or does not do what it is told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Play money stays on this machine.
    #[error("the sandbox listens on loopback addresses only, not on {0}")]
    NotLoopback(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Options that contradict one another.
    #[error("sandbox options: {0}")]
    Options(String),
    /// The fault plan is wrong.
    #[error("fault plan: {0}")]
    Faults(String),
    /// There is no such service.
    #[error("the sandbox has no service {0:?}")]
    UnknownService(String),
    /// The ledger file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Ledger {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line of the ledger file is not what was written there.
    #[error("{}:{line}: not a line of a sandbox ledger: {reason}", path.display())]
    LedgerCorrupt {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Another sandbox has the ledger file open.
    #[error("{} is in use by another sandbox", .0.display())]
    LedgerInUse(PathBuf),
    /// The ledger holds as many identifiers as it may.
    #[error("the sandbox ledger is full")]
    LedgerFull,
}
