//! What was told of a batch, and what is told now.

use rusqlite::{Connection, params};

use super::waiting::count_waiting;
use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::sqlite::codec::catalog::{known_batch, name};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::read::reader::Reader;
use crate::journal::sqlite::writer::handle::Journal;
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{Error, NewNotice, NoticeBatch};
use crate::ledger::notices::{Condition, NoticeKind, Told, body, changes, notice_id};

/// While so many wait no further ones are made: what they would tell stands, and is told once there is room.
const WAITING_MAX: u64 = 1000;

impl Reader {
    /// Returns what is on record of the notices of a batch.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], and faults of the journal.
    pub fn notices_of(&self, batch: &BatchName) -> Result<NoticeBatch, Error> {
        let batch_id = known_batch(&self.connection, batch)?;
        Ok(on_record(&self.connection, batch_id)?.0)
    }

    /// Returns when anything was learned last, of whichever batch.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn last_evidence_at(&self) -> Result<Option<Timestamp>, Error> {
        let mut newest = self
            .connection
            .prepare_cached("select at from evidence order by evidence_id desc limit 1")?;
        let mut rows = newest.query([])?;
        let at = rows.next()?.map(|row| row.get(0)).transpose()?;
        Ok(at.map(Timestamp::from_millis))
    }

    /// Returns the batches of which something may be to be told, oldest first: those that are unfinished or in conflict, and those of
    /// which something stands that was told.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn batches_to_watch(&self) -> Result<Vec<BatchName>, Error> {
        let mut statement = self.connection.prepare_cached(
            "select name from batch where exists (select 1 from tally t
                 where t.batch_id = batch.batch_id and t.count > 0 and t.state not in (5, 6, 7))
             or exists (select 1 from seen_open s where s.batch_id = batch.batch_id)
             or exists (select 1 from notice n where n.batch_id = batch.batch_id and n.stands = 1 and n.kind not in ('finished', 'failures_above'))
             order by batch_id",
        )?;
        let names = statement.query_map([], |row| row.get::<_, String>(0))?;
        names
            .map(|name| BatchName::parse(&name?).map_err(|_| corrupt("a batch name")))
            .collect()
    }
}

impl Journal {
    /// Notes that a batch is unfinished, where it is, so that its end is told; nothing else is.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], and faults of the journal.
    pub async fn note_open(&self, batch: BatchName) -> Result<(), Error> {
        self.ask(CommitMode::Shared, move |c| note_open(c, &batch))
            .await
    }

    /// Makes the notices of what is so, where it was not told, and notes what is no longer so; returns how many were made.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`], and faults of the journal.
    pub async fn make_notices(
        &self,
        batch: BatchName,
        is_open: bool,
        so: Vec<NewNotice>,
        now: Timestamp,
    ) -> Result<usize, Error> {
        self.ask(CommitMode::Shared, move |c| {
            #[cfg(debug_assertions)]
            crate::failpoints::pass("before-notices-are-made");
            make(c, &batch, is_open, &so, now)
        })
        .await
    }
}

fn note_open(c: &Connection, batch: &BatchName) -> Result<(), Error> {
    let batch_id = known_batch(c, batch)?;
    c.prepare_cached(
        "insert into seen_open (batch_id) select ?1 where exists (select 1 from tally
             where batch_id = ?1 and count > 0 and state not in (5, 6, 7)) on conflict do nothing",
    )?
    .execute([batch_id])?;
    Ok(())
}

fn make(
    c: &Connection,
    batch: &BatchName,
    is_open: bool,
    so: &[NewNotice],
    now: Timestamp,
) -> Result<usize, Error> {
    let batch_id = known_batch(c, batch)?;
    let (record, rows) = on_record(c, batch_id)?;
    let conditions: Vec<Condition> = so.iter().map(|new| new.condition.clone()).collect();
    let found = changes(&conditions, &record.told, record.was_open, now);
    let journal = name(c)?;
    let mut room = WAITING_MAX.saturating_sub(count_waiting(c)?);
    let mut made = 0;
    for place in &found.make {
        if room == 0 {
            break;
        }
        room -= 1;
        made += 1;
        insert(c, journal, (batch, batch_id), &so[*place], now)?;
    }
    let mut stands = c.prepare_cached("update notice set stands = ?2 where notice_id = ?1")?;
    for place in &found.fallen {
        stands.execute((rows[*place], 0))?;
    }
    if is_open && !record.was_open {
        c.execute("insert into seen_open (batch_id) values (?1)", [batch_id])?;
    } else if !is_open && made == found.make.len() {
        c.execute("delete from seen_open where batch_id = ?1", [batch_id])?;
    }
    forget(c, batch_id)?;
    Ok(made)
}

fn insert(
    c: &Connection,
    journal: [u8; 16],
    (batch, batch_id): (&BatchName, BatchId),
    new: &NewNotice,
    now: Timestamp,
) -> Result<(), Error> {
    let Condition {
        kind,
        subject,
        figure,
    } = &new.condition;
    let nth: i64 = c.query_row(
        "select coalesce(max(nth), 0) + 1 from notice where batch_id = ?1 and kind = ?2 and subject = ?3",
        params![batch_id, kind.name(), subject],
        |row| row.get(0),
    )?;
    let id = notice_id(
        journal,
        batch.as_str(),
        &new.condition,
        nth.unsigned_abs(),
        &new.data,
    );
    // One stands of each subject: the newest.
    c.execute(
        "update notice set stands = 0 where batch_id = ?1 and kind = ?2 and subject = ?3 and stands = 1",
        params![batch_id, kind.name(), subject],
    )?;
    c.execute(
        "insert into notice (id, batch_id, kind, subject, nth, figure, made_at, stands, body)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8)",
        params![
            id,
            batch_id,
            kind.name(),
            subject,
            nth,
            i64::try_from(*figure).unwrap_or(i64::MAX),
            now.as_millis(),
            body(kind.name(), now, &new.data)
        ],
    )?;
    Ok(())
}

/// Forgets what was delivered, is no longer so, and is not the newest of its subject.
fn forget(c: &Connection, batch_id: BatchId) -> Result<(), Error> {
    c.prepare_cached(
        "delete from notice where batch_id = ?1 and body is null and stands = 0 and exists (select 1 from notice n
             where n.batch_id = notice.batch_id and n.kind = notice.kind and n.subject = notice.subject and n.notice_id > notice.notice_id)",
    )?
    .execute([batch_id])?;
    Ok(())
}

/// Returns what was told of a batch, and the rows in which that stands.
fn on_record(c: &Connection, batch_id: BatchId) -> Result<(NoticeBatch, Vec<i64>), Error> {
    let mut statement = c.prepare_cached(
        "select notice_id, kind, subject, figure, made_at, stands from notice where batch_id = ?1 order by notice_id",
    )?;
    let mut rows = statement.query([batch_id])?;
    let (mut told, mut numbers) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let kind: String = row.get(1)?;
        numbers.push(row.get(0)?);
        told.push(Told {
            kind: NoticeKind::of(&kind).ok_or_else(|| corrupt("the kind of a notice"))?,
            subject: row.get(2)?,
            figure: row.get::<_, i64>(3)?.unsigned_abs(),
            made_at: Timestamp::from_millis(row.get(4)?),
            stands: row.get(5)?,
        });
    }
    let was_open = c
        .prepare_cached("select 1 from seen_open where batch_id = ?1")?
        .exists([batch_id])?;
    Ok((NoticeBatch { told, was_open }, numbers))
}
