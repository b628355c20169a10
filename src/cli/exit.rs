//! What a finished command says with its exit code.

/// What a finished command says with its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// Done; of a run: every payment is paid.
    Done,
    /// Finished, but some payments failed, were rejected, or are in conflict.
    Incomplete,
    /// Unfinished: run again.
    Unfinished,
    /// The gateway stopped it: credentials, float, circuit open.
    Stopped,
}

impl ExitStatus {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Incomplete => 3,
            Self::Unfinished => 4,
            Self::Stopped => 5,
        }
    }
}
