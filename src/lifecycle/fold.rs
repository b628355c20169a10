//! What evidence adds up to: the proof that a stored life is no more than what was learned.

use super::{Event, PaymentState, Policy, State, StepContext, step};
use crate::domain::Timestamp;

/// What one row of evidence means to the life of its payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedEvent {
    /// An event of the lifecycle.
    Event(Event),
    /// An earlier journal may have posted it: it is in doubt.
    PresumedPosted,
    /// No earlier journal has posted it, by a person's word: it is ready as if it had never been presumed.
    Released,
    /// Where it stood when its evidence began to be kept with the policy that it was recorded under.
    Stood(PaymentState),
    /// A note that moves nothing.
    Note,
}

/// Returns the life after one more fact, as it was recorded then.
///
/// Of a life, evidence proves all that decides over money; see [`proven`].
#[must_use]
pub fn fold(
    life: &PaymentState,
    fact: RecordedEvent,
    at: Timestamp,
    policy: &Policy,
) -> PaymentState {
    match fact {
        // The jitter is not kept: it spreads what is due, and decides nothing.
        RecordedEvent::Event(event) => {
            step(life, event, StepContext { now: at, jitter: 0 }, policy).life
        }
        RecordedEvent::PresumedPosted => PaymentState {
            state: State::InDoubt,
            code: None,
            // Posts that never arrived, and nothing else, are on record: what there may be is the earlier journal's alone.
            attempts: match matches!(life.state, State::Ready | State::Cancelled)
                && !life.is_exposed()
            {
                true => 0,
                false => life.attempts,
            },
            exposures: life.exposures.max(1),
            not_found: 0,
            queries: 0,
            quarantine_from: Some(at),
            // An earlier journal's, it is ours.
            taken: false,
            ..*life
        },
        RecordedEvent::Released => PaymentState {
            state: State::Ready,
            exposures: 0,
            not_found: 0,
            queries: 0,
            quarantine_from: None,
            due_at: None,
            ..*life
        },
        RecordedEvent::Stood(life) => life,
        RecordedEvent::Note => *life,
    }
}

/// Returns the life without what evidence does not tell: when something is done next, and how often it was asked in vain
/// since the run began.
#[must_use]
pub fn proven(life: PaymentState) -> PaymentState {
    PaymentState {
        due_at: None,
        queries: 0,
        ..life
    }
}
