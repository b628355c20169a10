//! When a run ends, and how.

use std::time::Duration;

use super::{Core, Effect, Timestamp};
use crate::journal::Standing;
use crate::lifecycle::State;

/// How long a gateway that this run never reached is tried.
pub(super) const UNREACHABLE_AFTER: Duration = Duration::from_secs(10);
const UNREACHABLE_TRIES: u32 = 3;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every payment has reached its end.
    Finished,
    /// Everything is posted, and the run was not to wait.
    Posted,
    /// Lanes wait for float, and nothing else is left to do.
    Held,
    /// Payments wait for their documents to be uploaded, and nothing else is left to do.
    Documents,
    /// Payments came after the confirmation and wait for one of their own, and nothing else is left to do.
    Unconfirmed,
    /// What is left waits for a callback that may not come, or for an operator.
    NeedsDecision,
    /// No payment moved for as long as the run may wait.
    TimedOut,
    /// The operator ended it.
    Drained,
    /// The gateway's answer stopped it.
    Stopped(String),
    /// One reply after another names another amount, currency or number than ours; the first was about this payment.
    Misread(i64),
    /// The gateway had one identifier after another before its first post; this payment was the first.
    Taken(i64),
    /// Losses in a row, to the end.
    CircuitOpen,
    /// No connection to the gateway was ever made: nothing was sent.
    Unreachable(String),
}

impl Core {
    /// Ends the run when it has waited long enough.
    pub(super) fn note_time(&mut self, now: Timestamp) {
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
        } else {
            self.due.unconfirmed.then_some(Ending::Unconfirmed)
        };
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
