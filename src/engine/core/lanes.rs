//! Lanes that want float (230).

use super::input::Effect;
use super::state::{Core, Held, earliest, is_due};
use crate::domain::{Currency, LaneId, ServiceCode, Timestamp};
use crate::journal::Lane;
use crate::ledger::HeldFor;

impl Core {
    /// Holds a lane, and gives back what was claimed of it.
    pub(super) fn hold(&mut self, lane: LaneId, now: Timestamp) {
        if self.held.contains_key(&lane) {
            return;
        }
        let reopens_at = self.limits.lane_retry_after.map(|pause| now.after(pause));
        self.held.insert(
            lane,
            Held {
                reopens_at,
                // It has just been found too low.
                asks_at: self.limits.float_poll.map(|pause| now.after(pause)),
                service: None,
                for_float: true,
            },
        );
        let released = self.claimed.take_lane(lane);
        self.effects.push(Effect::HoldLane(lane));
        self.release(released);
    }

    /// Opens the lanes whose time has come.
    pub(super) fn reopen_lanes(&mut self, now: Timestamp) {
        let ripe: Vec<LaneId> = self
            .held
            .iter()
            .filter(|(_, held)| is_due(held.reopens_at, now))
            .map(|(lane, _)| *lane)
            .collect();
        for lane in ripe {
            self.reopen(lane, now);
        }
    }

    fn reopen(&mut self, lane: LaneId, now: Timestamp) {
        self.held.remove(&lane);
        self.due.post = earliest(self.due.post, Some(now));
        self.effects.push(Effect::ReopenLane(lane));
    }

    /// Asks for the balances of held lanes in which something waits.
    pub(super) fn ask_balances(&mut self, now: Timestamp) {
        for (lane, held) in &mut self.held {
            let Some(service) = held.service.clone().filter(|_| is_due(held.asks_at, now)) else {
                continue;
            };
            if self.waiting.contains_key(&service) {
                held.asks_at = None;
                self.effects.push(Effect::AskBalance(*lane, service));
            }
        }
    }

    /// Opens a held lane whose float covers all that waits in it; otherwise it is asked about again later.
    pub(super) fn take_balance(
        &mut self,
        lane: LaneId,
        balance: Option<(Currency, i64)>,
        now: Timestamp,
    ) {
        let asks_at = self.limits.float_poll.map(|pause| now.after(pause));
        let Some(held) = self.held.get_mut(&lane) else {
            return;
        };
        held.asks_at = asks_at;
        let needed = held
            .service
            .as_ref()
            .and_then(|service| self.waiting.get(service));
        let covers = balance
            .zip(needed)
            .is_some_and(|((currency, minor), needed)| {
                needed
                    .iter()
                    .all(|(other, need)| other == currency && need <= i128::from(minor))
            });
        if planted!(engine::covers(covers)) {
            self.reopen(lane, now);
        }
    }

    /// Returns whether a held lane in which something waits may open by itself.
    pub(super) fn lane_may_open(&self) -> bool {
        self.held.values().any(|held| held.reopens_at.is_some()) || self.balance_is_awaited()
    }

    /// Returns whether a lane waits for its float to be topped up.
    pub(super) fn balance_is_awaited(&self) -> bool {
        let waits = |service| self.waiting.contains_key(service);
        self.limits.float_poll.is_some()
            && self
                .held
                .values()
                .any(|held| held.for_float && held.service.as_ref().is_none_or(waits))
    }

    /// Takes over which lanes the journal holds: the operator may have opened one.
    pub(super) fn take_held(&mut self, found: &[Lane], now: Timestamp) {
        let retry_at = self.limits.lane_retry_after.map(|pause| now.after(pause));
        self.held
            .retain(|lane, _| found.iter().any(|held| held.id == *lane));
        for lane in found {
            let for_float = lane.held_for == HeldFor::Float;
            let held = self.held.entry(lane.id).or_insert(Held {
                reopens_at: retry_at.filter(|_| for_float),
                // It may have been topped up since an earlier run.
                asks_at: self.limits.float_poll.map(|_| now).filter(|_| for_float),
                service: None,
                for_float,
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
