//! Payments of which nothing is known yet: they have no life, which begins with their first claim.
//!
//! A load writes no lives, and a block of first claims is one row of evidence. The fresh payments of a lane are claimed in
//! the order of loading; `lane` says from where on there are any.

use std::sync::LazyLock;

use rusqlite::{Connection, OptionalExtension};

use super::claim_fresh::begin_lives;
use crate::journal::Error;
use crate::lifecycle::Life;

/// Holds for an instruction `i` of which nothing is known yet, and which waits for nothing before it is posted.
pub(super) const FRESH: &str = "(i.amount is not null and i.document is null \
     and not exists (select 1 from life f where f.seq = i.seq))";

/// Fresh payments of lane ?3 from number ?1 to ?5.
pub(super) fn fresh_in_lane(columns: &str) -> String {
    format!(
        "select {columns} from instruction i not indexed cross join service s on s.service_id = i.service_id
         where i.seq between ?1 and ?5 and i.batch_id = ?2 and i.service_id = ?3 and {FRESH} order by i.seq limit ?4"
    )
}

/// Begins a lane, where it has not begun: its fresh payments have this number or a greater one.
pub(super) fn begin_lane(c: &Connection, batch_id: i64, lane: i64, from: i64) -> Result<(), Error> {
    c.prepare_cached(
        "insert into lane (batch_id, service_id, fresh_from) values (?1, ?2, ?3) on conflict do nothing",
    )?
    .execute([batch_id, lane, from])?;
    Ok(())
}

/// Returns from where on a lane has fresh payments; `None` when it has none.
pub(super) fn fresh_from(c: &Connection, batch_id: i64, lane: i64) -> Result<Option<i64>, Error> {
    Ok(
        c.prepare_cached("select fresh_from from lane where batch_id = ?1 and service_id = ?2")?
            .query_row([batch_id, lane], |row| row.get(0))
            .optional()?,
    )
}

/// Returns whether a lane has a fresh payment with this number or a lesser one.
pub(super) fn has_fresh(
    c: &Connection,
    batch_id: i64,
    lane: i64,
    up_to: i64,
) -> Result<bool, Error> {
    static SQL: LazyLock<String> = LazyLock::new(|| fresh_in_lane("1"));
    let Some(from) = fresh_from(c, batch_id, lane)? else {
        return Ok(false);
    };
    Ok(c.prepare_cached(&SQL)?
        .exists([from, batch_id, lane, 1, up_to])?)
}

/// Begins the life of a fresh payment that something is learned of before it was claimed.
pub(super) fn begin_life(c: &Connection, batch_id: i64, lane: i64, seq: i64) -> Result<(), Error> {
    begin_lives(c, (batch_id, lane), &[seq], &Life::NEW)
}

/// Begins the lives of all fresh payments of a batch.
pub(super) fn begin_all(c: &Connection, batch_id: i64) -> Result<(), Error> {
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
