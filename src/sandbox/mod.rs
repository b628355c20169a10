//! The sandbox: a payment gateway that misbehaves on purpose and counts every execution.
//!
//! It is written against the interface alone and shares nothing with the client side but the values of
//! [`crate::domain`], so that it cannot share its mistakes. A request goes through `server` (HTTP, envelope) to an
//! operation (`post`, `query`, `bills`, `accounts`, `floats`, `tokens`, `lookup`, `upload`), which judges it against the
//! books (`ledger`, `documents`) under one lock, writes the change to the ledger file (`store`), and only then replies. `agenda` settles what was accepted; `callbacks` tells the listener.
//! What goes wrong is decided by `faults`: a pure function of seed, identifier and attempt.

mod account;
mod accounts;
mod agenda;
mod bills;
mod callbacks;
mod caller;
mod codes;
mod details;
mod documents;
mod event;
mod fault_file;
mod faults;
mod floats;
mod ledger;
mod listing;
mod lookup;
mod networks;
mod options;
mod page;
mod pdf;
mod post;
mod query;
mod replies;
mod request;
mod server;
mod state;
mod store;
mod tally;
#[cfg(test)]
mod tests;
mod tokens;
mod upload;
mod validation;
mod verdict;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use faults::{Fault, Faults, FloatShortage};
pub use options::{Options, SERVICES_MAX, Service};
use state::Gateway;
pub use verdict::{Execution, FloatAccount, Standing, Verdict};

/// How long requests that are under way may take to end.
const DRAIN_MAX: Duration = Duration::from_secs(3);

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

/// A running sandbox. Dropping it stops it at once, in the middle of whatever it does.
pub struct Sandbox {
    gateway: Arc<Gateway>,
    address: SocketAddr,
    tasks: TaskTracker,
    stop: CancellationToken,
    kill: CancellationToken,
}

/// Starts a sandbox, on the ledger file's state when there is one.
///
/// # Errors
/// The options are wrong, the address is taken, or the ledger file cannot be used.
pub async fn start(options: Options) -> Result<Sandbox, Error> {
    options.check()?;
    let bind_failed = |source| Error::Bind {
        address: options.listen,
        source,
    };
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(bind_failed)?;
    let address = listener.local_addr().map_err(bind_failed)?;
    let gateway = Arc::new(Gateway::open(options)?);
    let sandbox = Sandbox {
        gateway: gateway.clone(),
        address,
        tasks: TaskTracker::new(),
        stop: CancellationToken::new(),
        kill: CancellationToken::new(),
    };
    let (tasks, stop, kill) = (&sandbox.tasks, &sandbox.stop, &sandbox.kill);
    tasks.spawn(server::serve(
        listener,
        gateway.clone(),
        tasks.clone(),
        stop.clone(),
        kill.clone(),
    ));
    for _ in 0..callbacks::WORKERS {
        tasks.spawn(until(stop.clone(), callbacks::work(gateway.clone())));
    }
    tasks.spawn(until(stop.clone(), keep_agenda(gateway)));
    Ok(sandbox)
}

async fn until(stop: CancellationToken, work: impl Future<Output = ()>) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

async fn keep_agenda(gateway: Arc<Gateway>) {
    let mut due = Vec::new();
    loop {
        let next = gateway
            .agenda
            .take_due(tokio::time::Instant::now(), &mut due);
        if due.is_empty() {
            gateway.agenda.wait(next).await;
        } else {
            gateway.perform(&mut due);
            tokio::task::yield_now().await;
        }
    }
}

impl Sandbox {
    /// Returns where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL, without a slash at its end.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns what stays the same over restarts on one ledger file, whatever the port.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.gateway.identity
    }

    /// Sums the ledger up.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.gateway.book().ledger.verdict()
    }

    /// Lists every identifier that was posted, in alphabetical order.
    #[must_use]
    pub fn executions(&self) -> Vec<Execution> {
        self.gateway.book().ledger.executions()
    }

    /// Lists the float accounts.
    #[must_use]
    pub fn floats(&self) -> Vec<FloatAccount> {
        self.gateway.book().ledger.floats()
    }

    /// Adds a service's first float to its account once more, and ends its shortage.
    ///
    /// # Errors
    /// There is no such service, or the ledger file cannot be written.
    pub fn top_up(&self, service: &str) -> Result<(), Error> {
        self.gateway.top_up(service)
    }

    /// Stops: no new requests, those under way end within seconds. What has not settled stays pending.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(DRAIN_MAX, self.tasks.wait())
            .await
            .is_err()
        {
            self.kill.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stop.cancel();
        self.kill.cancel();
    }
}
