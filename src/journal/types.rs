//! What the verbs take and give.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    Amount, BatchName, Currency, Instruction, Money, Originator, PayerTransactionId, Payment, Said,
    ServiceCode, Tally, Timestamp, Unpriced, Uptime,
};
use crate::journal::{ChainHead, UnpricedRecord};
use crate::lifecycle::{Event, Fact, Life, State};

/// One row of a file on its way into the journal.
#[derive(Clone, Debug)]
pub enum Incoming {
    /// A valid row.
    Good(Instruction),
    /// A valid row that leaves its amount to the bill.
    Unpriced(Unpriced),
    /// A row that did not pass validation; it is kept only when bad rows are skipped.
    Bad(RejectedRow),
    /// The file was read to its end. Without this mark nothing is loaded: whoever reads it may have failed half way.
    End,
}

/// A row that did not pass validation, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectedRow {
    /// Line of the file.
    pub line: u64,
    /// Its `reference`.
    pub reference: String,
    /// Its `service_code`.
    pub service_code: String,
    /// Its `msisdn`.
    pub msisdn: String,
    /// Its `account_number`.
    pub account_number: String,
    /// Its `amount`, as it was written.
    pub amount_text: String,
    /// Its `currency_code`.
    pub currency_code: String,
    /// Amount and currency, when both could be read.
    pub money: Option<Money>,
    /// What is wrong with it.
    pub errors: String,
}

/// How a file is to be loaded.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// The batch's name.
    pub batch: BatchName,
    /// Who pays.
    pub originator: Originator,
    /// The file's name, for the record.
    pub source: String,
    /// The time of the load; it becomes `datePaymentReceived`.
    pub now: Timestamp,
    /// Add rows that are new to a batch that exists.
    pub amend: bool,
    /// Equal rows without a reference are payments of their own.
    pub allow_equal_rows: bool,
    /// The same rows may already stand under another batch's name.
    pub allow_same_content: bool,
    /// Keep the good rows and set the bad ones aside, rather than refuse the file.
    pub skip_bad_rows: bool,
    /// Earlier posts may have left although this journal knows of none: ask before posting.
    pub presume_posted: bool,
    /// Declared number of rows.
    pub expect_count: Option<u64>,
    /// Declared total of one currency.
    pub expect_total: Option<(Currency, Amount)>,
    /// Do everything, and commit nothing.
    pub dry_run: bool,
}

/// A mistake that only shows when all rows are seen together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateError {
    /// Line of the file.
    pub line: u64,
    /// The column it is about; empty for the whole row.
    pub column: &'static str,
    /// What was expected, and what was found.
    pub message: String,
}

/// What became of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The rows are in the journal (or would be, in a dry run).
    New(LoadSummary),
    /// The very same file is there already; nothing was changed.
    AlreadyThere(LoadSummary),
    /// Nothing was loaded.
    Refused(LoadRefusal),
}

/// What a loaded file adds up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// Valid rows by service and currency.
    pub accepted: Vec<(ServiceCode, Currency, Tally)>,
    /// Rows among them, and among the unchanged ones, that have no amount yet.
    pub unpriced: u64,
    /// Rows set aside, with the amounts that could be read.
    pub rejected: Tally,
    /// Mistakes that were found when all rows had been seen, in skipped rows.
    pub late: Vec<LateError>,
    /// Rows of an amendment that were there before.
    pub unchanged: u64,
}

impl LoadSummary {
    /// Returns the sum over the valid rows.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        for (_, _, tally) in &self.accepted {
            total.add_all(tally);
        }
        total
    }
}

/// Why nothing was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadRefusal {
    /// Rows that did not pass validation; the late ones are listed here, the others came with the rows.
    BadRows {
        /// How many rows the file has that failed validation by themselves.
        rejected: u64,
        /// Mistakes found when all rows had been seen.
        late: Vec<LateError>,
    },
    /// The file has no rows.
    NoRows,
    /// The file was not read to its end.
    Unreadable,
    /// The batch exists with other rows.
    OtherContent(Difference),
    /// The batch belongs to another originator.
    OtherOriginator(String),
    /// The same rows stand under another batch's name.
    SameContent(String),
    /// The declared number of rows differs.
    Count {
        /// Declared.
        expected: u64,
        /// In the file.
        found: u64,
    },
    /// So many rows that are there already have no amount yet, and were loaded without this declared total.
    TotalOpen(u64),
    /// The declared total differs.
    Total {
        /// Declared.
        expected: String,
        /// In the file.
        found: String,
    },
}

/// How a file differs from the batch it claims to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Rows of the file that the batch does not have.
    pub new: u64,
    /// Rows of the batch that the file does not have.
    pub gone: u64,
    /// Rows with a reference of the batch and other content.
    pub changed: u64,
    /// The first few of each, as `new: line 7, reference EMP-7`.
    pub examples: Vec<String>,
}

/// What a run brings along when it takes a batch.
#[derive(Clone, Debug)]
pub struct RunTerms {
    /// The gateway's identity.
    pub gateway: String,
    /// The settings that shape the bytes of a post.
    pub wire: String,
    /// Where posts go, to tell a person in a refusal. No query may be put off beyond this.
    pub longest_wait: Duration,
    /// How long after the restart an unknown payment is asked about first.
    pub first_query_after: Duration,
    /// The time.
    pub now: Timestamp,
}

