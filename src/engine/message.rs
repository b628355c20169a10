//! What the tasks of a run tell its loop.

use super::core::EngineInput;
use super::exchange::Exchange;
use crate::domain::{PaymentId, Timestamp};
use crate::journal::{Clearance, Error, Halt, Transition};
use crate::ledger::slots::Granted;

/// What came of something that the run has begun.
pub(super) enum Message {
    EngineInput(EngineInput),
    /// Slots to leave in.
    Granted(Granted),
    /// A sender is idle again, and what came of its post.
    Posted(usize, Exchange),
    /// What was answered, when it was asked, and when it was heard.
    Answered(Exchange, [Timestamp; 2]),
    Recorded(Vec<Transition>),
    /// Claims that were looked at once more, and what they may do.
    LookedUp(Vec<(PaymentId, Clearance)>),
    /// The journal was asked at this reading of the clock of leases for another one, and gave it.
    Renewed(u64),
    /// The journal was asked at this reading of the pulse, and no other run has taken over.
    StillOurs(u64),
    Failed(Error),
    /// A payment was met that must not be posted.
    Halted(Halt),
}
