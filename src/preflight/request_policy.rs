//! How requests around the posts are made: paced, repeated a bounded number of times, and ended by a signal.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::Rate;
use crate::engine::Pacer;
use crate::gateway::OperationError;

/// Pauses before a request that found nobody is made again; after the last of them it is given up.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// How fast requests leave, how many at once, and how long one that finds nobody is tried.
#[derive(Debug)]
pub struct RequestPolicy {
    pacer: Pacer,
    /// Requests under way at once.
    pub concurrency: usize,
    /// Pauses before a further try of one that found nobody.
    pub pauses: Vec<Duration>,
    /// Cancelled: no further request is made.
    pub drain: CancellationToken,
}

impl RequestPolicy {
    /// Takes the usual pauses.
    #[must_use]
    pub fn new(rate: Rate, concurrency: usize, drain: CancellationToken) -> Self {
        Self {
            pacer: Pacer::new(rate, 1),
            concurrency: concurrency.max(1),
            pauses: PAUSES.to_vec(),
            drain,
        }
    }

    /// Takes the usual pauses for requests of up to `packets` questions each, of which `rate` counts every one.
    #[must_use]
    pub fn packed(
        rate: Rate,
        packets: usize,
        concurrency: usize,
        drain: CancellationToken,
    ) -> Self {
        Self {
            pacer: Pacer::new(rate, packets),
            ..Self::new(rate, concurrency, drain)
        }
    }

    /// Returns the most questions that one request may carry.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.pacer.packets()
    }

    /// Makes a request until somebody answers; `None` when a signal came first.
    pub(super) async fn persist<T, F>(
        &self,
        mut request: impl FnMut() -> F,
    ) -> Option<Result<T, OperationError>>
    where
        F: Future<Output = Result<T, OperationError>>,
    {
        let mut pauses = self.pauses.iter();
        loop {
            self.pass().await?;
            match (request().await, pauses.next()) {
                (Err(OperationError::Unavailable(why)), Some(pause)) => {
                    tracing::warn!(%why, ?pause, "the gateway does not answer; asked again after the pause");
                    self.wait(*pause).await?;
                }
                (outcome, _) => return Some(outcome),
            }
        }
    }

    async fn pass(&self) -> Option<()> {
        loop {
            if self.drain.is_cancelled() {
                return None;
            }
            match self.pacer.pass() {
                Ok(()) => return Some(()),
                Err(pause) => self.wait(pause).await?,
            }
        }
    }

    async fn wait(&self, pause: Duration) -> Option<()> {
        tokio::select! {
            () = self.drain.cancelled() => None,
            () = tokio::time::sleep(pause) => Some(()),
        }
    }
}
