//! What may happen to one payment, as a pure function: no clock, no randomness, no I/O.
//!
//! [`step`] takes what is known of a payment and one piece of evidence, and returns what is known then.
//! State alone decides the next action ([`PaymentState::action`]); evidence alone moves it.
#![deny(clippy::wildcard_enum_match_arm)]

mod action;
mod codes;
mod fold;
mod policy;
mod replied;
mod taken;
mod transition;

#[cfg(test)]
mod tests;

pub use action::Action;
pub use codes::{Class, CodeTable};
pub use fold::{RecordedEvent, fold, proven};
pub use policy::{Policy, SettleOn};
pub use transition::step;

use crate::domain::Timestamp;

/// Where a payment stands. Rows that never passed validation have no life: they are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Safe to post.
    Ready,
    /// The intent is on disk; bytes may have left.
    Posting,
    /// The outcome is unknown.
    InDoubt,
    /// The gateway has it (139).
    Acknowledged,
    /// At the bank, not settled (148).
    Delivered,
    /// Final: the money moved.
    Paid,
    /// Final: proven by a reply about this identifier.
    Failed,
    /// Withdrawn by the operator before it was ever posted.
    Cancelled,
    /// Two pieces of final evidence disagree; an operator decides.
    Conflict,
}

impl State {
    /// Every state, in the order of a payment's life.
    pub const ALL: [Self; 9] = [
        Self::Ready,
        Self::Posting,
        Self::InDoubt,
        Self::Acknowledged,
        Self::Delivered,
        Self::Paid,
        Self::Failed,
        Self::Cancelled,
        Self::Conflict,
    ];

    /// Returns what the state says to a reader who does not know the program.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Ready => "not sent yet",
            Self::Posting => "being sent",
            Self::InDoubt => "outcome unknown",
            Self::Acknowledged => "accepted, not settled",
            Self::Delivered => "at the bank, not settled",
            Self::Paid => "paid",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Conflict => "answers disagree",
        }
    }

    /// Returns the name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Posting => "posting",
            Self::InDoubt => "in_doubt",
            Self::Acknowledged => "acknowledged",
            Self::Delivered => "delivered",
            Self::Paid => "paid",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Conflict => "conflict",
        }
    }

    /// Returns whether nothing more is to be done or waited for by a run.
    ///
    /// A conflict counts: only an operator's decision moves it.
    #[must_use]
    pub fn is_finished(self) -> bool {
        match self {
            Self::Paid | Self::Failed | Self::Cancelled | Self::Conflict => true,
            Self::Ready | Self::Posting | Self::InDoubt | Self::Acknowledged | Self::Delivered => {
                false
            }
        }
    }

    /// Returns whether the gateway is asked about payments in this state.
    #[must_use]
    pub fn is_asked_about(self) -> bool {
        match self {
            Self::InDoubt | Self::Acknowledged | Self::Delivered => true,
            Self::Ready
            | Self::Posting
            | Self::Paid
            | Self::Failed
            | Self::Cancelled
            | Self::Conflict => false,
        }
    }
}

/// What is known of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaymentState {
    /// Where it stands.
    pub state: State,
    /// The code that proved the state. In doubt, a refusal that a status reply has yet to confirm.
    pub code: Option<i32>,
    /// How many intents to post were recorded.
    pub attempts: u32,
    /// When the last intent was recorded.
    pub posted_at: Option<Timestamp>,
    /// How many attempts may have reached the gateway without a definite outcome.
    pub exposures: u32,
    /// The gateway has shown that it has this identifier: "not found" can no longer mean that it never arrived.
    pub known: bool,
    /// The gateway had the identifier before our first post: what it has may be somebody else's payment.
    pub taken: bool,
    /// How many times in a row "not found" was heard after the quarantine.
    pub not_found: u8,
    /// When the quarantine of "not found" began; of a delivered payment, when it was delivered.
    pub quarantine_from: Option<Timestamp>,
    /// Queries in a row that changed nothing; they stretch the backoff.
    pub queries: u32,
    /// When the next action is due; `None` when there is none, or nothing to wait for.
    pub due_at: Option<Timestamp>,
}

impl PaymentState {
    /// A payment that was loaded and never sent.
    pub const NEW: Self = Self {
        state: State::Ready,
        code: None,
        attempts: 0,
        posted_at: None,
        exposures: 0,
        known: false,
        taken: false,
        not_found: 0,
        quarantine_from: None,
        queries: 0,
        due_at: None,
    };

    /// Returns whether some attempt may have reached the gateway.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        self.exposures > 0
    }
}

/// What a status code said of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeMeaning {
    /// The code's class, from the [`CodeTable`].
    pub class: Class,
    /// The code itself.
    pub code: i32,
}

/// One piece of evidence about a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The intent to post is recorded.
    Claimed,
    /// The post is proven never to have left.
    Unsent,
    /// The gateway did not let us in (132): nothing was executed.
    Unauthorised,
    /// The post may have arrived; its outcome is unknown.
    Lost,
    /// A new run found the intent without an outcome.
    Abandoned,
    /// The reply to the post has an entry about this identifier.
    Reply(CodeMeaning),
    /// A status reply has an entry about this identifier.
    Answer(CodeMeaning),
    /// A status query brought nothing about this identifier.
    NoAnswer,
    /// An authenticated callback about this identifier.
    Callback(CodeMeaning),
    /// An operator decided, on evidence from outside: it was paid.
    DecidedPaid,
    /// An operator decided, on evidence from outside: it failed.
    DecidedFailed,
    /// An operator withdrew it.
    Withdrawn,
    /// The gateway names our amount and our number: what it has under our identifier is ours.
    Recognised,
    /// Nothing that the gateway has told, or will tell, of the identifier is known to be about ours.
    NotOurs,
    /// An earlier generation of its row is paid: this one must not leave any more.
    Superseded,
    /// That the gateway did not find it was heard too long ago to be posted on.
    Outdated,
    /// The gateway has spoken of it otherwise since it called it failed, and an operator decides.
    Reopened,
    /// A statement of what the money did shows it paid.
    ShownPaid,
}

/// Evidence that does not fit what is known. It is recorded, and never overwrites a final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Anomaly {
    /// A second claim of a payment that is not ready.
    #[error("a post was claimed although the payment was not ready")]
    NotReady,
    /// Final evidence against final evidence.
    #[error("final evidence contradicts earlier final evidence")]
    Contradiction,
    /// "Not found" about a payment that the gateway has shown to have.
    #[error("the gateway says \"not found\" about a payment that it has acknowledged before")]
    Forgotten,
    /// A refusal of a payment that the gateway had accepted.
    #[error("the gateway refuses a payment that it had accepted")]
    RefusedAfterAcceptance,
    /// The gateway speaks of a payment that was never posted.
    #[error("the gateway knows a payment that was never posted, or whose post it had not taken")]
    NeverPosted,
    /// The gateway has had the identifier since before our first post.
    #[error(
        "the gateway had this identifier before our first post: it may be somebody else's payment"
    )]
    Taken,
    /// The operator's act does not fit the state.
    #[error("the payment's state does not allow this")]
    NotAllowed,
}

/// What [`step`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is known now.
    pub life: PaymentState,
    /// What did not fit.
    pub anomaly: Option<Anomaly>,
}

/// When evidence arrived, and a random number to spread what follows.
#[derive(Clone, Copy, Debug)]
pub struct StepContext {
    /// The time, by the clock of the run.
    pub now: Timestamp,
    /// Any number; it shortens a backoff by up to a quarter.
    pub jitter: u8,
}
