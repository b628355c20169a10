//! How long "not found" is worth something.
//!
//! What may have left is posted again after the gateway has said twice that it does not know it. While the payment then waits
//! (for float, for a token, for its turn), the first post may yet arrive. So it is asked about again before it leaves. That is
//! judged at its claim, and once more just before it leaves: the program, or its machine, may have slept in between.

use std::time::Duration;

use crate::domain::Timestamp;
use crate::lifecycle::{PaymentState, Policy, State};

/// "Not found" is worth something for as long as its quarantine, and no less than this: a turn must be able to come.
const LEAST: Duration = Duration::from_secs(60);

/// Returns whether a payment is to be asked about again before it is posted. `not_found_at`: when it was not found last.
#[must_use]
pub fn is_stale(
    life: &PaymentState,
    not_found_at: Option<Timestamp>,
    now: Timestamp,
    policy: &Policy,
) -> bool {
    if !matches!(life.state, State::Ready | State::Posting) || !life.is_exposed() {
        return false;
    }
    let longest = policy.not_found_quarantine.max(LEAST);
    // A clock that was set back tells no age.
    let is_stale = not_found_at.is_none_or(|at| now < at || now.since(at) > longest);
    planted!(ledger::is_stale(is_stale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded_bugs::SeededBug;

    fn wrong() -> Vec<String> {
        let at = |secs: i64| Timestamp::from_millis(1_000_000 + secs * 1_000);
        let exposed = PaymentState {
            exposures: 1,
            ..PaymentState::NEW
        };
        let in_doubt = PaymentState {
            state: State::InDoubt,
            ..exposed
        };
        let claimed = PaymentState {
            state: State::Posting,
            ..exposed
        };
        let mut wrong = Vec::new();
        for (life, quarantine, heard, now, stale) in [
            (exposed, 120, Some(0), 0, false),
            (exposed, 120, Some(0), 120, false),
            (exposed, 120, Some(0), 121, true),
            (exposed, 120, Some(0), 86_400, true),
            (exposed, 1, Some(0), 60, false),
            (exposed, 1, Some(0), 61, true),
            (claimed, 1, Some(0), 60, false),
            (claimed, 1, Some(0), 61, true),
            // Nobody knows when, and a clock that was set back.
            (exposed, 120, None, 0, true),
            (exposed, 120, Some(0), -1, true),
            // It never left, or is asked about anyway.
            (PaymentState::NEW, 120, None, 86_400, false),
            (in_doubt, 120, Some(0), 86_400, false),
        ] {
            let policy = Policy {
                not_found_quarantine: Duration::from_secs(quarantine),
                ..Policy::default()
            };
            if is_stale(&life, heard.map(at), at(now), &policy) != stale {
                wrong.push(format!("{life:?} {heard:?} {now}"));
            }
        }
        wrong
    }

    #[test]
    fn not_found_is_worth_something_for_as_long_as_its_quarantine() {
        assert_eq!(wrong(), Vec::<String>::new());
        let _awake = SeededBug::StaleNotFoundCounts.wake();
        assert_eq!(wrong().len(), 6, "the planted mistake is found");
    }
}
