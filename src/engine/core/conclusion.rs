//! When a run ends, and how.

use std::time::Duration;

use super::ending::Ending;
use super::input::Effect;
use super::state::Core;
use crate::domain::Timestamp;
use crate::journal::Standing;
use crate::lifecycle::State;

/// How long a gateway that this run never reached is tried.
pub(super) const UNREACHABLE_AFTER: Duration = Duration::from_secs(10);
const UNREACHABLE_TRIES: u32 = 3;

impl Core {
    /// Ends the run when it has waited long enough.
    pub(super) fn note_time(&mut self, now: Timestamp) {
        if self.waits_for_window() {
            // Nothing moves until then, and that is in order.
            self.last_move = now;
        }
        let waited = now.since(self.last_move) >= self.limits.max_wait;
        if let Some((since, tries, why)) = &self.unreachable
            && !self.ever_reached
            && (waited || *tries >= UNREACHABLE_TRIES && now.since(*since) >= UNREACHABLE_AFTER)
        {
            let why = why.clone();
            self.end(Ending::Unreachable(why));
        } else if waited {
            let open = self.breaker.is_tripped();
            self.end(if open {
                Ending::CircuitOpen
            } else if self.balance_is_awaited() && self.is_idle() {
                Ending::Held
            } else {
                Ending::TimedOut
            });
        }
    }

    /// Returns whether the run waits for a time that something of it is posted at.
    pub(super) fn waits_for_window(&self) -> bool {
        self.limits.wait_for_window && self.due.scheduled.is_some() && self.due.post.is_none()
    }

    /// Ends the run when the journal shows that nothing is left to do.
    pub(super) fn conclude(&mut self, standing: &Standing) {
        // What the gateway took back is asked about, although all has ended.
        let is_asked_again = standing.doubtful > 0
            && !self.limits.no_wait
            && (self.stale || !self.is_idle() || self.due.ask.is_some());
        if standing.is_finished() && !is_asked_again {
            return self.end(Ending::Finished);
        }
        // Something happened while the journal was read: what it showed may be over, and it is read again.
        if self.stale {
            return;
        }
        let count = |state| standing.of(state).count;
        if self.is_idle() && count(State::Posting) > 0 {
            // Nothing of this run is on the wire: an intent that is still open has lost its outcome.
            self.effects.push(Effect::Abandon);
        }
        let comes_by_itself = self.due.post.is_some() || self.lane_may_open();
        if !self.is_idle() || count(State::Posting) > 0 || comes_by_itself {
            return;
        }
        let held = count(State::Ready) > 0 && !self.held.is_empty();
        let unposted = if held {
            Some(Ending::Held)
        } else if self.due.document {
            Some(Ending::Documents)
        } else if self.due.unapproved {
            Some(Ending::Unapproved)
        } else if self.due.unconfirmed {
            Some(Ending::Unconfirmed)
        } else if self.due.exposed {
            Some(Ending::Exposed)
        } else if self.due.limited.is_some() {
            Some(Ending::Limited)
        } else if self.due.scheduled.is_some() {
            Some(Ending::Scheduled)
        } else {
            self.due.over.then_some(Ending::Over)
        };
        if self.waits_for_window() {
            return;
        }
        if self.limits.no_wait {
            return self.end(unposted.unwrap_or(Ending::Posted));
        }
        let unsettled =
            count(State::InDoubt) + count(State::Acknowledged) + count(State::Delivered);
        let may_settle = self.due.ask.is_some() || self.limits.callbacks && unsettled > 0;
        if !may_settle {
            self.end(unposted.unwrap_or(Ending::NeedsDecision));
        }
    }
}
