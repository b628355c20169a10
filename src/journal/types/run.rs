//! What a run and the listener take and give.

use super::runners::Runner;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    BatchId, Country, Epoch, LaneId, Money, PayerTransactionId, Payment, PaymentId,
    ResponseDetails, ServiceCode, Timestamp,
};
use crate::ledger::HeldFor;
use crate::ledger::approval::rule::Rule;
use crate::ledger::approval::text::Target;
use crate::ledger::calendar::{BatchDates, Calendar};
use crate::ledger::confirmation::{Bound, Confirmation};
use crate::ledger::due::Reach;
use crate::ledger::limits::Limits;
use crate::ledger::pace::Last;
use crate::ledger::pin::Destination;
use crate::lifecycle::{Event, PaymentState, State};

pub use crate::ledger::evidence::Heard;

/// Where a batch belongs: what it is tied to before anything of it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The gateway's identity.
    pub gateway: String,
    /// The settings that shape the bytes of a post.
    pub wire: String,
    /// The account at the gateway: its user name, which is no secret.
    pub account: String,
    /// The profile of the configuration that names both.
    pub profile: String,
    /// Digest of how replies are read.
    pub reading: String,
    /// A person has ordered that they are read so from now on.
    pub accepts_reading: bool,
}

impl Home {
    /// Returns it as the destination of a batch.
    #[must_use]
    pub fn destination(&self) -> Destination {
        Destination {
            gateway: self.gateway.clone(),
            user: self.account.clone(),
            profile: self.profile.clone(),
        }
    }

    /// Returns what of it stands in a text that is signed.
    #[must_use]
    pub fn target(&self) -> Target {
        Target::of(&self.gateway, &self.account, &self.reading)
    }
}

/// An order that a batch belongs to another account: the same one under another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountMove {
    /// The account on record when it was asked.
    pub from: String,
    /// The account that is configured.
    pub to: String,
    /// A payment of the batch that the gateway told the new account about.
    pub witness: PayerTransactionId,
    /// The profile that names it.
    pub profile: String,
    /// Why, in the words of whoever ordered it.
    pub reason: String,
}

/// An order that a batch of which nothing can be anywhere goes elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// Where it goes.
    pub home: Home,
    /// The order names the gateway.
    pub gateway: bool,
    /// The order names the account.
    pub account: bool,
    /// Why, in the words of whoever ordered it.
    pub reason: String,
}

/// An order that a batch belongs to another address of its gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayMoved {
    /// The address on record when it was asked.
    pub from: String,
    /// The address that is configured.
    pub to: String,
    /// A payment of the batch that the new address knows; `None`: nothing of the batch can be at the old one.
    pub witness: Option<PayerTransactionId>,
    /// The profile that names it.
    pub profile: String,
    /// Why, in the words of whoever ordered it.
    pub reason: String,
}

/// What a run brings along when it takes a batch.
#[derive(Clone, Debug)]
pub struct RunTerms {
    /// Where it goes.
    pub home: Home,
    /// What a person confirmed: no more than that is posted.
    pub confirmation: Confirmation,
    /// The rule of approval of now; those of the loads hold beside it.
    pub approval: Option<Rule>,
    /// Where posts go, to tell a person in a refusal. No query may be put off beyond this.
    pub longest_wait: Duration,
    /// How long after the restart an unknown payment is asked about first.
    pub first_query_after: Duration,
    /// When the services of its rows are open.
    pub calendar: Arc<Calendar>,
    /// What limits its payments.
    pub limits: Option<Arc<Limits>>,
    /// Who runs it.
    pub runner: Runner,
    /// The time.
    pub now: Timestamp,
    /// What the clock shows by which the run dates what it hears; `None` where each of its words has a time of its own. A store that several
    /// machines share compares it with its own clock.
    pub shows: Option<Timestamp>,
}

impl RunTerms {
    /// Returns how far the waits of the run reach as it begins.
    pub(in crate::journal) fn reach(&self) -> Reach {
        Reach::of(self.now, self.longest_wait, self.first_query_after)
    }
}

/// A batch taken by a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunToken {
    pub(in crate::journal) batch_id: BatchId,
    pub(in crate::journal) epoch: Epoch,
    /// By the confirmation of the run, and by the signatures.
    pub(in crate::journal) confirmed: Bound,
    /// By the signatures alone.
    pub(in crate::journal) approved: Bound,
    /// The dates of the batch that they cover.
    pub(in crate::journal) dates: BatchDates,
}

