//! What the rule about archives asks of a journal.

use std::collections::BTreeMap;

use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::sqlite::codec::catalog::name;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::read::reader::{Reader, Snapshot};
use crate::journal::{ArchivedFigures, Error};
use crate::store::tables::inquiry;
use crate::store::{Reads, Scan};

impl Reader {
    /// Returns when the newest evidence of each batch was recorded.
    ///
    /// Reads all evidence once, in the memory of a batch each.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn newest_evidence(&self) -> Result<BTreeMap<BatchName, Timestamp>, Error> {
        let mut newest: BTreeMap<BatchId, i64> = BTreeMap::new();
        let mut statement = self
            .connection
            .prepare("select batch_id, at from evidence not indexed where batch_id is not null")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let at: i64 = row.get(1)?;
            let found = newest.entry(row.get(0)?).or_insert(at);
            *found = at.max(*found);
        }
        let mut named = self
            .connection
            .prepare("select name, created_at from batch where batch_id = ?1")?;
        newest
            .into_iter()
            .map(|(batch_id, at)| {
                let (name, created): (String, i64) =
                    named.query_row([batch_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let name = BatchName::parse(&name).map_err(|_| corrupt("a batch name"))?;
                Ok((name, Timestamp::from_millis(at.max(created))))
            })
            .collect()
    }

    /// Returns what the journal tells of a batch beside its record and its standing.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`]; faults of the journal.
    pub fn archived_figures(&self, batch: &BatchName) -> Result<ArchivedFigures, Error> {
        let record = self.snapshot(batch)?.record()?;
        let newest = self.newest_evidence()?.get(batch).copied();
        let instructions: i64 = self.connection.query_row(
            "select count(*) from instruction where batch_id = (select batch_id from batch where name = ?1)",
            [batch.as_str()],
            |row| row.get(0),
        )?;
        Ok(ArchivedFigures {
            newest: newest.unwrap_or(record.created_at),
            instructions: instructions.unsigned_abs(),
            journal: name(&self.connection)?,
        })
    }

    /// Returns about how many bytes of the journal the rows of a batch take, by their share of all rows.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn bytes_of(&self, batch: &BatchName) -> Result<u64, Error> {
        // Payments are counted where they are told, and evidence at the head of its chain: neither is gone through.
        let (own, all): (i64, i64) = self.connection.query_row(
            "with rows_of (batch_id, rows) as (
                 select batch_id, length from chain union all select batch_id, count from tally)
             select coalesce(sum(rows) filter (where batch_id = (select batch_id from batch where name = ?1)), 0), coalesce(sum(rows), 0)
             from rows_of",
            [batch.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let bytes: i64 = self.connection.query_row(
            "select page_count * page_size from pragma_page_count(), pragma_page_size()",
            [],
            |row| row.get(0),
        )?;
        let share = i128::from(bytes) * i128::from(own) / i128::from(all.max(1));
        Ok(u64::try_from(share).unwrap_or(0))
    }
}

impl Snapshot<'_> {
    /// Returns how many ended payments of the batch are on the list of what the gateway is asked about again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn inquiries(&self) -> Result<u64, Error> {
        let of_batch = Scan::by(&inquiry::inquiry_queue).at(&self.batch_id);
        Ok(self.c.count(&of_batch)?)
    }
}
