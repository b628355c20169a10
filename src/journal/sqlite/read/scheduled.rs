//! Rows that wait for the time that they name.

use rusqlite::params;

use super::reader::Snapshot;
use crate::domain::Timestamp;
use crate::journal::Error;
use crate::journal::sqlite::codec::values::stamp;
use crate::ledger::schedule::Scheduled;

impl Snapshot<'_> {
    /// Returns how many rows of the batch are not posted yet because their time is later than `now`, and when it comes.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn scheduled(&self, now: Timestamp) -> Result<Scheduled, Error> {
        let (count, first, last): (i64, Option<i64>, Option<i64>) = self.c.query_row(
            "select count(*), min(i.not_before), max(i.not_before) from instruction i indexed by scheduled
             where i.batch_id = ?1 and i.not_before > ?2 and i.not_before is not null
                 and coalesce((select l.state from life l where l.seq = i.seq), 0) = 0",
            params![self.batch_id, now.as_millis()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        Ok(Scheduled {
            count: count.unsigned_abs(),
            span: stamp(first).zip(stamp(last)),
        })
    }
}
