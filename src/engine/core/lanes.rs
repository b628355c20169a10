//! Lanes that want float (230).

use super::{Core, Effect, ServiceCode, Timestamp, earliest, is_due};
use crate::journal::Lane;

/// A lane that wants float.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) reopens_at: Option<Timestamp>,
    /// Its name, once the journal has told it.
    pub(super) service: Option<ServiceCode>,
}

impl Core {
    /// Holds a lane, and gives back what was claimed of it.
    pub(super) fn hold(&mut self, lane: i64, now: Timestamp) {
        if self.held.contains_key(&lane) {
            return;
        }
        let reopens_at = self.limits.lane_retry_after.map(|pause| now.after(pause));
        self.held.insert(
            lane,
            Held {
                reopens_at,
                service: None,
            },
        );
        let (released, kept): (Vec<_>, Vec<_>) =
            self.claimed.drain(..).partition(|claim| claim.lane == lane);
        self.claimed = kept.into();
        self.effects.push(Effect::HoldLane(lane));
        self.release(released);
    }

    /// Opens the lanes whose time has come.
    pub(super) fn reopen_lanes(&mut self, now: Timestamp) {
        let ripe: Vec<i64> = self
            .held
            .iter()
            .filter(|(_, held)| is_due(held.reopens_at, now))
            .map(|(lane, _)| *lane)
            .collect();
        for lane in ripe {
            self.held.remove(&lane);
            self.due.post = earliest(self.due.post, Some(now));
            self.effects.push(Effect::ReopenLane(lane));
        }
    }

    /// Takes over which lanes the journal holds: the operator may have opened one.
    pub(super) fn take_held(&mut self, found: &[Lane], now: Timestamp) {
        let retry_at = self.limits.lane_retry_after.map(|pause| now.after(pause));
        self.held
            .retain(|lane, _| found.iter().any(|held| held.id == *lane));
        for lane in found {
            let held = self.held.entry(lane.id).or_insert(Held {
                reopens_at: retry_at,
                service: None,
            });
            held.service = Some(lane.service.clone());
        }
    }

    /// Returns the held lanes, as far as their names are known.
    #[must_use]
    pub fn held(&self) -> Vec<ServiceCode> {
        self.held
            .values()
            .filter_map(|held| held.service.clone())
            .collect()
    }
}
