//! How a run may end.

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
    /// Payments wait for the time that their rows name, and nothing else is left to do.
    Scheduled,
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
