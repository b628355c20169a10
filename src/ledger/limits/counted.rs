//! What a payment counts for towards ceilings.

use crate::lifecycle::State;

/// What a payment counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Proven not to have been executed, or never posted.
    Nothing = 0,
    /// May have been executed.
    Counted = 1,
    /// Executed.
    Paid = 2,
}

/// Returns what a payment counts for where it stands: it is given back once it is proven that it was not executed.
#[must_use]
pub fn counts(state: State) -> Counts {
    match planted!(ledger::counted_as(state)) {
        // What is ready is to be posted: it never left, or the gateway has said again and again that it does not know it. It counts when
        // it leaves.
        State::Ready | State::Failed | State::Cancelled => Counts::Nothing,
        State::Paid => Counts::Paid,
        State::Posting
        | State::InDoubt
        | State::Acknowledged
        | State::Delivered
        | State::Conflict => Counts::Counted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_paid_counts_and_what_was_proven_not_to_be_is_given_back() {
        for (state, expected) in [
            (State::Ready, Counts::Nothing),
            (State::Posting, Counts::Counted),
            (State::InDoubt, Counts::Counted),
            (State::Acknowledged, Counts::Counted),
            (State::Delivered, Counts::Counted),
            (State::Paid, Counts::Paid),
            (State::Failed, Counts::Nothing),
            (State::Cancelled, Counts::Nothing),
            (State::Conflict, Counts::Counted),
        ] {
            assert_eq!(counts(state), expected, "{state:?}");
        }
    }
}
