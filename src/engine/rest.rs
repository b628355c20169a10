//! The rate over a restart: how long a run keeps quiet before its first post, and what it tells the next one at its end.

use std::time::Duration;

use tokio::time::Instant;

use super::Clock;
use crate::domain::{BootTime, Timestamp};
use crate::journal::{Acquired, Journal, RunToken};
use crate::ledger::pace::Last;

/// The window that the rate is held over.
const WINDOW: Duration = Duration::from_secs(1);

/// Returns from when on a run may post, and ask, that took its batch just now.
pub(super) fn departs_from(acquired: &Acquired, clock: &Clock) -> (Timestamp, Timestamp) {
    let taken = clock.now();
    let quiet = |last: Last| taken.after(last.quiet(clock.uptime(), WINDOW));
    let from = (quiet(acquired.last_post), quiet(acquired.last_question));
    planted!(engine::departs_from(from, taken))
}

/// When the last post and the last question of a run left.
#[derive(Debug)]
pub(super) struct Departures {
    post: Instant,
    question: Instant,
}

impl Departures {
    /// Begins at the moment the batch was taken: what an earlier run sent, it sent before.
    pub(super) fn begin() -> Self {
        Self {
            post: Instant::now(),
            question: Instant::now(),
        }
    }

    /// Notes that a post leaves.
    pub(super) fn posted(&mut self) {
        self.post = Instant::now();
    }

    /// Notes that a question leaves.
    pub(super) fn asked(&mut self) {
        self.question = Instant::now();
    }

    /// Tells the next run since when nothing has left; only once nothing is under way any more.
    pub(super) async fn note(&self, clock: &Clock, journal: &Journal, token: RunToken) {
        if let Some((posts, questions)) = self.resting(clock)
            && let Err(error) = journal.rest(token, posts, questions).await
        {
            // Without the note the next run waits for a second.
            tracing::debug!(%error, "the end of the run is not noted");
        }
    }

    /// Returns since when none has left, once none is under way; `None` where the system has no such clock.
    fn resting(&self, clock: &Clock) -> Option<(BootTime, BootTime)> {
        let now = clock.uptime()?;
        // The runtime's clock stands still while the machine sleeps: at worst, the rest seems to be shorter than it is. A
        // millisecond more makes up for the fractions.
        let since =
            |last: Instant| now.before(last.elapsed().saturating_sub(Duration::from_millis(1)));
        Some((since(self.post), since(self.question)))
    }
}
