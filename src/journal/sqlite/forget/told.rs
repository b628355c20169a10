//! What a reader is told of people who were forgotten in a batch.

use rusqlite::OptionalExtension;

use crate::domain::Timestamp;
use crate::journal::sqlite::codec::events::FORGOTTEN;
use crate::journal::sqlite::read::reader::Snapshot;
use crate::journal::{Error, LetGo};

impl Snapshot<'_> {
    /// Returns when the people of the batch, or some of them, were forgotten last; an archive that keeps them goes before.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn let_go(&self) -> Result<Option<LetGo>, Error> {
        let found: Option<(i64, Option<String>)> = self
            .c
            .prepare_cached(
                "select at, json_extract(detail, '$.archive.file') from evidence indexed by about_batch
                 where seq = 0 and event = ?2 and batch_id = ?1
                 order by json_extract(detail, '$.archive.file') is null, evidence_id desc limit 1",
            )?
            .query_row((self.batch_id, FORGOTTEN), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        Ok(found.map(|(at, archive)| LetGo {
            at: Timestamp::from_millis(at),
            archive,
        }))
    }
}
