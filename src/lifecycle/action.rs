//! State -> what to do next, and when it is due.

use crate::domain::Timestamp;

use super::{PaymentState, State};

/// The next thing to do about a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Post it, from this time on (`None`: at once).
    Post(Option<Timestamp>),
    /// Ask the gateway for its status, from this time on.
    Ask(Timestamp),
    /// Wait for a callback or an operator.
    Wait,
    /// Nothing: it has ended.
    Nothing,
}

impl PaymentState {
    /// Returns what to do next. State and due time alone decide.
    #[must_use]
    pub fn action(&self) -> Action {
        match self.state {
            State::Ready => Action::Post(self.due_at),
            State::InDoubt | State::Acknowledged | State::Delivered => {
                self.due_at.map_or(Action::Wait, Action::Ask)
            }
            State::Posting => Action::Wait,
            State::Paid | State::Failed | State::Cancelled | State::Conflict => Action::Nothing,
        }
    }
}
