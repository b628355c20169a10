//! What a monitoring system is told of the journal.

use crate::domain::{ServiceCode, Timestamp};
use crate::journal::StandingRow;

/// Counts and sums over a batch, or over all that are no rehearsals. Nobody is named in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Count and amounts by service, state and currency; of a state that had payments once, none.
    pub rows: Vec<StandingRow>,
    /// Rows that wait for the amount of their bill.
    pub unpriced: u64,
    /// Services that were held at any time, and in how many batches they are now.
    pub held: Vec<HeldService>,
    /// When the payment that is in doubt for the longest was posted last.
    pub oldest_doubt: Option<Timestamp>,
    /// Rows of evidence: they grow whenever anything is learned.
    pub evidence_rows: u64,
    /// Notices that were not delivered yet, of whichever batch.
    pub notices_waiting: u64,
    /// A run of whichever batch is at work, as a journal tells that several machines share.
    pub runs: bool,
}

/// A service that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldService {
    /// The service.
    pub service: ServiceCode,
    /// In how many batches.
    pub batches: u64,
}

impl Figures {
    /// Returns how many payments have not reached their end.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        let open = self.rows.iter().filter(|row| !row.state.is_finished());
        open.map(|row| row.tally.count).sum::<u64>() + self.unpriced
    }
}
