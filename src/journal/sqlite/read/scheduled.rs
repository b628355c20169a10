//! Rows that wait for the time that they name.

use rusqlite::{Connection, params};

use super::reader::Snapshot;
use crate::domain::{BatchId, BatchName, Tally, Timestamp};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::{currency_of, service_of, stamp};
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, StandingRow};
use crate::ledger::schedule::Scheduled;
use crate::lifecycle::State;

impl Snapshot<'_> {
    /// Returns how many rows of the batch are not posted yet because their time is later than `now`, and when it comes.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn scheduled(&self, now: Timestamp) -> Result<Scheduled, Error> {
        scheduled(self.c, self.batch_id, now)
    }
}

fn scheduled(c: &Connection, batch_id: BatchId, now: Timestamp) -> Result<Scheduled, Error> {
    let (count, first, last): (i64, Option<i64>, Option<i64>) = c.query_row(
        "select count(*), min(i.not_before), max(i.not_before) from instruction i indexed by scheduled
         where i.batch_id = ?1 and i.not_before > ?2 and i.not_before is not null
             and coalesce((select l.state from life l where l.seq = i.seq), 0) = 0",
        params![batch_id, now.as_millis()],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    Ok(Scheduled {
        count: count.unsigned_abs(),
        span: stamp(first).zip(stamp(last)),
    })
}

impl Journal {
    /// Returns what of a batch is not posted yet because its time is later than `now`, per service and currency.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn not_due(
        &self,
        batch: BatchName,
        now: Timestamp,
    ) -> Result<(Scheduled, Vec<StandingRow>), Error> {
        self.ask(CommitMode::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            Ok((scheduled(c, batch_id, now)?, not_due(c, batch_id, now)?))
        })
        .await
    }
}

fn not_due(c: &Connection, batch_id: BatchId, now: Timestamp) -> Result<Vec<StandingRow>, Error> {
    let mut statement = c.prepare_cached(
        "select s.code, i.currency, count(*), sum(i.amount) from instruction i indexed by scheduled
             join service s using (service_id)
         where i.batch_id = ?1 and i.not_before > ?2 and i.not_before is not null and i.amount is not null
             and coalesce((select l.state from life l where l.seq = i.seq), 0) = 0
         group by s.code, i.currency",
    )?;
    let mut rows = statement.query(params![batch_id, now.as_millis()])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let currency = currency_of(&row.get::<_, String>(1)?)?;
        let mut tally = Tally::default();
        let (count, minor): (i64, i64) = (row.get(2)?, row.get(3)?);
        tally.add_many(count.unsigned_abs(), currency, i128::from(minor));
        found.push(StandingRow {
            service: service_of(&row.get::<_, String>(0)?)?,
            state: State::Ready,
            currency,
            tally,
        });
    }
    Ok(found)
}
