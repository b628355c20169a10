//! What is read of a batch, its loads and its payments.

use super::load::RejectedRow;
use super::run::Lane;

use crate::domain::{
    BatchName, Currency, Originator, PayerTransactionId, Payment, PaymentId, ServiceCode, Tally,
    Timestamp,
};
use crate::journal::types::generations::{Undecided, Waiting, WaitsFor};
use crate::journal::{ChainHead, UnpricedRecord};
use crate::ledger::Purpose;
use crate::ledger::calendar::BatchDates;
use crate::ledger::confirmation::Bound;
use crate::ledger::generations::PaidTwice;
use crate::ledger::limits::{Ceiling, Reason};
use crate::ledger::payer::Lost;
use crate::ledger::pin::Destination;
use crate::ledger::set_aside::Withdrawal;
use crate::lifecycle::{Event, PaymentState, RecordedEvent, State};

/// Payments that a limit keeps from leaving, as the last run found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitedRows {
    /// The limit.
    pub reason: Reason,
    /// Count and amounts.
    pub tally: Tally,
    /// When the first of them is looked at again.
    pub until: Timestamp,
    /// The ceilings of that run that they are above, each once.
    pub ceilings: Vec<Ceiling>,
}

/// Counts and amounts of a batch per state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// When it may be posted.
    pub dates: BatchDates,
    /// What it was loaded for.
    pub purpose: Purpose,
    /// Per lane, currency and state.
    pub rows: Vec<StandingRow>,
    /// Rows set aside, which may be mended.
    pub rejected: Tally,
    /// Rows set aside, of which a person has decided that they are not paid.
    pub withdrawn: Tally,
    /// Rows of the files that are no payments, as a layout says.
    pub skipped: u64,
    /// Rows that leave their amount to the bill, and have none yet.
    pub unpriced: u64,
    /// Lanes held for want of float.
    pub held: Vec<Lane>,
    /// Rows that were paid more than once, the first [`PAID_TWICE_SHOWN`](crate::journal::PAID_TWICE_SHOWN) of them.
    pub paid_twice: Vec<PaidTwice>,
    /// How many these are in all.
    pub paid_twice_count: u64,
    /// Payments that are paid or in conflict, and beside which a retry of their row has left, the first [`WAITING_SHOWN`](crate::journal::WAITING_SHOWN) of them.
    pub undecided: Vec<Undecided>,
    /// How many these are in all.
    pub undecided_count: u64,
    /// How many failures have a row in another batch that was loaded since, by these batches.
    pub loaded_anew: Vec<(String, u64)>,
    /// Retries that are held back, and ended payments that are asked about again, the first
    /// [`WAITING_SHOWN`](crate::journal::WAITING_SHOWN) of each.
    pub waiting: Vec<Waiting>,
    /// How many these are in all.
    pub waiting_count: u64,
    /// Payments among them that wait until the recovery of the journal is declared done.
    pub until_done: u64,
    /// Payments among them that have ended unpaid, and were spoken of otherwise since.
    pub doubtful: u64,
    /// Payments about which the gateway named another amount, currency or number than ours.
    pub named_otherwise: u64,
    /// How far the evidence reaches.
    pub evidence: ChainHead,
    /// Where it was run, or else where it is to go, as far as that is known.
    pub destination: Option<Destination>,
    /// The gateway that it is bound to; `None` before its first run.
    pub gateway: Option<String>,
    /// The account there.
    pub account: Option<String>,
}

/// One line of a [`Standing`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingRow {
    /// The service.
    pub service: ServiceCode,
    /// The state.
    pub state: State,
    /// The currency.
    pub currency: Currency,
    /// Count and amount.
    pub tally: Tally,
}

/// Where a batch stands, in one look, and how far a confirmation of it reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its figures.
    pub standing: Standing,
    /// What came later is not confirmed with them.
    pub bound: Bound,
    /// Batches that are missing, for which it may wait.
    pub lost: Lost,
}

