//! The figures of a monitoring system: sums that are kept anyway, read by their indexes.

use rusqlite::{Connection, OptionalExtension};

use super::reader::Reader;
use crate::domain::{BatchId, BatchName, Tally, Timestamp};
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::{
    UNPRICED, currency_of, service_of, stamp, state_number, state_of,
};
use crate::journal::sqlite::notices::waiting::count_waiting;
use crate::journal::{Error, Figures, HeldService, StandingRow};
use crate::lifecycle::State;

impl Reader {
    /// Returns the figures of a batch; without one, of all batches but rehearsals.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], and faults of the journal.
    pub fn figures(&self, batch: Option<&BatchName>) -> Result<Figures, Error> {
        let c = &self.connection;
        // Of one moment.
        c.execute_batch("begin")?;
        let found = read(c, batch);
        c.execute_batch("rollback")?;
        found
    }
}

fn read(c: &Connection, batch: Option<&BatchName>) -> Result<Figures, Error> {
    let only = batch.map(|name| known_batch(c, name)).transpose()?;
    let mut figures = Figures {
        held: held(c, only)?,
        oldest_doubt: oldest_doubt(c, only)?,
        evidence_rows: c
            .prepare_cached(
                "select coalesce(sum(length), 0) from chain join batch using (batch_id)
                 where case when ?1 is null then coalesce(rehearsal, 0) = 0 else batch_id = ?1 end",
            )?
            .query_row([only], |row| row.get::<_, i64>(0))?
            .unsigned_abs(),
        notices_waiting: count_waiting(c)?,
        ..Figures::default()
    };
    // What there is none of any more is told too: a figure must not stand where it was.
    let mut statement = c.prepare_cached(
        "select code, state, currency, sum(count), sum(amount)
         from tally join service using (service_id) join batch using (batch_id)
         where case when ?1 is null then coalesce(rehearsal, 0) = 0 else batch_id = ?1 end
         group by code, state, currency order by code, state, currency",
    )?;
    let mut rows = statement.query([only])?;
    while let Some(row) = rows.next()? {
        let (number, count) = (row.get(1)?, row.get::<_, i64>(3)?.unsigned_abs());
        if number == UNPRICED {
            figures.unpriced += count;
            continue;
        }
        let currency = currency_of(&row.get::<_, String>(2)?)?;
        let mut tally = Tally::default();
        tally.add_many(count, currency, i128::from(row.get::<_, i64>(4)?));
        figures.rows.push(StandingRow {
            service: service_of(&row.get::<_, String>(0)?)?,
            state: state_of(number)?,
            currency,
            tally,
        });
    }
    Ok(figures)
}

/// Returns every service that has payments, and in how many batches it is held.
fn held(c: &Connection, only: Option<BatchId>) -> Result<Vec<HeldService>, Error> {
    let mut statement = c.prepare_cached(
        "select code, count(distinct held_lane.batch_id)
         from (select distinct service_id, batch_id from tally) t
         join service using (service_id) join batch using (batch_id)
         left join held_lane on held_lane.service_id = t.service_id and held_lane.batch_id = t.batch_id
         where case when ?1 is null then coalesce(rehearsal, 0) = 0 else batch.batch_id = ?1 end
         group by code order by code",
    )?;
    let mut rows = statement.query([only])?;
    let mut held = Vec::new();
    while let Some(row) = rows.next()? {
        held.push(HeldService {
            service: service_of(&row.get::<_, String>(0)?)?,
            batches: row.get::<_, i64>(1)?.unsigned_abs(),
        });
    }
    Ok(held)
}

/// Returns when that payment was posted which is in doubt and was posted before all others that are.
// By batches: the index of what is asked about has each one's doubts together.
fn oldest_doubt(c: &Connection, only: Option<BatchId>) -> Result<Option<Timestamp>, Error> {
    let mut batches = c.prepare_cached(
        "select distinct batch_id from tally join batch using (batch_id)
         where state = ?2 and count > 0
           and case when ?1 is null then coalesce(rehearsal, 0) = 0 else batch_id = ?1 end",
    )?;
    // The index is of rows in a range of states: only so does SQLite see that this is one of them.
    let mut oldest = c.prepare_cached(
        "select min(posted_at) from life indexed by ask_queue
         where batch_id = ?1 and state = ?2 and state >= 2 and state <= 4 and queued = 1",
    )?;
    let doubt = state_number(State::InDoubt);
    let mut rows = batches.query((only, doubt))?;
    let mut found: Option<i64> = None;
    while let Some(row) = rows.next()? {
        let at: Option<i64> = oldest
            .query_row((row.get::<_, BatchId>(0)?, doubt), |row| row.get(0))
            .optional()?
            .flatten();
        found = match (found, at) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    Ok(stamp(found))
}
