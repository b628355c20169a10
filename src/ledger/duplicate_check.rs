//! Whether a gateway refuses an identifier that it has: the second net below the journal, shown by one payment that is posted twice
//! on purpose. That is the only post which the journal does not rule out.

use crate::lifecycle::{Class, Event, PaymentState, State};

/// What a gateway made of the second post of one identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateCheck {
    /// It refused it as one that it has: the check is proven.
    Refuses,
    /// It took it like a first one: the money may have moved twice.
    Accepts,
    /// Its answer, or that there was none, says neither.
    Unclear,
}

impl DuplicateCheck {
    /// Every one, by the name that is kept.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::Refuses, "refuses"),
        (Self::Accepts, "accepts"),
        (Self::Unclear, "unclear"),
    ];

    /// Returns the name that is kept.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(check, _)| *check == self)
            .map_or("", |(_, name)| name)
    }

    /// Looks a kept name up.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(check, _)| *check)
    }

    /// Says what the second post came to.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Refuses => "the gateway refused it as a duplicate, and it moved no money",
            Self::Accepts => "THE GATEWAY TOOK IT: the amount may have left twice",
            Self::Unclear => "the answer shows neither, and the amount may have left twice",
        }
    }

    /// Judges what came of the second post.
    #[must_use]
    pub fn of(event: Event) -> Self {
        match event {
            Event::Reply(meaning) => match meaning.class {
                Class::Duplicate => Self::Refuses,
                Class::Acknowledged | Class::Delivered | Class::Paid => Self::Accepts,
                Class::Failed
                | Class::Refused
                | Class::NoFloat
                | Class::NotFound
                | Class::InDoubt => Self::Unclear,
            },
            Event::Claimed
            | Event::Unsent
            | Event::Unauthorised
            | Event::Lost
            | Event::Abandoned
            | Event::Answer(_)
            | Event::NoAnswer
            | Event::Callback(_)
            | Event::DecidedPaid
            | Event::DecidedFailed
            | Event::Withdrawn
            | Event::Recognised
            | Event::NotOurs
            | Event::Superseded
            | Event::Outdated
            | Event::Reopened
            | Event::ShownPaid => Self::Unclear,
        }
    }
}

/// Why a payment is not posted a second time on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotProbed {
    /// Its batch has other payments: only a batch of one row is made for it.
    HasOthers,
    /// The gateway has not said that it is paid, so that a refusal would show nothing.
    NotPaid,
    /// It has ended, and not as a first post that the gateway calls paid: it failed, was cancelled or decided, or was paid at a later
    /// post.
    EndedOtherwise,
    /// It was posted a second time already, whatever came of that: never a third time.
    PostedTwice,
    /// The journal may have missed something: the second post, too.
    Recovering,
}

/// Judges whether the one payment of a batch is posted a second time, on purpose.
///
/// # Errors
/// Why not.
pub fn judge(
    payments: i64,
    life: &PaymentState,
    posted_twice: bool,
    is_recovering: bool,
) -> Result<(), NotProbed> {
    match life {
        _ if posted_twice => Err(NotProbed::PostedTwice),
        _ if payments != 1 => Err(NotProbed::HasOthers),
        _ if is_recovering => Err(NotProbed::Recovering),
        // A person's decision has no code.
        life if life.state == State::Paid && life.code.is_some() && life.attempts == 1 => Ok(()),
        life if life.state.is_finished() => Err(NotProbed::EndedOtherwise),
        _ => Err(NotProbed::NotPaid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::CodeMeaning;

    #[test]
    fn only_a_refusal_as_a_duplicate_proves_the_check() {
        for (class, _) in Class::ALL {
            let expected = match class {
                Class::Duplicate => DuplicateCheck::Refuses,
                Class::Paid | Class::Acknowledged | Class::Delivered => DuplicateCheck::Accepts,
                _ => DuplicateCheck::Unclear,
            };
            let meaning = CodeMeaning { class, code: 1 };
            assert_eq!(
                DuplicateCheck::of(Event::Reply(meaning)),
                expected,
                "{class:?}"
            );
            // Said of something else than the second post.
            assert_eq!(
                DuplicateCheck::of(Event::Answer(meaning)),
                DuplicateCheck::Unclear
            );
        }
        for event in [Event::Lost, Event::Unsent, Event::Unauthorised] {
            assert_eq!(
                DuplicateCheck::of(event),
                DuplicateCheck::Unclear,
                "{event:?}"
            );
        }
        for (check, name) in DuplicateCheck::ALL {
            assert_eq!(
                (DuplicateCheck::from_name(name), check.name()),
                (Some(check), name)
            );
        }
        assert_eq!(DuplicateCheck::from_name("proven"), None);
    }

    #[test]
    fn one_payment_that_the_gateway_says_is_paid_is_posted_twice_and_never_three_times() {
        let paid = PaymentState {
            state: State::Paid,
            code: Some(140),
            attempts: 1,
            ..PaymentState::NEW
        };
        let decided = PaymentState { code: None, ..paid };
        let exposed = PaymentState {
            attempts: 2,
            ..paid
        };
        let failed = PaymentState {
            state: State::Failed,
            ..paid
        };
        let open = PaymentState {
            state: State::Acknowledged,
            ..paid
        };
        for (payments, life, twice, recovering, expected) in [
            (1, paid, false, false, Ok(())),
            (1, paid, true, false, Err(NotProbed::PostedTwice)),
            (1, open, true, true, Err(NotProbed::PostedTwice)),
            (2, paid, false, false, Err(NotProbed::HasOthers)),
            (0, paid, false, false, Err(NotProbed::HasOthers)),
            (1, paid, false, true, Err(NotProbed::Recovering)),
            (1, decided, false, false, Err(NotProbed::EndedOtherwise)),
            (1, failed, false, false, Err(NotProbed::EndedOtherwise)),
            (1, open, false, false, Err(NotProbed::NotPaid)),
            (1, PaymentState::NEW, false, false, Err(NotProbed::NotPaid)),
            // An earlier post of it was lost: it may be there twice as it is.
            (1, exposed, false, false, Err(NotProbed::EndedOtherwise)),
        ] {
            let found = judge(payments, &life, twice, recovering);
            assert_eq!(found, expected, "{payments} {life:?} {twice} {recovering}");
        }
    }
}
