//! What an operator's decision rests on, and what it is.

use crate::domain::{Country, EvidenceId, Money, PayerTransactionId, PaymentId};
use crate::journal::Transition;
use crate::ledger::decisions;
use crate::lifecycle::PaymentState;

/// What was known of a payment at one moment: a decision rests on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    pub(in crate::journal) evidence: EvidenceId,
    pub(in crate::journal) life: PaymentState,
}

/// A payment that an operator is about to decide.
#[derive(Clone, Debug)]
pub struct Looked {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// Its identifier.
    pub id: PayerTransactionId,
    /// Its amount.
    pub money: Money,
    /// The gateway's identifier, when it is known.
    pub gateway_transaction_id: Option<String>,
    /// The row's country.
    pub country: Country,
    /// The gateway that its batch is tied to.
    pub gateway: Option<String>,
    /// Where it stands.
    pub life: PaymentState,
    /// All that was known.
    pub seen: Seen,
    /// It stands as failed, and a retry of its row waits for what became of it, or the gateway has taken its word back.
    pub is_open: bool,
    /// It stands as failed by a person's word, and its batch was sent to another place since.
    pub sent_elsewhere: bool,
}

/// What came of the gateway's answer to an operator's question.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// How the payment moved by it.
    pub moved: Transition,
    /// What it says of the payment.
    pub heard: decisions::Heard,
    /// It names another amount, currency or number than ours.
    pub other: bool,
    /// Something else had been learned while it was asked for.
    pub learned: bool,
    /// What is known now.
    pub seen: Seen,
}

/// What an operator decides.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Paid, or failed.
    pub paid: bool,
    /// Why.
    pub reason: String,
    /// What it rests on: a statement line, a ticket.
    pub evidence: String,
}

/// One of several decisions that are recorded together.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// What was known of it.
    pub seen: Seen,
    /// What the gateway said of it, where it is to fail.
    pub asked: decisions::Asked,
    /// The decision.
    pub decision: Decision,
}

/// What withdrawing a whole batch would withdraw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToCancel {
    /// All of it.
    pub tally: crate::domain::Tally,
    /// Retries among it.
    pub retries: u64,
    /// What an earlier journal may have posted: it is asked about first.
    pub presumed: u64,
    /// What waits to be posted once more, and is left out: only a decision that asks the gateway first keeps it from that.
    pub posted_once: u64,
    /// One of them.
    pub posted_once_example: Option<crate::domain::PayerTransactionId>,
}

/// What became of the order to withdraw a whole batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cancelled {
    /// Payments that are withdrawn.
    pub withdrawn: u64,
    /// Payments that are withdrawn once the gateway does not know them.
    pub ordered: u64,
}

/// Rejected rows that are shown one by one before they are withdrawn.
pub const WITHDRAWN_SHOWN: usize = 20;

/// What an order to withdraw rejected rows would withdraw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToWithdraw {
    /// All of it, with the amounts that could be read.
    pub tally: crate::domain::Tally,
    /// The first of them, in the order of their files.
    pub rows: Vec<crate::journal::RejectedFound>,
}
