//! Payments that a limit keeps from leaving.

use super::reader::Snapshot;
use crate::domain::Totals;
use crate::journal::sqlite::limits::sift::exposure;
use crate::journal::sqlite::limits::waiting::limited;
use crate::journal::{Error, LimitedRows};

impl Snapshot<'_> {
    /// Returns which payments of the batch a limit keeps from leaving, by the limit, as the last run found.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn limited(&self) -> Result<Vec<LimitedRows>, Error> {
        limited(self.c, self.batch_id)
    }

    /// Returns what is under way, in doubt or in conflict over all batches of the account.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn exposure(&self) -> Result<Totals, Error> {
        exposure(self.c, self.batch_id)
    }
}
