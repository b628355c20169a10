//! How a run may end.

use crate::domain::PaymentId;

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
    /// Payments wait for signatures, and nothing else is left to do.
    Unapproved,
    /// As much is under way, in doubt or in conflict as may be at once, and none of it ends by itself.
    Exposed,
    /// Payments wait for a limit, and nothing else is left to do.
    Limited,
    /// Payments wait for the time that their rows name, for the first date of the batch, or for their service to open, and nothing else
    /// is left to do.
    Scheduled,
    /// The clock of the machine was set while dates or hours were kept to: what is left begins anew by the new time.
    ClockSet,
    /// Payments wait whose time is over, and nothing else is left to do.
    Over,
    /// What is left waits for a callback that may not come, or for an operator.
    NeedsDecision,
    /// No payment moved for as long as the run may wait.
    TimedOut,
    /// The operator ended it.
    Drained,
    /// The gateway's answer stopped it.
    Stopped(String),
    /// One reply after another names another amount, currency or number than ours; the first was about this payment.
    Misread(PaymentId),
    /// The gateway had one identifier after another before its first post; this payment was the first.
    Taken(PaymentId),
    /// Losses in a row, to the end.
    CircuitOpen,
    /// No connection to the gateway was ever made: nothing was sent.
    Unreachable(String),
}