/// A batch taken by a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunToken {
    pub(super) batch_id: i64,
    pub(super) epoch: i64,
}

/// What [`super::Journal::acquire`] found.
#[derive(Clone, Debug)]
pub struct Acquired {
    /// Proof of the run's right to claim.
    pub token: RunToken,
    /// When the last intent of an earlier run was recorded.
    pub last_claim_at: Option<Timestamp>,
    /// Since when no post of an earlier run has left; `None` when that is not known.
    pub resting: Option<Uptime>,
    /// Intents without an outcome, now in doubt.
    pub abandoned: u64,
    /// Lanes that wait for float.
    pub held: Vec<Lane>,
}

/// A service code as the journal numbers it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lane {
    /// The journal's number.
    pub id: i64,
    /// The service.
    pub service: ServiceCode,
}

/// A payment claimed for posting: its intent is on disk.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The journal's number of the payment.
    pub seq: i64,
    /// Its lane.
    pub lane: i64,
    /// The instruction.
    pub payment: Arc<Payment>,
    /// The document that the file service has of it; every post of the payment names the same.
    pub support_document: Option<String>,
    /// An earlier post may have arrived: evidence about it may come until this one leaves.
    pub repeat: bool,
}

/// A payment that is due to be asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The journal's number of the payment.
    pub seq: i64,
    /// Its identifier.
    pub id: PayerTransactionId,
    /// The gateway's identifier, when it is known.
    pub gateway_transaction_id: Option<String>,
}

/// Evidence about one payment, to be recorded.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The journal's number of the payment.
    pub seq: i64,
    /// The evidence.
    pub event: Event,
    /// What was said with it.
    pub said: Said,
}

/// How a payment moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The journal's number of the payment.
    pub seq: i64,
    /// Its lane.
    pub lane: i64,
    /// Where it stood.
    pub from: State,
    /// What is known now.
    pub life: Life,
    /// Its amount.
    pub money: Money,
}

/// A callback that passed authentication.
#[derive(Clone, Debug)]
pub struct CallbackNote {
    /// The identifier of the address it came to.
    pub id: PayerTransactionId,
    /// The verdict; `None` when the body is not one about this payment.
    pub event: Option<Event>,
    /// The amount it names, as text.
    pub amount: Option<String>,
    /// What was said with it.
    pub said: Said,
    /// SHA-256 of the body: a repeat adds nothing.
    pub digest: [u8; 32],
}

/// What became of a callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Stored; the payment may have moved.
    Stored(Option<Moved>),
    /// It had been stored before.
    Repeat,
    /// The journal has no such payment.
    Unknown,
    /// The payment has more callbacks on record than any honest gateway sends.
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
}

/// Counts and amounts of a batch per state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Per lane, currency and state.
    pub rows: Vec<StandingRow>,
    /// Rows set aside.
    pub rejected: Tally,
    /// Rows that leave their amount to the bill, and have none yet.
    pub unpriced: u64,
    /// Lanes held for want of float.
    pub held: Vec<Lane>,
    /// Proven failures that, after a retry had replaced them, came into conflict or were decided to be paid: perhaps paid twice.
    pub replaced_conflicts: u64,
    /// How far the evidence reaches.
    pub evidence: ChainHead,
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

impl Standing {
    /// Returns count and amounts of one state.
    #[must_use]
    pub fn of(&self, state: State) -> Tally {
        let mut sum = Tally::default();
        for row in self.rows.iter().filter(|row| row.state == state) {
            sum.add_all(&row.tally);
        }
        sum
    }

    /// Returns count and amounts of all rows, those set aside included.
    #[must_use]
    pub fn total(&self) -> Tally {
        let mut sum = self.rejected.clone();
        sum.count += self.unpriced;
        for row in &self.rows {
            sum.add_all(&row.tally);
        }
        sum
    }

    /// Returns whether every row has reached its end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let ended = |row: &StandingRow| row.state.is_finished() || row.tally.count == 0;
        self.unpriced == 0 && self.rows.iter().all(ended)
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
    /// The gateway it was started with.
    pub gateway: Option<String>,
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
    pub seq: i64,
    /// The instruction.
    pub payment: Payment,
    /// Where it stands.
    pub life: Life,
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
    /// An operator's decision that ended it: reason and evidence.
    pub decision: Option<String>,
    /// The identifier of the proven failure that this one replaces.
    pub replaces: Option<PayerTransactionId>,
    /// An earlier generation came into conflict after it had been replaced; it stays so when that was decided as paid.
    pub earlier_conflict: bool,
}

/// One row of a report: a payment or a rejected row, in the order of the files.
#[derive(Clone, Debug)]
pub enum ReportRow {
    /// A payment.
    Payment(Box<PaymentRecord>),
    /// A row without an amount.
    Unpriced(Box<UnpricedRecord>),
    /// A row set aside.
    Rejected(RejectedRow),
}

/// One piece of evidence, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailEntry {
    /// When it was recorded.
    pub at: Timestamp,
    /// The evidence.
    pub event: Option<Event>,
    /// What it means to the life of the payment.
    pub fact: Fact,
    /// Its kind, in words.
    pub kind: &'static str,
    /// Why it did not fit.
    pub anomaly: Option<String>,
    /// What else was said, as JSON.
    pub detail: Option<String>,
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
