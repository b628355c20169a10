//! What may stand as the time at which something is due.
//!
//! No evidence holds these times: they are hints, and a run makes them anew. One that nobody can have written would let a
//! payment wait for ever, though, and must not.

use std::time::Duration;

use crate::domain::Timestamp;
use crate::lifecycle::State;

/// The longest wait that can be configured.
pub const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Returns whether a payment in this state may be due then (`None`: never), where `latest` is the last time that anything of
/// its journal can come from.
///
/// Only what waits for a word is ready and never due: a retry, for that about what it replaces, or what a lost batch may have paid.
#[must_use]
pub fn is_possible(
    state: State,
    may_wait: bool,
    due_at: Option<Timestamp>,
    latest: Timestamp,
) -> bool {
    let within_reach = |due_at| due_at <= latest.after(LONGEST_WAIT);
    match state {
        State::Ready => due_at.map_or(may_wait, within_reach),
        // Never: it was given up, or waits for its callback.
        State::InDoubt | State::Acknowledged | State::Delivered => due_at.is_none_or(within_reach),
        // Nothing waits for a time.
        State::Posting | State::Paid | State::Failed | State::Cancelled | State::Conflict => true,
    }
}

/// How far the waits of a run reach. What stands beyond was written by a clock that was set since: nobody waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The end of the longest wait that begins now.
    pub latest: Timestamp,
    /// When a question is due that nothing puts off.
    pub soon: Timestamp,
}

impl Reach {
    /// Returns how far the waits reach of a run whose longest is `longest`, and that asks first after `first`.
    #[must_use]
    pub fn of(now: Timestamp, longest: Duration, first: Duration) -> Self {
        Self {
            latest: now.after(longest),
            soon: now.after(first),
        }
    }

    /// Returns when a question is due for a run that begins, where an earlier one had it due then. `None`: that one had given it up. It is
    /// asked once more, where the gateway can be asked.
    #[must_use]
    pub fn question(self, due_at: Option<Timestamp>, can_ask: bool) -> Option<Timestamp> {
        match due_at {
            None => can_ask.then_some(self.soon),
            Some(at) if at > self.latest => Some(self.soon),
            Some(at) => Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_begins_waits_for_nothing_beyond_its_own_waits() {
        let at = Timestamp::from_millis;
        let reach = Reach::of(at(5_000), Duration::from_secs(600), Duration::from_secs(40));
        for (due_at, can_ask, expected) in [
            (Some(0), true, Some(0)),
            (Some(605_000), true, Some(605_000)),
            (Some(605_001), true, Some(45_000)),
            (Some(605_001), false, Some(45_000)),
            (None, true, Some(45_000)),
            (None, false, None),
        ] {
            let found = reach.question(due_at.map(at), can_ask);
            assert_eq!(found, expected.map(at), "{due_at:?} {can_ask}");
        }
    }

    #[test]
    fn nothing_is_due_later_than_the_longest_wait_reaches() {
        let latest = Timestamp::from_millis(1_800_000_000_000);
        let at_once = Some(Timestamp::from_millis(0));
        let last = latest.after(LONGEST_WAIT);
        let beyond = Some(last.after(Duration::from_millis(1)));
        for (state, may_wait, due_at, expected) in [
            (State::Ready, false, at_once, true),
            (State::Ready, false, Some(last), true),
            (State::Ready, false, beyond, false),
            (State::Ready, false, None, false),
            (State::Ready, true, None, true),
            (State::Ready, true, beyond, false),
            (State::InDoubt, false, None, true),
            (State::InDoubt, false, Some(last), true),
            (State::InDoubt, false, beyond, false),
            (State::Acknowledged, false, None, true),
            (State::Acknowledged, true, beyond, false),
            (State::Delivered, false, Some(last), true),
            (State::Delivered, false, beyond, false),
            (State::Posting, false, None, true),
            (State::Paid, false, None, true),
        ] {
            assert_eq!(
                is_possible(state, may_wait, due_at, latest),
                expected,
                "{state:?} {may_wait} {due_at:?}"
            );
        }
    }
}
