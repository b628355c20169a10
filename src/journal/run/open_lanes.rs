//! Lanes of a batch from which something may leave.

use super::dates::dates;
use crate::domain::{BatchId, LaneId, ServiceCode, Timestamp};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, RunToken};
use crate::ledger::calendar::{BatchDates, Gate};
use crate::ledger::confirmation::Bound;
use crate::lifecycle::State;
use crate::store::tables::{held_lane, inquiry, service, tally};
use crate::store::{Read, Reads, Scan, Test};

/// The states in which payments have ended.
const ENDED: [i64; 4] = [5, 6, 7, 8];

/// Returns whether a run has anything to do: one that finds all ended leaves no trace, so that its report is the same again.
pub(super) fn is_open(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let counted = Scan::of(&tally::TABLE)
        .at(&batch_id)
        .only(tally::count, Test::at_least(&1_i64));
    // By their numbers: rows without an amount are counted under one that is no state of a life.
    let states: Vec<i64> = c.values(&counted, tally::state)?;
    Ok(states.iter().any(|state| !ENDED.contains(state))
        || c.any(&Scan::by(&inquiry::inquiry_queue).at(&batch_id))?)
}

/// What a batch has in a state.
pub(super) fn counted<'a>(batch_id: &'a BatchId, state: &'a State) -> Scan<'a> {
    Scan::of(&tally::TABLE)
        .at(batch_id)
        .only(tally::state, Test::is(state))
        .only(tally::count, Test::at_least(&1_i64))
}

/// A lane of a batch that is not held and has something ready.
pub(super) struct OpenLane {
    pub(super) id: LaneId,
    pub(super) service: ServiceCode,
    /// The dates of its batch.
    pub(super) dates: BatchDates,
    /// Whether that may leave, by these dates and the hours of the service.
    pub(super) gate: Gate,
}

impl OpenLane {
    /// Returns when what may leave at a time by itself may leave by dates and hours as well; `None`: never.
    pub(super) fn leaves_at(
        &self,
        c: &WriteSession,
        batch_id: BatchId,
        at: Timestamp,
    ) -> Option<Timestamp> {
        match c.gate((batch_id, self.dates), &self.service, at) {
            Gate::Open(_) => Some(at),
            Gate::Shut(later) => Some(later),
            Gate::Over => None,
        }
    }
}

/// Lanes of a batch that are not held and have something ready, each with whether that may leave by the dates of the batch and the
/// hours of the service.
pub(super) fn open_lanes(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<Vec<OpenLane>, Error> {
    c.write_tallies()?;
    let dates = dates(c, batch_id)?;
    // One that has several currencies is counted in each.
    let mut ids: Vec<LaneId> = c.values(&counted(&batch_id, &State::Ready), tally::service_id)?;
    ids.dedup();
    let mut lanes = Vec::new();
    for id in ids {
        if c.any(&Scan::of(&held_lane::TABLE).at(&batch_id).at(&id))? {
            continue;
        }
        let named = Scan::of(&service::TABLE).at(&id);
        let Some(service) = c.value::<ServiceCode>(&named, service::code)? else {
            continue;
        };
        lanes.push(OpenLane {
            id,
            gate: c.gate((batch_id, dates), &service, now),
            service,
            dates,
        });
    }
    Ok(lanes)
}

/// Returns whether the dates of the batch are those that its signatures cover, where it needs any: who changes them beside a run
/// has not approved them.
pub(super) fn is_signed(token: RunToken, dates: BatchDates) -> bool {
    token.approved == Bound::EVERYTHING || token.dates == dates
}
