//! Failures whose retries have not been posted yet.

use super::reader::Snapshot;
use crate::journal::Error;
use crate::journal::sqlite::codec::values::state_number;
use crate::lifecycle::State;

impl Snapshot<'_> {
    /// Returns the codes of failures that are about to be paid again: a retry of them was ordered, and has not been posted.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn retried_codes(&self) -> Result<Vec<i32>, Error> {
        let mut statement = self.c.prepare_cached(
            "select distinct l.code from life l indexed by replaced cross join life n on n.seq = l.replaced_by
             where l.batch_id = ?1 and l.replaced_by is not null and l.state = ?2 and l.code is not null
                 and n.state = ?3 and n.attempts = 0
             order by 1",
        )?;
        let numbers = (
            self.batch_id,
            state_number(State::Failed),
            state_number(State::Ready),
        );
        let found = statement.query_map(numbers, |row| row.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}
