//! What goes on beside a run: its metrics, and its notices. No payment waits for either.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::job::{Job, Probed};
use super::notices;
use crate::cli::Error;
use crate::engine::{Limits, Progress, Summary};
use crate::metrics::{GatewayMeter, RunFigures};
use crate::sandbox::{Sandbox, Verdict};

/// What a run came to, or why it has not run.
pub(super) type Ran = Result<(Summary, Option<Probed>), Error>;

/// Runs a job, with the gateway of a rehearsal beside it, and tells how it ended; returns what that gateway has executed, too.
pub(super) async fn perform(job: Job<'_>, sandbox: Option<Sandbox>) -> (Ran, Option<Verdict>) {
    if let Some(endpoint) = &job.orders.metrics {
        endpoint.metrics.writes(job.journal);
    }
    let told = job.notices.clone();
    let outcome = async {
        if let Some(told) = &told {
            told.begin().await?;
        }
        job.run(sandbox.as_ref()).await
    }
    .await;
    // While nobody else can run the batch.
    if let Some(told) = &told {
        let ended = outcome.as_ref().ok();
        told.end(ended.map(|(summary, _)| &summary.ending)).await;
    }
    let ledger = sandbox.as_ref().map(Sandbox::verdict);
    if let Some(sandbox) = sandbox {
        sandbox.shutdown().await;
    }
    (outcome, ledger)
}

impl Job<'_> {
    /// Begins to tell how the run goes; returns what its requests are counted by.
    pub(super) fn watched(
        &self,
        progress: &watch::Receiver<Progress>,
        limits: &Limits,
        background: &TaskTracker,
        closing: &CancellationToken,
    ) -> Arc<GatewayMeter> {
        let gateway = Arc::new(GatewayMeter::default());
        if let Some(endpoint) = &self.orders.metrics {
            endpoint.metrics.watch(RunFigures {
                gateway: Arc::clone(&gateway),
                progress: progress.clone(),
                limits: limits.clone(),
            });
        }
        if let Some(told) = &self.notices {
            let beside = notices::beside(told, progress.clone(), closing.clone());
            background.spawn(beside);
        }
        gateway
    }
}
