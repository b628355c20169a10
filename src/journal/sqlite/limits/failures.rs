//! Lanes that are stopped because too many of their payments failed.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use crate::domain::{BatchId, LaneId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::LANE_STOPPED;
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::ledger::HeldFor;
use crate::ledger::limits::Outcomes;

/// Holds a lane whose payments fail too often; returns whether it does.
pub(in crate::journal::sqlite) fn stops(
    c: &WriteSession,
    (batch_id, lane): (BatchId, LaneId),
    now: Timestamp,
) -> Result<bool, Error> {
    let rule = c.limiter(batch_id, |limiter| limiter.limits.stop).flatten();
    let Some(rule) = rule else {
        return Ok(false);
    };
    let ended = outcomes(c, batch_id, lane)?.since(when_opened(c, batch_id, lane)?);
    if !rule.stops(ended) {
        return Ok(false);
    }
    c.prepare_cached(
        "insert into held_lane (batch_id, service_id, held_at, reason) values (?1, ?2, ?3, ?4) on conflict do nothing",
    )?
    .execute(params![
        batch_id,
        lane,
        now.as_millis(),
        HeldFor::Failures.reason()
    ])?;
    let detail = json!({"service_id": lane.get(), "paid": ended.paid, "failed": ended.failed});
    c.append(&Evidence {
        batch_id,
        at: now,
        kind: (LANE_STOPPED, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })?;
    Ok(true)
}

/// Returns what has ended in a lane. The tally is written before.
fn outcomes(c: &Connection, batch_id: BatchId, lane: LaneId) -> Result<Outcomes, Error> {
    let (paid, failed): (i64, i64) = c
        .prepare_cached(
            "select coalesce(sum(count) filter (where state = 5), 0), coalesce(sum(count) filter (where state = 6), 0)
             from tally where batch_id = ?1 and service_id = ?2",
        )?
        .query_row((batch_id, lane), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Outcomes {
        paid: paid.unsigned_abs(),
        failed: failed.unsigned_abs(),
    })
}

fn when_opened(c: &Connection, batch_id: BatchId, lane: LaneId) -> Result<Outcomes, Error> {
    let found: Option<(i64, i64)> = c
        .prepare_cached(
            "select paid, failed from opened_lane where batch_id = ?1 and service_id = ?2",
        )?
        .query_row((batch_id, lane), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(
        found.map_or(Outcomes::default(), |(paid, failed)| Outcomes {
            paid: paid.unsigned_abs(),
            failed: failed.unsigned_abs(),
        }),
    )
}

/// Notes that a person has opened a lane: what has ended until now does not stop it again.
pub(in crate::journal::sqlite) fn opened(
    c: &WriteSession,
    batch_id: BatchId,
    lane: LaneId,
) -> Result<(), Error> {
    c.write_tallies()?;
    let ended = outcomes(c, batch_id, lane)?;
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    c.prepare_cached(
        "insert into opened_lane (batch_id, service_id, paid, failed) values (?1, ?2, ?3, ?4)
         on conflict do update set paid = excluded.paid, failed = excluded.failed",
    )?
    .execute(params![
        batch_id,
        lane,
        number(ended.paid),
        number(ended.failed)
    ])?;
    Ok(())
}
