//! What the reply to a post says: it speaks of that post alone.

use super::transition::From;
use super::{Class, CodeMeaning, State, Step};

impl From<'_> {
    /// Applies the reply to a post of a payment that has not ended.
    pub(super) fn replied(&self, verdict: CodeMeaning) -> Step {
        match verdict.class {
            // It speaks of this post alone; an earlier one may have arrived, and what is refused may be no more than its repeat.
            Class::Failed if self.may_be_a_repeat() => self.told(CodeMeaning {
                class: Class::Refused,
                ..verdict
            }),
            Class::Paid
            | Class::Failed
            | Class::Refused
            | Class::Acknowledged
            | Class::Delivered
            | Class::NoFloat
            | Class::Duplicate
            | Class::NotFound
            | Class::InDoubt => self.told(verdict),
        }
    }

    /// Returns whether a post before the one that is replied to may have arrived.
    fn may_be_a_repeat(&self) -> bool {
        let may_be = match self.life.state {
            // The post that is replied to is not among the exposures yet.
            State::Ready | State::Posting => self.life.is_exposed(),
            // Something was learned before the reply, of whichever post.
            State::InDoubt
            | State::Acknowledged
            | State::Delivered
            | State::Paid
            | State::Failed
            | State::Cancelled
            | State::Conflict => true,
        };
        planted!(lifecycle::may_be_a_repeat(may_be))
    }
}