/// What [`crate::journal::Journal::acquire`] found.
#[derive(Clone, Debug)]
pub struct Acquired {
    /// Proof of the run's right to claim.
    pub token: RunToken,
    /// When the last intent of an earlier run was recorded.
    pub last_claim_at: Option<Timestamp>,
    /// The last post that a run of any batch sent to its account.
    pub last_post: Last,
    /// The last question, alike.
    pub last_question: Last,
    /// Intents without an outcome, now in doubt.
    pub abandoned: u64,
    /// Lanes that wait for float.
    pub held: Vec<Lane>,
}

/// A service code as the journal numbers it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane {
    /// The journal's number.
    pub id: LaneId,
    /// The service.
    pub service: ServiceCode,
    /// Why it is held, or was.
    pub held_for: HeldFor,
}

/// A payment claimed for posting: its intent is on disk.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// Its lane.
    pub lane: LaneId,
    /// The instruction.
    pub payment: Arc<Payment>,
    /// The document that the file service has of it; every post of the payment names the same.
    pub support_document: Option<String>,
    /// It is looked at once more just before it leaves: an earlier post of it may have arrived, or an earlier generation of its
    /// row, or another row of its debt, may prove paid until then.
    pub looked_at_last: bool,
    /// It leaves before this time, or not by this claim: its service closes, or the batch is over.
    pub leave_by: Option<Timestamp>,
}

/// Other dates for a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatesOrder {
    /// Those that it has, as they were shown.
    pub before: BatchDates,
    /// Those that it gets.
    pub after: BatchDates,
    /// Why; it is kept as evidence.
    pub reason: String,
}

/// A payment that is due to be asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// Its identifier.
    pub id: PayerTransactionId,
    /// The gateway's identifier, when it is known.
    pub gateway_transaction_id: Option<String>,
    /// The row's country: one request asks about payments of one country.
    pub country: Country,
    /// Until when nobody else asks.
    pub until: Timestamp,
}

/// Evidence about one payment, to be recorded.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// The evidence.
    pub event: Event,
    /// What was said with it.
    pub said: ResponseDetails,
    /// Of what a run was answered: until when nobody else was to ask.
    pub asked: Option<Timestamp>,
}

/// How a payment moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// Its lane.
    pub lane: LaneId,
    /// Where it stood.
    pub from: State,
    /// What is known now.
    pub life: PaymentState,
    /// Its amount.
    pub money: Money,
    /// Whether what was heard last is about it.
    pub heard: Heard,
}

/// A callback that passed authentication.
#[derive(Clone, Debug)]
pub struct IncomingCallback {
    /// The identifier of the address it came to.
    pub id: PayerTransactionId,
    /// The verdict; `None` when the body is not one about this payment.
    pub event: Option<Event>,
    /// What was said with it.
    pub said: ResponseDetails,
    /// SHA-256 of the body: a repeat adds nothing.
    pub digest: [u8; 32],
    /// The body, as far as it is kept, when it could not be read.
    pub body: Option<String>,
}

/// Whose callbacks a listener reads, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadBy {
    /// The gateway of its profile; `None` where the profile has none.
    pub gateway: Option<String>,
    /// How its dialect reads, as [`Home::reading`].
    pub reading: String,
}

/// What became of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Stored; the payment may have moved.
    Stored(Option<Transition>),
    /// It had been stored before.
    Repeat,
    /// The journal has no such payment.
    Unknown,
    /// It changes nothing, and there are so many of its kind on record that it was not kept.
    TooMany,
}

/// When the next post and the next question are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The earliest post of an open lane.
    pub post: Option<Timestamp>,
    /// The earliest question.
    pub ask: Option<Timestamp>,
    /// A ready payment of an open lane waits for its document to be uploaded.
    pub document: bool,
    /// A ready payment of an open lane came after the confirmation of the run, and waits for one of its own.
    pub unconfirmed: bool,
    /// A ready payment of an open lane is not covered by the signatures that it needs.
    pub unapproved: bool,
    /// When the first of the ready payments may leave that wait for the time that their rows name, for the first date of the batch, or
    /// for their service to open.
    pub scheduled: Option<Timestamp>,
    /// Ready payments wait whose time is over: the last date of the batch, or hours that never come.
    pub over: bool,
    /// When the first of the ready payments of open lanes is looked at again that a limit keeps from leaving.
    pub limited: Option<Timestamp>,
    /// A lane waits until less is under way, in doubt or in conflict.
    pub exposed: bool,
}
