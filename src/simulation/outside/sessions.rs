//! Runs that share a store: their sessions, and what the oracle says of these.

use std::time::Duration;

use super::packet::Hold;
use super::world::Shape;
use crate::domain::{Epoch, Timestamp};
use crate::journal::simulated::{Disk, Seen};
use crate::store::tables::session;
use crate::store::{Reads, Scan, shape};

/// One connection of so many is opened slowly.
const SLOW: u32 = 8;
/// It takes so long: whoever waits for it looks once more. What takes less is part of the way to the gateway.
const CONNECTS_WITHIN_MS: std::ops::Range<u64> = 2_001..6_000;

shape! {
    struct Session of session { closed_at: Option<Timestamp> }
}

fn session_of(disk: &Disk, id: Epoch) -> Option<Session> {
    disk.look(|c| c.first(&Scan::of(&session::TABLE).at(&id)))
        .expect("it can be read")
}

/// For how long something goes on that lasts from one moment to another.
fn left(span: Option<(u64, u64)>, now: u64) -> Option<Duration> {
    let (_, until) = span.filter(|(from, until)| (*from..*until).contains(&now))?;
    Some(Duration::from_millis(until - now))
}

impl Shape {
    /// Takes in what a commit of a run did to the runs of the journal.
    pub(in crate::simulation) fn see(&mut self, run: usize, seen: Seen) {
        match seen {
            Seen::Acquired => self.acquire(run),
            Seen::Opened(id) => {
                self.note(|| format!("run {run} has the session {}", id.get()));
                let has_it = |other: &Hold| !other.ended && other.session == Some(id);
                if let Some(other) = self.runs.iter().position(has_it).filter(|one| *one != run) {
                    self.violation(format!(
                        "4: run {run} has the session of run {other}, which goes on"
                    ));
                }
                self.runs[run].session = Some(id);
                self.runs[run].acquired = true;
            }
            Seen::Closed(id, was_over) => {
                self.note(|| format!("run {run} closes the session {}", id.get()));
                if self.runs[run].session != Some(id) && !was_over {
                    self.violation(format!(
                        "4: run {run} closes the session of another one, and its lease is not over"
                    ));
                }
            }
        }
    }

    /// When another run took over from this one, if one did.
    pub(in crate::simulation) fn overtaken(&mut self, run: usize, disk: &Disk) -> Option<u64> {
        let hold: &Hold = &self.runs[run];
        if !self.is_shared {
            return hold.overtaken_at;
        }
        let Some(found) = hold.session.and_then(|id| session_of(disk, id)) else {
            self.violation(format!("4: run {run} has no session on record"));
            return None;
        };
        let since = self.server_at(0).as_millis();
        found
            .closed_at
            .map(|at| u64::try_from(at.as_millis() - since).unwrap_or(0))
    }

    /// Whether another run has taken over from this one, or what it knew of its own is lost.
    pub(in crate::simulation) fn is_fenced(&self, run: usize, disk: &Disk) -> bool {
        let hold = &self.runs[run];
        match hold.session.filter(|_| self.is_shared) {
            Some(id) => session_of(disk, id).is_none_or(|found| found.closed_at.is_some()),
            None => hold.overtaken_at.is_some(),
        }
    }

    /// For how long a run stands still from now on, if it does, where it is a process of its own.
    pub(in crate::simulation) fn stands(&self, run: usize) -> Option<Duration> {
        let hold = self.runs.get(run).filter(|_| self.is_shared)?;
        left(hold.standstill, self.now())
    }

    /// Has a run stand still whose post is about to leave, if it is to.
    pub(in crate::simulation) fn reaches_a_post(&mut self, run: usize) {
        let now = self.now();
        if let Some(hold) = self.runs.get_mut(run).filter(|_| self.is_shared)
            && let Some(long) = hold.stops_at_post.take()
        {
            hold.standstill = Some((now, now + long));
            self.note(|| format!("run {run} stands still for {long} ms before its post"));
        }
    }

    /// For how long nothing of a run comes to the store from now on, if that is so.
    pub(in crate::simulation) fn is_cut_off(&self, run: usize) -> Option<Duration> {
        left(self.runs.get(run)?.cut_off, self.now())
    }

    /// How long it takes to connect to the gateway, where that takes any time.
    pub(in crate::simulation) fn connects_within(&mut self) -> Option<Duration> {
        let is_slow = self.is_shared && self.rng.u32(0..SLOW) == 0;
        is_slow.then(|| Duration::from_millis(self.rng.u64(CONNECTS_WITHIN_MS)))
    }
}
