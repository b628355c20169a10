//! The address at which a command tells its metrics.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::Error;
use super::session::Session;
use crate::domain::BatchName;
use crate::journal::Location;
use crate::ledger::Purpose;
use crate::metrics::{self, Metrics};
use crate::server;

/// Tells metrics until it is dropped.
pub(in crate::cli) struct MetricsEndpoint {
    pub(in crate::cli) metrics: Arc<Metrics>,
    _stop: DropGuard,
}

impl MetricsEndpoint {
    /// Takes the port, where one is asked for, and begins to tell what is counted.
    pub(in crate::cli) async fn open(
        session: &Session,
        command: &'static str,
        address: Option<SocketAddr>,
        batch: Option<(&BatchName, Purpose)>,
    ) -> Result<Option<Self>, Error> {
        let Some(address) = address else {
            return Ok(None);
        };
        let bound = server::bind(address).await.map_err(|error| {
            Error::refused(format!("--metrics {address}: {error}; nothing was sent"))
                .hint("free the port, or choose another one: each command that tells metrics needs its own")
        })?;
        let taken = bound.local_addr().map_err(Error::unexpected)?;
        if !taken.ip().is_loopback() {
            session.note(&format!(
                "metrics: anybody who reaches {taken} can read counts and amounts, without a password; on 127.0.0.1 only this machine can"
            ));
        }
        session.note(&format!("metrics: http://{taken}/metrics"));
        let endpoint = Self::over(command, session.location()?, bound);
        if let Some((batch, purpose)) = batch {
            let rehearsal = purpose == Purpose::Rehearsal;
            endpoint.metrics.runs(batch.clone(), rehearsal);
        }
        Ok(Some(endpoint))
    }

    fn over(command: &'static str, journal: &Location, bound: tokio::net::TcpListener) -> Self {
        let metrics = Arc::new(Metrics::of(command, journal.clone()));
        let stop = CancellationToken::new();
        tokio::spawn(metrics::serve(bound, Arc::clone(&metrics), stop.clone()));
        Self {
            metrics,
            _stop: stop.drop_guard(),
        }
    }
}
