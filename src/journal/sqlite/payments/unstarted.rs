//! Payments of which nothing is known yet: they have no life, which begins with their first claim.
//!
//! A load writes no lives, and a block of first claims is one row of evidence. The fresh payments of a lane are claimed in
//! the order of loading; `lane` says from where on there are any.

use std::sync::LazyLock;

use rusqlite::{Connection, OptionalExtension};

use crate::domain::{BatchId, LaneId, PaymentId};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{NEVER, millis, state_number};
use crate::lifecycle::PaymentState;
use crate::lifecycle::State;

/// Holds for an instruction `i` of which nothing is known yet, and which waits for nothing before it is posted.
pub(in crate::journal::sqlite) const FRESH: &str = "(i.amount is not null and i.document is null \
     and not exists (select 1 from life f where f.seq = i.seq))";

/// Fresh payments of lane ?3 from number ?1 to ?5.
pub(in crate::journal::sqlite) fn fresh_in_lane(columns: &str) -> String {
    format!(
        "select {columns} from instruction i not indexed cross join service s on s.service_id = i.service_id
         where i.seq between ?1 and ?5 and i.batch_id = ?2 and i.service_id = ?3 and {FRESH} order by i.seq limit ?4"
    )
}

/// Returns which payments from one number to another have a life, in their order.
pub(in crate::journal::sqlite) fn begun_between(
    c: &Connection,
    (first, last): (i64, i64),
) -> Result<Vec<PaymentId>, Error> {
    let mut statement =
        c.prepare_cached("select seq from life where seq between ?1 and ?2 order by seq")?;
    let mut rows = statement.query([first, last])?;
    let mut begun = Vec::new();
    while let Some(row) = rows.next()? {
        begun.push(row.get(0)?);
    }
    Ok(begun)
}

/// Begins a lane, where it has not begun: its fresh payments have this number or a greater one.
pub(in crate::journal::sqlite) fn begin_lane(
    c: &Connection,
    batch_id: BatchId,
    lane: LaneId,
    from: i64,
) -> Result<(), Error> {
    c.prepare_cached(
        "insert into lane (batch_id, service_id, fresh_from) values (?1, ?2, ?3) on conflict do nothing",
    )?
    .execute((batch_id, lane, from))?;
    Ok(())
}

/// Returns from where on a lane has fresh payments; `None` when it has none.
pub(in crate::journal::sqlite) fn fresh_from(
    c: &Connection,
    batch_id: BatchId,
    lane: LaneId,
) -> Result<Option<i64>, Error> {
    Ok(
        c.prepare_cached("select fresh_from from lane where batch_id = ?1 and service_id = ?2")?
            .query_row((batch_id, lane), |row| row.get(0))
            .optional()?,
    )
}

/// Returns whether a lane has a fresh payment with this number or a lesser one.
pub(in crate::journal::sqlite) fn has_fresh(
    c: &Connection,
    batch_id: BatchId,
    lane: LaneId,
    up_to: i64,
) -> Result<bool, Error> {
    static SQL: LazyLock<String> = LazyLock::new(|| fresh_in_lane("1"));
    let Some(from) = fresh_from(c, batch_id, lane)? else {
        return Ok(false);
    };
    Ok(c.prepare_cached(&SQL)?
        .exists((from, batch_id, lane, 1, up_to))?)
}

/// Begins the life of a fresh payment that something is learned of before it was claimed.
pub(in crate::journal::sqlite) fn begin_life(
    c: &Connection,
    batch_id: BatchId,
    lane: LaneId,
    seq: PaymentId,
) -> Result<(), Error> {
    begin_lives(c, (batch_id, lane), &[seq], &PaymentState::NEW)
}

/// Begins the lives of all fresh payments of a batch.
pub(in crate::journal::sqlite) fn begin_all(
    c: &Connection,
    batch_id: BatchId,
) -> Result<(), Error> {
    c.execute(
        &format!(
            "insert into life (seq, batch_id, service_id, state, due_at)
             select i.seq, i.batch_id, i.service_id, 0, 0 from instruction i not indexed
             where i.seq >= (select min(fresh_from) from lane where batch_id = ?1) and i.batch_id = ?1 and {FRESH} order by i.seq"
        ),
        [batch_id],
    )?;
    c.execute(
        "update lane set fresh_from = (select max(seq) + 1 from instruction) where batch_id = ?1",
        [batch_id],
    )?;
    Ok(())
}

/// Begins the lives of payments of one lane, all alike.
pub(in crate::journal::sqlite) fn begin_lives(
    c: &Connection,
    (batch_id, lane): (BatchId, LaneId),
    seqs: &[PaymentId],
    life: &PaymentState,
) -> Result<(), Error> {
    static ONE: LazyLock<String> = LazyLock::new(|| insert_lives(1));
    static MANY: LazyLock<String> = LazyLock::new(|| insert_lives(TOGETHER));
    let due_at = millis(life.due_at).unwrap_or(if life.state == State::Ready { 0 } else { NEVER });
    let mut rest = seqs;
    while !rest.is_empty() {
        let together = if rest.len() < TOGETHER { 1 } else { TOGETHER };
        let (now, later) = rest.split_at(together);
        let mut insert = c.prepare_cached(if together == 1 { &ONE } else { &MANY })?;
        insert.raw_bind_parameter(1, batch_id)?;
        insert.raw_bind_parameter(2, lane)?;
        insert.raw_bind_parameter(3, state_number(life.state))?;
        insert.raw_bind_parameter(4, life.attempts)?;
        insert.raw_bind_parameter(5, millis(life.posted_at))?;
        insert.raw_bind_parameter(6, millis(life.quarantine_from))?;
        insert.raw_bind_parameter(7, due_at)?;
        for (index, seq) in now.iter().enumerate() {
            insert.raw_bind_parameter(8 + index, seq)?;
        }
        insert.raw_execute()?;
        rest = later;
    }
    Ok(())
}

pub(in crate::journal::sqlite) fn insert_lives(rows: usize) -> String {
    let rows: Vec<String> = (0..rows)
        .map(|index| format!("(?{}, ?1, ?2, ?3, ?4, ?5, ?6, ?7)", 8 + index))
        .collect();
    format!(
        "insert or fail into life (seq, batch_id, service_id, state, attempts, posted_at, quarantine_from, due_at) values {}",
        rows.join(", ")
    )
}

/// Lives that one statement begins.
pub(in crate::journal::sqlite) const TOGETHER: usize = 64;
