//! Withdrawing a payment that an earlier journal may have posted: it is asked about first, and never posted.
//!
//! Whether it was paid only the gateway knows. So the order stands until then: what the gateway knows it decides; what it does
//! not know twice is ready, and is withdrawn instead of posted.

use crate::lifecycle::{PaymentState, State};

/// Returns whether the order may be taken: this journal has not posted it, and the gateway has not shown to have it.
#[must_use]
pub fn may_be_ordered(life: &PaymentState) -> bool {
    may_be_withdrawn(life.state, life.attempts, life.known || life.taken)
}

/// Returns whether the order may be taken about a payment in this state, with so many posts, whether the gateway has shown to have it.
#[must_use]
pub fn may_be_withdrawn(state: State, attempts: u32, is_known: bool) -> bool {
    state == State::InDoubt && attempts == 0 && !is_known
}

/// Returns whether a payment is withdrawn now, if that was ordered.
#[must_use]
pub fn is_due(life: &PaymentState) -> bool {
    life.state == State::Ready && life.attempts == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_posted_is_withdrawn_once_the_gateway_does_not_know_it() {
        let presumed = PaymentState {
            state: State::InDoubt,
            exposures: 1,
            ..PaymentState::NEW
        };
        let of = |state| PaymentState { state, ..presumed };
        for (life, ordered, due) in [
            (presumed, true, false),
            (of(State::Ready), false, true),
            // By a person's word nothing has run since.
            (PaymentState::NEW, false, true),
            (
                PaymentState {
                    known: true,
                    ..presumed
                },
                false,
                false,
            ),
            (
                PaymentState {
                    known: true,
                    taken: true,
                    ..presumed
                },
                false,
                false,
            ),
            // This journal has posted it: `resolve` asks, and decides.
            (
                PaymentState {
                    attempts: 1,
                    ..presumed
                },
                false,
                false,
            ),
            (
                PaymentState {
                    attempts: 1,
                    ..of(State::Ready)
                },
                false,
                false,
            ),
            (of(State::Acknowledged), false, false),
            (of(State::Posting), false, false),
            (of(State::Paid), false, false),
            (of(State::Failed), false, false),
            (of(State::Cancelled), false, false),
        ] {
            assert_eq!(
                (may_be_ordered(&life), is_due(&life)),
                (ordered, due),
                "{life:?}"
            );
        }
    }
}
