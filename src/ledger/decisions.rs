//! Whether an operator's word that a payment failed may stand.
//!
//! What is recorded as failed may be paid anew, under another identifier. So the gateway is asked first, and while it may
//! still execute the payment, a person's word alone does not end it.

use std::time::Duration;

use super::generations::Word;
use crate::domain::{Tally, Timestamp};
use crate::lifecycle::{Class, Event, PaymentState, Policy, State};

/// What the gateway said, when it was asked about the payment just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is paid.
    Paid,
    /// It failed.
    Failed,
    /// The gateway has it (139).
    Acknowledged,
    /// It is at the bank (148).
    Delivered,
    /// The gateway does not know it.
    NotFound,
    /// Something about a payment that somebody else made under our identifier, as far as anybody can tell.
    Strangers,
    /// No answer, or one that says nothing.
    Nothing,
    /// There is nobody to ask: the deployment has no status query.
    CannotBeAsked,
}

/// Whether an answer is about our payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// It names another amount, currency or number.
    pub other: bool,
    /// It names our amount and our number.
    pub recognised: bool,
    /// The gateway had the identifier before our first post.
    pub taken: bool,
}

impl Heard {
    /// Returns what a status reply, or its absence, says. What names another payment's amount or number says nothing of ours.
    #[must_use]
    pub fn of(event: Event, about: About) -> Self {
        let Event::Answer(verdict) = event else {
            return Self::Nothing;
        };
        match (verdict.class, about) {
            (
                Class::Paid | Class::Failed,
                About {
                    other: true,
                    taken: true,
                    ..
                },
            ) => Self::Strangers,
            (_, About { other: true, .. }) => Self::Nothing,
            // It was there before ours, which was refused: it is ours only where it names ours.
            (
                Class::Paid,
                About {
                    taken: true,
                    recognised: false,
                    ..
                },
            ) => Self::Strangers,
            (Class::Paid, _) => Self::Paid,
            (Class::Failed, _) => Self::Failed,
            (Class::Acknowledged, _) => Self::Acknowledged,
            (Class::Delivered, _) => Self::Delivered,
            (Class::NotFound, _) => Self::NotFound,
            (Class::Refused | Class::NoFloat | Class::Duplicate | Class::InDoubt, _) => {
                Self::Nothing
            }
        }
    }
}

impl Heard {
    /// Returns it in words, as evidence keeps it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Failed => "failed",
            Self::Acknowledged => "acknowledged",
            Self::Delivered => "delivered",
            Self::NotFound => "not found",
            Self::Strangers => "somebody else's payment",
            Self::Nothing => "nothing usable",
            Self::CannotBeAsked => "cannot be asked",
        }
    }
}

/// What a decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// What the gateway said; `None`: nobody asked, as nothing had left by then.
    pub heard: Option<Heard>,
    /// Something else was learned of the payment since the question.
    pub learned: bool,
    /// The gateway, or a genuine callback, has said of it that it is paid.
    pub said_paid: bool,
    /// A statement has shown that its money left.
    pub shown_paid: bool,
    /// The operator says that it is to fail although the gateway accepted it, or cannot be asked.
    pub although: bool,
}

/// Why a payment is not recorded as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The gateway says that it is paid.
    IsPaid,
    /// Something was learned since the question: the decision rests on what is no longer so.
    LearnedMeanwhile,
    /// "Not found" proves nothing before then.
    TooEarlyForNotFound(Timestamp),
    /// It may still be executed; before then no decision may stand.
    TooEarly(Heard, Timestamp),
    /// It may still be executed: that takes the operator's second word.
    TakesASecondWord(Heard),
    /// It was called paid before, and is not now: that takes the operator's second word.
    WasSaidToBePaid(Heard),
}

/// Returns whether the gateway is asked before a decision that the payment failed: it may have arrived there.
#[must_use]
pub fn is_asked_first(life: &PaymentState) -> bool {
    match life.state {
        State::InDoubt | State::Acknowledged | State::Delivered | State::Conflict => true,
        State::Ready => life.is_exposed(),
        State::Posting | State::Paid | State::Failed | State::Cancelled => false,
    }
}

