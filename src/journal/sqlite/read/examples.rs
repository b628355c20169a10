//! Payments that are named as examples, so that a hint holds a command which can be typed as it stands.

use rusqlite::OptionalExtension;

use super::reader::Snapshot;
use crate::domain::PayerTransactionId;
use crate::journal::Error;
use crate::journal::sqlite::codec::values::identifier_of;
use crate::lifecycle::State;

impl Snapshot<'_> {
    /// Returns a payment of the batch in one of these states, as an example of them.
    ///
    /// # Errors
    /// Faults of the journal.
    // What is asked about has an index; for the others every life of the batch may have to be read.
    pub fn example(&self, states: &[State]) -> Result<Option<PayerTransactionId>, Error> {
        let numbers: Vec<i64> = states.iter().map(|state| *state as i64).collect();
        for state in &numbers {
            let asked: Option<String> = self
                .c
                .prepare_cached(
                    "select i.identifier from life l indexed by ask_queue join instruction i using (seq)
                     where l.batch_id = ?1 and l.state = ?2 and l.state >= 2 and l.state <= 4 and l.queued = 1 order by l.due_at limit 1",
                )?
                .query_row([self.batch_id, *state], |row| row.get(0))
                .optional()?;
            if let Some(asked) = asked {
                return identifier_of(&asked).map(Some);
            }
        }
        if numbers.is_empty() {
            return Ok(None);
        }
        let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let found: Option<String> = self
            .c
            .query_row(
                &format!(
                    "select i.identifier from life l join instruction i using (seq) where l.batch_id = ?1 and l.state in ({}) order by seq limit 1",
                    numbers.join(", ")
                ),
                [self.batch_id],
                |row| row.get(0),
            )
            .optional()?;
        found.map(|id| identifier_of(&id)).transpose()
    }

    /// Returns the first payment of the batch of which the gateway named what is not ours.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn example_named_otherwise(&self) -> Result<Option<PayerTransactionId>, Error> {
        let found: Option<String> = self
            .c
            .query_row(
                "select i.identifier from named_otherwise n join instruction i using (seq) where n.batch_id = ?1 order by seq limit 1",
                [self.batch_id],
                |row| row.get(0),
            )
            .optional()?;
        found.map(|id| identifier_of(&id)).transpose()
    }
}
