//! What is counted in this process, as it comes to be.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use super::journal::JournalFigures;
use super::metered::GatewayMeter;
use crate::callback::Counts;
use crate::domain::{BatchName, WorkMeter};
use crate::engine::{Limits, Progress};
use crate::journal::{Journal, Location};

/// What is counted of a run.
#[derive(Debug)]
pub struct RunFigures {
    /// Requests to the gateway.
    pub gateway: Arc<GatewayMeter>,
    /// Where the run stands.
    pub progress: watch::Receiver<Progress>,
    /// Its bounds.
    pub limits: Limits,
}

/// All that is counted in this process. What is not there yet is left out.
#[derive(Debug)]
pub struct Metrics {
    pub(super) command: &'static str,
    pub(super) journal: JournalFigures,
    /// The one batch that it is about, and whether it is rehearsed.
    pub(super) batch: OnceLock<(BatchName, bool)>,
    pub(super) commits: OnceLock<Arc<WorkMeter>>,
    pub(super) run: OnceLock<RunFigures>,
    pub(super) callbacks: OnceLock<Arc<Counts>>,
}

impl Metrics {
    /// Begins to count for a command, over a journal.
    #[must_use]
    pub fn of(command: &'static str, journal: Location) -> Self {
        Self {
            command,
            journal: JournalFigures::of(journal),
            batch: OnceLock::new(),
            commits: OnceLock::new(),
            run: OnceLock::new(),
            callbacks: OnceLock::new(),
        }
    }

    /// From now on it is about this batch.
    pub fn runs(&self, batch: BatchName, rehearsal: bool) {
        let _ = self.batch.set((batch, rehearsal));
    }

    /// Tells what this process commits.
    pub fn writes(&self, journal: &Journal) {
        let _ = self.commits.set(journal.commits());
    }

    /// Tells how its run goes.
    pub fn watch(&self, run: RunFigures) {
        let _ = self.run.set(run);
    }

    /// Tells what its listener answers.
    pub fn listens(&self, counts: Arc<Counts>) {
        let _ = self.callbacks.set(counts);
    }
}