/// Returns a payment as a decision has to see it where the journal may have missed what was posted until it was `noticed`: a post
/// that is not on record may have left then.
#[must_use]
pub fn as_missed(life: &PaymentState, noticed: Option<Timestamp>) -> PaymentState {
    match noticed {
        Some(noticed) => PaymentState {
            posted_at: life.posted_at.max(Some(noticed)),
            quarantine_from: life.quarantine_from.max(Some(noticed)),
            ..*life
        },
        None => *life,
    }
}

/// Returns whether a payment may be recorded as failed on an operator's word.
///
/// `life` is what is known with the gateway's answer. Whether its state allows a decision at all, the lifecycle says.
///
/// # Errors
/// [`Refusal`].
pub fn may_fail(
    life: &PaymentState,
    asked: Asked,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Refusal> {
    planted_instead!(ledger::may_fail());
    if asked.heard == Some(Heard::Paid) {
        return Err(Refusal::IsPaid);
    }
    if asked.learned {
        return Err(Refusal::LearnedMeanwhile);
    }
    match asked.heard {
        None if is_asked_first(life) => Err(Refusal::LearnedMeanwhile),
        None => Ok(()),
        Some(Heard::Failed) if (asked.said_paid || asked.shown_paid) && !asked.although => {
            Err(Refusal::WasSaidToBePaid(Heard::Failed))
        }
        Some(Heard::Failed) => Ok(()),
        Some(Heard::Strangers) if !asked.although => {
            Err(Refusal::TakesASecondWord(Heard::Strangers))
        }
        Some(Heard::Strangers) => Ok(()),
        Some(Heard::NotFound) if !life.known && !asked.said_paid => {
            let proves_from = policy.quarantine_ends(life);
            if now < proves_from {
                return Err(Refusal::TooEarlyForNotFound(proves_from));
            }
            match asked.shown_paid && !asked.although {
                true => Err(Refusal::WasSaidToBePaid(Heard::NotFound)),
                false => Ok(()),
            }
        }
        // What the gateway has shown to have, it may execute, whatever it says now.
        Some(heard) => {
            let from = given_up_at(life, heard, policy);
            if from.is_some_and(|from| now < from) {
                return Err(Refusal::TooEarly(heard, from.unwrap_or(now)));
            }
            match asked.although {
                true => Ok(()),
                false if asked.said_paid => Err(Refusal::WasSaidToBePaid(heard)),
                false => Err(Refusal::TakesASecondWord(heard)),
            }
        }
    }
}

/// Returns whether a payment that stands as failed is open to a decision all the same; see [`super::failure`]. `retried`: a
/// retry of its row has not ended.
#[must_use]
pub fn is_open(word: Word, retried: bool) -> bool {
    match word {
        Word::TakenBack | Word::Elsewhere { taken_back: true } => true,
        Word::Person { .. } | Word::Elsewhere { taken_back: false } => retried,
        Word::Gateway | Word::Both => false,
    }
}

/// When a payment that may still be executed has had its time; `None`: it was never posted.
fn given_up_at(life: &PaymentState, heard: Heard, policy: &Policy) -> Option<Timestamp> {
    // What an earlier journal may have posted counts from its load; a delivery from its own moment.
    let delivered = heard == Heard::Delivered || life.state == State::Delivered;
    let (since, longest): (Option<Timestamp>, Duration) = match delivered {
        true => (
            life.posted_at.max(life.quarantine_from),
            policy.delivered_give_up_after,
        ),
        false => (
            life.posted_at.or(life.quarantine_from),
            policy.give_up_after,
        ),
    };
    since.map(|since| since.after(longest))
}

/// Counts and amounts of payments that an order is about, each with the code that they have.
pub type ByCode = Vec<(Option<i32>, Tally)>;

/// Returns whether an order is about no more than what was shown before it was confirmed.
#[must_use]
pub fn is_within(shown: &ByCode, found: &ByCode) -> bool {
    let is_within = found.iter().all(|(code, found)| {
        let shown = shown.iter().find(|(shown, _)| shown == code);
        shown.is_some_and(|(_, shown)| {
            let fits = |(currency, minor)| minor <= shown.amounts.minor(currency);
            found.count <= shown.count && found.amounts.iter().all(fits)
        })
    });
    planted!(ledger::is_within(is_within))
}

#[cfg(test)]
mod tests;
