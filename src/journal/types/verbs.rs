//! What the verbs take and give.

use super::runners::Runner;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    Amount, BatchId, BatchName, Country, Currency, Epoch, IdentifierForm, IdentifierScheme,
    Instruction, LaneId, Money, Originator, PayerTransactionId, Payment, PaymentId,
    ResponseDetails, ServiceCode, Tally, Timestamp, Unpriced,
};
use crate::journal::types::generations::{ChangedRows, Waiting, WaitsFor};
use crate::journal::types::refusal::{CrossRowError, LoadRefusal};
use crate::journal::types::repeats::{Alike, RepeatPlan, Repeats};
use crate::journal::{ChainHead, UnpricedRecord};
use crate::ledger::approval::rule::Rule;
use crate::ledger::approval::text::Target;
use crate::ledger::calendar::{BatchDates, Calendar};
use crate::ledger::confirmation::{Bound, Confirmation};
use crate::ledger::correction::Corrects;
use crate::ledger::due::Reach;
use crate::ledger::generations::PaidTwice;
use crate::ledger::limits::{Ceiling, Ceilings, Limits, Reason};
use crate::ledger::pace::Last;
use crate::ledger::payer::Lost;
use crate::ledger::set_aside::Withdrawal;
use crate::ledger::{HeldFor, Purpose};
use crate::lifecycle::{Event, PaymentState, RecordedEvent, State};

pub use crate::ledger::evidence::Heard;

/// One row of a file on its way into the journal.
#[derive(Clone, Debug)]
pub enum LoadRow {
    /// A valid row.
    Valid(Instruction),
    /// A valid row that leaves its amount to the bill.
    Unpriced(Unpriced),
    /// A row that did not pass validation; it is kept only when bad rows are skipped.
    Invalid(RejectedRow),
    /// A row that is no payment, as the layout of its file says; it is kept as one that was rejected and withdrawn.
    Skipped(RejectedRow),
    /// The next row corrects something that the journal has.
    Corrects(Corrects),
    /// The file was read to its end. Without this mark nothing is loaded: whoever reads it may have failed half way.
    EndOfFile,
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
    /// SHA-256 over what the row has, whatever is wrong with it by the rules of the day: it is known again by that.
    pub digest: [u8; 32],
    /// Its cells by the names of their columns, as a JSON object; empty where they are not known.
    pub cells: String,
}

/// How a file is to be loaded.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// The batch's name.
    pub batch: BatchName,
    /// Who pays.
    pub originator: Originator,
    /// How the identifiers of a new batch are written; one that exists keeps its own.
    pub form: IdentifierForm,
    /// The file's name, for the record.
    pub source: String,
    /// The layout that its columns are read by.
    pub layout: Option<LoadLayout>,
    /// This program has written the file for rows to be mended: it has our columns, whatever the file had that they came from.
    pub is_ours: bool,
    /// The time of the load; it becomes `datePaymentReceived`.
    pub now: Timestamp,
    /// Whether it is to be paid, or rehearsed.
    pub purpose: Purpose,
    /// Add rows that are new to a batch that exists.
    pub amend: bool,
    /// Equal rows without a reference are payments of their own.
    pub allow_equal_rows: bool,
    /// How rows are found that other loads have already; nothing is looked for in a rehearsal.
    pub repeats: Option<RepeatPlan>,
    /// Keep the good rows and set the bad ones aside, rather than refuse the file.
    pub skip_bad_rows: bool,
    /// Earlier posts may have left although this journal knows of none: ask before posting.
    pub presume_posted: bool,
    /// Declared number of rows.
    pub expect_count: Option<u64>,
    /// Declared total of one currency.
    pub expect_total: Option<(Currency, Amount)>,
    /// The most that all rows of the batch may come to.
    pub batch_ceilings: Ceilings,
    /// The documents of rows that the batch has already take the place of those that were checked before.
    pub new_documents: bool,
    /// The rule of approval that is in force: the batch keeps it.
    pub approval: Option<Rule>,
    /// When it may be posted; none: nothing is said of it.
    pub dates: BatchDates,
    /// Do everything, and commit nothing.
    pub dry_run: bool,
}

/// The layout that the columns of a file are read by, and which file it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadLayout {
    /// Its name.
    pub name: String,
    /// What tells it from another one.
    pub digest: String,
    /// SHA-256 over the bytes of the file.
    pub file: String,
}

impl LoadPlan {
    /// Returns what the identifiers of a new batch are derived from.
    #[must_use]
    pub fn scheme(&self) -> IdentifierScheme {
        IdentifierScheme {
            originator: self.originator.clone(),
            batch: self.batch.clone(),
            form: self.form.clone(),
        }
    }
}

/// What became of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// The rows are in the journal (or would be, in a dry run).
    New(LoadSummary),
    /// The very same file is there already; nothing was changed.
    AlreadyLoaded(LoadSummary),
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
    /// Rows that are no payments, with the amounts that could be read: kept, and never sent.
    pub skipped: Tally,
    /// Mistakes that were found when all rows had been seen, in skipped rows.
    pub late: Vec<CrossRowError>,
    /// Rejected rows that have their mended row by this file.
    pub mended: u64,
    /// Failed payments that are paid anew by corrected rows of this file.
    pub replaced: u64,
    /// Rows that say what they correct, and are checked alone; a load judges whether they may.
    pub corrects: Vec<(u64, Corrects)>,
    /// Corrected rows of this file that say something else than what they correct.
    pub changed: ChangedRows,
    /// Rows of an amendment that were there before.
    pub unchanged: u64,
    /// Rows of the file that are cancelled.
    pub cancelled: u64,
    /// Rows among them whose document was taken anew.
    pub new_documents: u64,
    /// Rows among them that keep their document, as it is at the file service already, or they were posted.
    pub kept_documents: u64,
    /// Rows that were set aside because they repeat rows of other loads.
    pub repeats: Option<Repeats>,
    /// Rows that a person should see before they are paid.
    pub alike: Vec<Alike>,
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

/// Where a batch belongs: what it is tied to before anything of it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The gateway's identity.
    pub gateway: String,
    /// The settings that shape the bytes of a post.
    pub wire: String,
    /// The account at the gateway: its user name, which is no secret.
    pub account: String,
    /// Digest of how replies are read.
    pub reading: String,
    /// A person has ordered that they are read so from now on.
    pub accepts_reading: bool,
}

impl Home {
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
