//! Payments that are named as examples, so that a hint holds a command which can be typed as it stands.

use rusqlite::OptionalExtension;

use super::reader::Snapshot;
use crate::domain::PayerTransactionId;
use crate::journal::Error;
use crate::journal::sqlite::codec::values::identifier_of;
use crate::lifecycle::State;

impl Snapshot<'_> {
    /// Returns the first payment of the batch in one of these states, as an example of them.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn example(&self, states: &[State]) -> Result<Option<PayerTransactionId>, Error> {
        let states: Vec<String> = states
            .iter()
            .map(|state| (*state as i64).to_string())
            .collect();
        // In the order of the table the first that fits is found without sorting those that fit.
        let found: Option<String> = self
            .c
            .query_row(
                &format!(
                    "select i.identifier from instruction i where i.seq =
                         (select l.seq from life l not indexed where l.batch_id = ?1 and l.state in ({}) order by l.seq limit 1)",
                    states.join(", ")
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
