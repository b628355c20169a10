//! What the rule about archives asks of a journal.

use std::collections::BTreeMap;

use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::codec::catalog::{known_batch, name, of_batch};
use crate::journal::read::reader::{Reader, Snapshot};
use crate::journal::{ArchivedFigures, Error};
use crate::store::tables::{batch, chain, evidence, inquiry, instruction, tally};
use crate::store::{Reads, Scan, Test, shape};

shape! {
    struct Dated of evidence { batch_id: BatchId, at: Timestamp }
}
shape! {
    struct Length of chain { batch_id: BatchId, length: i64 }
}
shape! {
    struct Counted of tally { batch_id: BatchId, count: i64 }
}

impl Reader {
    /// Returns when the newest evidence of each batch was recorded.
    ///
    /// Reads all evidence once, in the memory of a batch each.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn newest_evidence(&self) -> Result<BTreeMap<BatchName, Timestamp>, Error> {
        let mut newest: BTreeMap<BatchId, Timestamp> = BTreeMap::new();
        let all = Scan::of(&evidence::TABLE).only(evidence::batch_id, Test::Present);
        self.store().each(&all, |row: Dated| {
            let found = newest.entry(row.batch_id).or_insert(row.at);
            *found = row.at.max(*found);
            Ok::<_, Error>(())
        })?;
        newest
            .into_iter()
            .map(|(batch_id, at)| {
                let name = of_batch(self.store(), batch_id, batch::name)?;
                let created: Timestamp = of_batch(self.store(), batch_id, batch::created_at)?;
                Ok((name, at.max(created)))
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
        let batch_id = known_batch(self.store(), batch)?;
        let own = Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&batch_id));
        let instructions = self.store().count(&own)?;
        Ok(ArchivedFigures {
            newest: newest.unwrap_or(record.created_at),
            instructions,
            journal: name(self.store())?,
        })
    }

    /// Returns about how many bytes of the journal the rows of a batch take, by their share of all rows.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn bytes_of(&self, batch: &BatchName) -> Result<u64, Error> {
        let Some(file) = self.sqlite() else {
            return Ok(0);
        };
        let batch_id = known_batch(self.store(), batch)?;
        // Payments are counted where they are told, and evidence at the head of its chain: neither is gone through.
        let (mut own, mut all) = (0_i64, 0_i64);
        let mut add = |of: BatchId, rows: i64| {
            all = all.saturating_add(rows);
            if of == batch_id {
                own = own.saturating_add(rows);
            }
            Ok::<_, Error>(())
        };
        self.store().each(&Scan::of(&chain::TABLE), |row: Length| {
            add(row.batch_id, row.length)
        })?;
        self.store()
            .each(&Scan::of(&tally::TABLE), |row: Counted| {
                add(row.batch_id, row.count)
            })?;
        let bytes: i64 = file.query_row(
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
