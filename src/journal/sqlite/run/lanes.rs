//! Lanes that are held: for want of float, or because too much of what was heard was not ours.

use rusqlite::{Connection, params};

use crate::domain::{BatchId, LaneId, LoadId, Timestamp};
use crate::journal::sqlite::codec::values::service_of;
use crate::journal::sqlite::session::fence::assert_current;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{Error, Lane, RunToken};
use crate::ledger::HeldFor;

/// Returns the lanes of a batch that are held.
pub(in crate::journal::sqlite) fn held_lanes(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Vec<Lane>, Error> {
    let mut statement = c.prepare_cached(
        "select service_id, code, reason from held_lane join service using (service_id) where batch_id = ?1 order by code",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut lanes = Vec::new();
    while let Some(row) = rows.next()? {
        lanes.push(Lane {
            id: row.get(0)?,
            service: service_of(&row.get::<_, String>(1)?)?,
            held_for: HeldFor::of_reason(&row.get::<_, String>(2)?),
        });
    }
    Ok(lanes)
}

/// Holds a lane for want of float.
pub(in crate::journal::sqlite) fn hold_lane(
    c: &Connection,
    token: RunToken,
    lane: LaneId,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    assert_current(c, token)?;
    c.execute(
        "insert into held_lane (batch_id, service_id, held_at, reason) values (?1, ?2, ?3, ?4) on conflict do nothing",
        params![token.batch_id, lane, now.as_millis(), reason],
    )?;
    Ok(())
}

/// Holds every lane of a batch, so that neither this run nor a later one posts more: too much of what was heard was not ours.
pub(in crate::journal::sqlite) fn hold_all(
    c: &WriteSession,
    token: RunToken,
    why: HeldFor,
    now: Timestamp,
) -> Result<(), Error> {
    assert_current(c, token)?;
    c.write_tallies()?;
    c.execute(
        "insert into held_lane (batch_id, service_id, held_at, reason)
         select distinct batch_id, service_id, ?2, ?3 from tally where batch_id = ?1 and service_id in (select service_id from service)
         on conflict do update set held_at = excluded.held_at, reason = excluded.reason",
        params![token.batch_id, now.as_millis(), why.reason()],
    )?;
    Ok(())
}

/// Holds the lanes that a load has brought to a batch whose posts are stopped: what stopped them is none of one service's.
pub(in crate::journal::sqlite) fn hold_added(
    c: &Connection,
    batch_id: BatchId,
    load_id: LoadId,
) -> Result<(), Error> {
    for why in [HeldFor::Taken, HeldFor::Misread] {
        let held_at: Option<i64> = c
            .prepare_cached(
                "select max(held_at) from held_lane where batch_id = ?1 and reason = ?2",
            )?
            .query_row(params![batch_id, why.reason()], |row| row.get(0))?;
        if held_at.is_none() {
            continue;
        }
        c.execute(
            "insert into held_lane (batch_id, service_id, held_at, reason)
             select ?1, service_id, ?3, ?4 from service s
             where exists (select 1 from instruction i where i.load_id = ?2 and i.service_id = s.service_id)
                 and not exists (select 1 from instruction i
                     where i.batch_id = ?1 and i.load_id <> ?2 and i.service_id = s.service_id)
             on conflict do nothing",
            params![batch_id, load_id, held_at, why.reason()],
        )?;
    }
    Ok(())
}

/// Opens the lanes of a batch that are held for this reason.
pub(in crate::journal::sqlite) fn open_all(
    c: &Connection,
    batch_id: BatchId,
    why: HeldFor,
) -> Result<(), Error> {
    c.prepare_cached("delete from held_lane where batch_id = ?1 and reason = ?2")?
        .execute(params![batch_id, why.reason()])?;
    Ok(())
}

/// Opens a held lane.
pub(in crate::journal::sqlite) fn reopen_lane(
    c: &Connection,
    token: RunToken,
    lane: LaneId,
) -> Result<(), Error> {
    assert_current(c, token)?;
    c.execute(
        "delete from held_lane where batch_id = ?1 and service_id = ?2",
        params![token.batch_id, lane],
    )?;
    Ok(())
}
