//! Lanes that are stopped because too many of their payments failed.

use serde_json::json;

use crate::domain::{BatchId, LaneId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::events::LANE_STOPPED;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::transaction::WriteSession;
use crate::ledger::HeldFor;
use crate::ledger::limits::Outcomes;
use crate::lifecycle::State;
use crate::store::tables::{opened_lane, tally};
use crate::store::{Read, Reads, Scan, Test, Writes, shape};

shape! {
    struct Held of held_lane { batch_id: BatchId, service_id: LaneId, held_at: Timestamp, reason: HeldFor }
}
shape! {
    struct Opened of opened_lane { batch_id: BatchId, service_id: LaneId, paid: i64, failed: i64 }
}

/// Holds a lane whose payments fail too often; returns whether it does.
pub(in crate::journal) fn stops(
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
    c.insert_new(&Held {
        batch_id,
        service_id: lane,
        held_at: now,
        reason: HeldFor::Failures,
    })?;
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
fn outcomes(c: &dyn Read, batch_id: BatchId, lane: LaneId) -> Result<Outcomes, Error> {
    shape! {
        struct Ended of tally { state: State, count: i64 }
    }
    let ended = [State::Paid, State::Failed];
    let ended = Scan::of(&tally::TABLE)
        .at(&batch_id)
        .at(&lane)
        .only(tally::state, Test::among(&ended));
    let (mut paid, mut failed) = (0, 0);
    c.each(&ended, |Ended { state, count }| {
        match state {
            State::Paid => paid += count,
            _ => failed += count,
        }
        Ok::<_, Error>(())
    })?;
    Ok(Outcomes {
        paid: paid.unsigned_abs(),
        failed: failed.unsigned_abs(),
    })
}

fn when_opened(c: &dyn Read, batch_id: BatchId, lane: LaneId) -> Result<Outcomes, Error> {
    let own = Scan::of(&opened_lane::TABLE).at(&batch_id).at(&lane);
    let found: Option<Opened> = c.first(&own)?;
    Ok(found.map_or(Outcomes::default(), |opened| Outcomes {
        paid: opened.paid.unsigned_abs(),
        failed: opened.failed.unsigned_abs(),
    }))
}

/// Notes that a person has opened a lane: what has ended until now does not stop it again.
pub(in crate::journal) fn opened(
    c: &WriteSession,
    batch_id: BatchId,
    lane: LaneId,
) -> Result<(), Error> {
    c.write_tallies()?;
    let ended = outcomes(c, batch_id, lane)?;
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    c.put(&Opened {
        batch_id,
        service_id: lane,
        paid: number(ended.paid),
        failed: number(ended.failed),
    })?;
    Ok(())
}
