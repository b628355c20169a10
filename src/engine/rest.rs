//! The rate over a restart: how long a run keeps quiet before its first post, and what it tells the next one at its end.

use std::time::Duration;

use tokio::time::Instant;

use super::Clock;
use crate::domain::{Timestamp, Uptime};
use crate::journal::{Acquired, Journal, RunToken};

/// The window that the rate is held over.
const WINDOW: Duration = Duration::from_secs(1);

/// Returns from when on a run may post that took its batch just now.
// Only what rests on the clock that nobody sets is proof that the second is over: the wall clock may have been set, and a
// claimed block takes a while to leave.
pub(super) fn posts_from(acquired: &Acquired, clock: &Clock) -> Timestamp {
    let taken = clock.now();
    let resumes = acquired.last_claim_at.is_some();
    #[cfg(test)]
    let resumes = resumes && !crate::canary::Canary::RateForgotten.sings();
    if !resumes {
        return taken;
    }
    let rested = acquired
        .resting
        .and_then(|since| clock.uptime()?.since(since))
        .unwrap_or_default();
    taken.after(WINDOW.saturating_sub(rested))
}

/// When the last post of a run left.
#[derive(Debug)]
pub(super) struct Departures {
    last: Instant,
}

impl Departures {
    /// Begins at the moment the batch was taken: what an earlier run sent, it sent before.
    pub(super) fn begin() -> Self {
        Self {
            last: Instant::now(),
        }
    }

    /// Notes that a post leaves.
    pub(super) fn left(&mut self) {
        self.last = Instant::now();
    }

    /// Tells the next run since when nothing has left; only once nothing is under way any more.
    pub(super) async fn note(&self, clock: &Clock, journal: &Journal, token: RunToken) {
        if let Some(since) = self.resting(clock)
            && let Err(error) = journal.rest(token, since).await
        {
            // Without the note the next run waits for a second.
            tracing::debug!(%error, "the end of the run is not noted");
        }
    }

    /// Returns since when none has left, once none is under way; `None` where the system has no such clock.
    fn resting(&self, clock: &Clock) -> Option<Uptime> {
        // The runtime's clock stands still while the machine sleeps: at worst, the rest seems to be shorter than it is. A
        // millisecond more makes up for the fractions.
        let ago = self.last.elapsed().saturating_sub(Duration::from_millis(1));
        Some(clock.uptime()?.before(ago))
    }
}
