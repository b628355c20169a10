//! How long a run may go on without a word of the journal, where others may take over what it has claimed.

use std::time::{Duration, Instant};

use super::clock::Monotonic;
use crate::journal::LEASE;
use governor::clock::Clock as _;

/// A lease that the journal gave, as the run that has it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lease {
    until: Instant,
}

impl Lease {
    /// The lease of a run that asked for it at a moment: the journal counts from a later one.
    pub(super) fn since(asked: Instant) -> Self {
        Self {
            until: asked + margin(LEASE),
        }
    }

    /// Returns whether nothing may leave any more: what left now might still be on its way when the journal's lease is over.
    pub(super) fn is_over(self) -> bool {
        Monotonic.now() >= self.until
    }
}

/// The clock of the store may be faster than this machine's, and what leaves takes a moment.
fn margin(lease: Duration) -> Duration {
    lease * 4 / 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_stops_before_its_lease_is_over() {
        let lease = Lease::since(Monotonic.now());
        tokio::time::advance(margin(LEASE) - Duration::from_millis(1)).await;
        assert!(!lease.is_over());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(lease.is_over());
        assert!(margin(LEASE) < LEASE);
    }
}
