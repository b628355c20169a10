//! Lanes that are held: for want of float, or because too much of what was heard was not ours.

use std::collections::BTreeSet;

use crate::domain::{BatchId, LaneId, LoadId, Timestamp};
use crate::journal::session::fence::assert_current;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, Lane, RunToken};
use crate::ledger::HeldFor;
use crate::store::tables::{held_lane, instruction, service, tally};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

shape! {
    /// A lane that is held, and why.
    struct Held of held_lane { batch_id: BatchId, service_id: LaneId, held_at: Timestamp, reason: String }
}
shape! {
    /// Why a lane is held.
    struct WhyHeld of held_lane { service_id: LaneId, reason: HeldFor }
}

/// Returns whether there is such a service.
fn is_known(c: &dyn Read, lane: LaneId) -> Result<bool, Error> {
    Ok(c.any(&Scan::of(&service::TABLE).at(&lane))?)
}

/// Returns the lanes of a batch that are held.
pub(in crate::journal) fn held_lanes(c: &dyn Read, batch_id: BatchId) -> Result<Vec<Lane>, Error> {
    let mut lanes = Vec::new();
    c.each(&Scan::of(&held_lane::TABLE).at(&batch_id), |held| {
        let WhyHeld { service_id, reason } = held;
        let named = Scan::of(&service::TABLE).at(&service_id);
        if let Some(service) = c.value(&named, service::code)? {
            lanes.push(Lane {
                id: service_id,
                service,
                held_for: reason,
            });
        }
        Ok::<_, Error>(())
    })?;
    lanes.sort_by(|a: &Lane, b| a.service.as_str().cmp(b.service.as_str()));
    Ok(lanes)
}

/// Holds a lane for want of float.
pub(in crate::journal) fn hold_lane(
    c: &WriteSession,
    token: RunToken,
    lane: LaneId,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    assert_current(c, token)?;
    c.insert_new(&Held {
        batch_id: token.batch_id,
        service_id: lane,
        held_at: now,
        reason: reason.to_owned(),
    })?;
    Ok(())
}

/// Holds every lane of a batch, so that neither this run nor a later one posts more: too much of what was heard was not ours.
pub(in crate::journal) fn hold_all(
    c: &WriteSession,
    token: RunToken,
    why: HeldFor,
    now: Timestamp,
) -> Result<(), Error> {
    assert_current(c, token)?;
    c.write_tallies()?;
    let counted = Scan::of(&tally::TABLE).at(&token.batch_id);
    let mut lanes: Vec<LaneId> = c.values(&counted, tally::service_id)?;
    // One is counted in each of its currencies and states.
    lanes.dedup();
    for lane in lanes {
        if is_known(c, lane)? {
            c.put(&Held {
                batch_id: token.batch_id,
                service_id: lane,
                held_at: now,
                reason: why.reason().to_owned(),
            })?;
        }
    }
    Ok(())
}

/// Holds the lanes that a load has brought to a batch whose posts are stopped: what stopped them is none of one service's.
pub(in crate::journal) fn hold_added(
    c: &dyn Write,
    batch_id: BatchId,
    load_id: LoadId,
) -> Result<(), Error> {
    let mut added = None;
    for why in [HeldFor::Taken, HeldFor::Misread] {
        let held: Vec<Timestamp> = c.values(&held_for(&batch_id, &why), held_lane::held_at)?;
        let Some(held_at) = held.into_iter().max() else {
            continue;
        };
        let lanes = match added.take() {
            Some(known) => known,
            None => lanes_added(c, batch_id, load_id)?,
        };
        for lane in &lanes {
            c.insert_new(&Held {
                batch_id,
                service_id: *lane,
                held_at,
                reason: why.reason().to_owned(),
            })?;
        }
        added = Some(lanes);
    }
    Ok(())
}

/// The lanes of a batch that are held for a reason.
fn held_for<'a>(batch_id: &'a BatchId, why: &'a HeldFor) -> Scan<'a> {
    Scan::of(&held_lane::TABLE)
        .at(batch_id)
        .only(held_lane::reason, Test::is(why))
}

/// Returns the lanes of a batch that no load but this one has rows of.
fn lanes_added(
    c: &dyn Read,
    batch_id: BatchId,
    load_id: LoadId,
) -> Result<BTreeSet<LaneId>, Error> {
    shape! {
        struct Row of instruction { load_id: LoadId, service_id: LaneId }
    }
    let rows = Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&batch_id));
    let (mut added, mut others) = (BTreeSet::new(), BTreeSet::new());
    c.each(&rows, |row: Row| {
        match row.load_id == load_id {
            true => added.insert(row.service_id),
            false => others.insert(row.service_id),
        };
        Ok::<_, Error>(())
    })?;
    let mut lanes = BTreeSet::new();
    for lane in added.difference(&others) {
        if is_known(c, *lane)? {
            lanes.insert(*lane);
        }
    }
    Ok(lanes)
}

/// Opens the lanes of a batch that are held for this reason.
pub(in crate::journal) fn open_all(
    c: &dyn Write,
    batch_id: BatchId,
    why: HeldFor,
) -> Result<(), Error> {
    c.remove(&held_for(&batch_id, &why))?;
    Ok(())
}

/// Opens a held lane.
pub(in crate::journal) fn reopen_lane(
    c: &WriteSession,
    token: RunToken,
    lane: LaneId,
) -> Result<(), Error> {
    assert_current(c, token)?;
    let own = Scan::of(&held_lane::TABLE).at(&token.batch_id).at(&lane);
    c.remove(&own)?;
    Ok(())
}
