//! The notices that wait, for a person.

use rusqlite::Connection;

use crate::domain::{BatchName, Timestamp};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::read::reader::Reader;
use crate::journal::{Error, NoticeWaiting, NoticesWaiting};

impl Reader {
    /// Returns how many notices wait, and the first of them, so many at most.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn notices_waiting(&self, most: u32) -> Result<NoticesWaiting, Error> {
        let c = &self.connection;
        let mut statement = c.prepare_cached(
            "select n.id, b.name, n.kind, n.subject, n.made_at, n.attempts, n.trouble
             from notice n join batch b using (batch_id) where n.body is not null order by n.notice_id limit ?1",
        )?;
        let mut rows = statement.query([most])?;
        let mut first = Vec::new();
        while let Some(row) = rows.next()? {
            let batch: String = row.get(1)?;
            first.push(NoticeWaiting {
                id: row.get(0)?,
                batch: BatchName::parse(&batch).map_err(|_| corrupt("a batch name"))?,
                kind: row.get(2)?,
                subject: row.get(3)?,
                made_at: Timestamp::from_millis(row.get(4)?),
                attempts: row.get(5)?,
                trouble: row.get(6)?,
            });
        }
        let count = count_waiting(c)?;
        Ok(NoticesWaiting { count, first })
    }
}

pub(in crate::journal::sqlite) fn count_waiting(c: &Connection) -> Result<u64, Error> {
    let count: i64 = c
        .prepare_cached("select count(*) from notice where body is not null")?
        .query_row([], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}
