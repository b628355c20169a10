//! What happens between the runs: the operator's acts, lost journals, clocks that jump.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Scene, batch};
use crate::journal::Decision;
use crate::journal::inline::Disk;
use crate::lifecycle::{Moment, State};

impl Scene {
    pub(super) fn is_finished(&self) -> bool {
        let journal = self.open(None, &CancellationToken::new());
        let standing = self.on_a_runtime(journal.standing(batch()));
        standing.is_ok_and(|standing| standing.is_finished())
    }

    pub(super) fn office(&mut self, healthy: bool, violations: &mut Vec<String>) {
        let (act, jump) = {
            let mut shape = self.world.lock();
            (shape.rng.u32(0..20), shape.rng.u32(0..10))
        };
        if jump == 0 && !healthy {
            let mut shape = self.world.lock();
            let hours = Duration::from_secs(shape.rng.u64(0..7_200));
            shape.wall = if shape.rng.bool() {
                shape.wall.after(hours)
            } else {
                crate::domain::Timestamp::from_millis(
                    shape.wall.as_millis() - i64::try_from(hours.as_millis()).unwrap_or(0),
                )
            };
            shape.note(|| "the clock jumps".into());
        }
        match act {
            0..=2 => self.retry(),
            3 => self.cancel(),
            4 if !healthy => self.lose_journal(),
            _ => {}
        }
        self.resume_lanes();
        self.decide(healthy, violations);
    }

    fn moment(&self) -> Moment {
        Moment {
            now: self.world.lock().wall_now(),
            jitter: 0,
        }
    }

    fn retry(&self) {
        let journal = self.open(None, &CancellationToken::new());
        let now = self.moment().now;
        let count = self.on_a_runtime(journal.retry(batch(), None, now));
        self.world.lock().note(|| format!("retry: {count:?}"));
    }

    fn cancel(&self) {
        let journal = self.open(None, &CancellationToken::new());
        let number = self.world.lock().rng.u64(1..=8);
        let moment = self.moment();
        let id = Some(format!("R{number}"));
        let count = self.on_a_runtime(journal.cancel(batch(), id, moment));
        self.world
            .lock()
            .note(|| format!("cancel R{number}: {}", count.is_ok()));
    }

    fn resume_lanes(&self) {
        if self.world.lock().rng.bool() {
            return;
        }
        let journal = self.open(None, &CancellationToken::new());
        for lane in ["A", "B"] {
            let _ = self.on_a_runtime(journal.resume_lane(batch(), lane.into()));
        }
    }

    /// The journal is lost, and the file loaded again.
    fn lose_journal(&mut self) {
        self.disk = Disk::blank();
        self.lost_journal = true;
        // Without the gateway's own check only asking first is safe.
        let presume = {
            let mut shape = self.world.lock();
            // What the journal knew of callbacks and of its pace is lost with it.
            shape.acknowledged.clear();
            shape.sends.clear();
            shape.note(|| "the journal is lost".into());
            !shape.faults.duplicate_check || shape.rng.bool()
        };
        self.load(presume);
    }

    /// Decides what only a person can, by the truth.
    fn decide(&self, healthy: bool, violations: &mut Vec<String>) {
        if !healthy || !self.world.lock().is_quiet() {
            return;
        }
        let journal = self.open(None, &CancellationToken::new());
        for generation in self.generations() {
            if generation.state != State::Conflict {
                continue;
            }
            let id = generation.id;
            let paid = {
                let shape = self.world.lock();
                let account = shape.ledger.get(&id).cloned().unwrap_or_default();
                account.executions > 0
            };
            let decision = Decision {
                paid,
                reason: "seen".into(),
                evidence: "statement".into(),
            };
            let moment = self.moment();
            let decided =
                self.on_a_runtime(journal.decide(batch(), id.as_str().into(), decision, moment));
            if let Err(error) = decided {
                violations.push(format!("{id} could not be decided: {error}"));
            }
        }
    }
}
