//! What an order may be given about, and why not.

use super::names::batch_name_of;
use crate::domain::PaymentId;
use crate::journal::Error;
use crate::journal::codec::catalog::id_of;
use crate::lifecycle::{Event, State};
use crate::store::Read;

pub(in crate::journal) fn not_allowed(
    c: &dyn Read,
    seq: PaymentId,
    state: &'static str,
    why: &str,
) -> Result<Error, Error> {
    let id = id_of(c, seq)?;
    Ok(Error::NotAllowed {
        batch: batch_name_of(c, seq)?,
        id,
        state,
        why: why.into(),
    })
}

pub(in crate::journal) fn why_not(event: Event, state: State) -> &'static str {
    match (event, state) {
        (Event::Withdrawn, State::Cancelled) => "it is cancelled already",
        (_, State::Paid) => "it is paid already; its outcome is on record, so it cannot be changed",
        (Event::Withdrawn, State::Failed) => {
            "another payment of its row came later, or may be paid: a later one can be cancelled instead"
        }
        (Event::Withdrawn, State::Conflict) => {
            "it was sent, and the answers about it disagree: only a payment that was never sent, or that failed, can be cancelled"
        }
        (Event::Withdrawn, _) => {
            "it was sent, and may be paid: only a payment that was never sent, or that failed, can be cancelled"
        }
        (_, State::Ready) => "it was never sent: cancel it instead",
        (_, State::Posting) => {
            "a run has claimed it: let that run end first. If `disburse status` says that no run is at work, run the batch: it asks the gateway about this payment before anything else"
        }
        (_, State::Failed) => {
            "it has ended as not paid; its outcome is on record, so it cannot be changed"
        }
        (_, State::Cancelled) => "it was cancelled before it was sent",
        _ => "in its present state, this cannot be recorded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_that_a_failed_payment_cannot_be_cancelled() {
        for state in State::ALL {
            let why = why_not(Event::Withdrawn, state);
            assert!(
                !why.contains("only what was never sent"),
                "{state:?}: {why}"
            );
        }
        // A failure that is not open has another payment of its row.
        assert!(why_not(Event::Withdrawn, State::Failed).starts_with("another payment of its row"));
    }
}
