//! Intents on disk that have not left yet.

use std::collections::{BTreeSet, VecDeque};

use crate::domain::{LaneId, PaymentId, Timestamp};
use crate::journal::Claim;

/// Claims in the order in which they leave.
// Almost every payment that moves has left: whether one still waits is asked once for each, and not by a look at all.
#[derive(Debug, Default)]
pub(super) struct Claimed {
    queue: VecDeque<Claim>,
    seqs: BTreeSet<PaymentId>,
}

impl Claimed {
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Claim> {
        self.queue.iter()
    }

    pub(super) fn extend(&mut self, claims: Vec<Claim>) {
        self.seqs.extend(claims.iter().map(|claim| claim.seq));
        self.queue.extend(claims);
    }

    /// Takes the first ones.
    pub(super) fn take(&mut self, count: usize) -> Vec<Claim> {
        let taken: Vec<Claim> = self.queue.drain(..count).collect();
        for claim in &taken {
            self.seqs.remove(&claim.seq);
        }
        taken
    }

    pub(super) fn take_all(&mut self) -> Vec<Claim> {
        self.take(self.queue.len())
    }

    /// Takes those of a lane.
    pub(super) fn take_lane(&mut self, lane: LaneId) -> Vec<Claim> {
        let (taken, kept) = self
            .take_all()
            .into_iter()
            .partition(|claim| claim.lane == lane);
        self.extend(kept);
        taken
    }

    /// Returns when the first of them no longer may leave.
    pub(super) fn leave_by(&self) -> Option<Timestamp> {
        self.queue.iter().filter_map(|claim| claim.leave_by).min()
    }

    /// Takes those that may no longer leave.
    pub(super) fn take_late(&mut self, now: Timestamp) -> Vec<Claim> {
        let (late, kept) = self
            .take_all()
            .into_iter()
            .partition(|claim| claim.leave_by.is_some_and(|at| at <= now));
        self.extend(kept);
        late
    }

    /// Takes one, if it is there.
    pub(super) fn take_one(&mut self, seq: PaymentId) -> Option<Claim> {
        let place = self.queue.iter().position(|claim| claim.seq == seq)?;
        self.seqs.remove(&seq);
        self.queue.remove(place)
    }

    /// Forgets one, if it is there.
    pub(super) fn forget(&mut self, seq: PaymentId) {
        if self.seqs.remove(&seq) {
            self.queue.retain(|claim| claim.seq != seq);
        }
    }
}