impl Shown {
    /// Returns what is still to be posted, or in doubt: what a person confirms.
    #[must_use]
    pub fn open(&self) -> Tally {
        let mut open = Tally::default();
        for state in [State::Ready, State::Posting, State::InDoubt] {
            open.add_all(&self.standing.of(state));
        }
        open
    }
}

/// What is on record of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRecord {
    /// Its name.
    pub name: BatchName,
    /// Who pays.
    pub originator: Originator,
    /// The first load.
    pub created_at: Timestamp,
    /// What it was loaded for.
    pub purpose: Purpose,
    /// The gateway it was started with.
    pub gateway: Option<String>,
    /// The account it belongs to; `None` before its first run, and where an earlier version ran it last.
    pub account: Option<String>,
    /// The files it was loaded from.
    pub loads: Vec<LoadRecord>,
}

/// One file that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRecord {
    /// Its name.
    pub source: String,
    /// Its digest.
    pub digest: String,
    /// When.
    pub loaded_at: Timestamp,
    /// Rows that became payments.
    pub accepted: u64,
    /// Rows set aside.
    pub rejected: u64,
}

/// A payment with where it stands.
#[derive(Clone, Debug)]
pub struct PaymentRecord {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// The instruction.
    pub payment: Payment,
    /// Where it stands.
    pub life: PaymentState,
    /// When it reached its end.
    pub settled_at: Option<Timestamp>,
    /// The latest words of the gateway.
    pub gateway_transaction_id: Option<String>,
    /// `receiptNumber`.
    pub receipt_number: Option<String>,
    /// The `receiptNumber` that came with a delivery to the bank (148).
    pub application_id: Option<String>,
    /// `receiverNarration`.
    pub receiver_narration: Option<String>,
    /// `statusDescription`.
    pub status_description: Option<String>,
    /// What operators decided of earlier payments of the same row, oldest first.
    pub earlier_decisions: Vec<String>,
    /// An operator's decision that ended it: who, what, reason and evidence.
    pub decision: Option<String>,
    /// The identifier of the proven failure that this one replaces.
    pub replaces: Option<PayerTransactionId>,
    /// An earlier generation came into conflict after it had been replaced; it stays so when that was decided as paid.
    pub earlier_conflict: bool,
    /// What the gateway named of it that is not ours, last.
    pub named_otherwise: Option<String>,
    /// The identifier of the retry that replaced it, before it proved to be what stands for its row.
    pub replaced_by: Option<PayerTransactionId>,
    /// Where the last payment of its row stands, where it has been replaced.
    pub row_stands: Option<State>,
    /// What it waits for before it may leave.
    pub waits_for: Option<WaitsFor>,
    /// Of what failed: rows of the same debt that were loaded since.
    pub loaded_anew: Vec<Linked>,
}

/// A row of the same debt in another load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// The payment that stands for it.
    pub id: PayerTransactionId,
    /// Its batch.
    pub batch: String,
    /// Where it stands.
    pub state: &'static str,
}

/// One row of a report: a payment or a rejected row, in the order of the files.
#[allow(clippy::large_enum_variant, reason = "one at a time, and never kept")]
#[derive(Clone, Debug)]
pub enum ReportRow {
    /// A payment.
    Payment(Box<PaymentRecord>),
    /// A row without an amount.
    Unpriced(Box<UnpricedRecord>),
    /// A row set aside.
    Rejected(RejectedRow),
    /// A row set aside that is not paid, by a person's decision.
    Withdrawn(RejectedRow, Withdrawal),
}

/// One piece of evidence, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// When it was recorded.
    pub at: Timestamp,
    /// The evidence.
    pub event: Option<Event>,
    /// What it means to the life of the payment.
    pub fact: RecordedEvent,
    /// Its kind, in words.
    pub kind: &'static str,
    /// Why it did not fit.
    pub anomaly: Option<String>,
    /// What else was said, as JSON.
    pub detail: Option<String>,
}
