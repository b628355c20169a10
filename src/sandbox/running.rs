//! A sandbox from its start to its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::books::verdict::{Execution, FloatAccount, Verdict};
use super::callbacks::workers;
use super::error::Error;
use super::gateway::Gateway;
use super::options::Options;
use super::server;

/// How long requests that are under way may take to end.
const DRAIN_MAX: Duration = Duration::from_secs(3);

/// A running sandbox. Dropping it stops it at once, in the middle of whatever it does.
pub struct Sandbox {
    pub(super) gateway: Arc<Gateway>,
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
    for _ in 0..workers::WORKERS {
        tasks.spawn(until(stop.clone(), workers::work(gateway.clone())));
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
