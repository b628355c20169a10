//! What the verbs say of the generations of a row.

use crate::domain::{BatchName, Currency, Money, Msisdn, PayerTransactionId, Reference};
use crate::ledger::changed_columns::ChangedColumn;
use crate::ledger::decisions::ByCode;
use crate::ledger::names::PaymentName;
use crate::lifecycle::State;

/// What a look at a claim says, just before it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearance {
    /// It may leave.
    Leaves,
    /// Evidence has moved it meanwhile: its post is over.
    Settled,
    /// It must not leave, and has no outcome: an earlier generation of its row may be paid, or another row of its debt.
    Withheld,
}

/// Why a run claims nothing more, and must end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// A payment is not what the chain of evidence says of it.
    Altered(String),
    /// A payment is of the same debt as one of another batch that is paid by now, or may be.
    PaidElsewhere(DebtElsewhere),
}

/// A payment that does not leave, as another batch may have paid its debt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebtElsewhere {
    /// What was found.
    pub what: String,
    /// The payment that does not leave.
    pub id: PayerTransactionId,
    /// The batch of the other one.
    pub other: BatchName,
    /// The identifier of the other one.
    pub other_id: PayerTransactionId,
    /// Answers about the other one disagree: no run brings it to its end, a person decides.
    pub needs_decision: bool,
}

/// What a payment waits for that is held back, or is asked about again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A decision about this earlier generation.
    Decision(PayerTransactionId),
    /// The gateway's word about this one, which a person decided to have failed.
    Answer(PayerTransactionId),
    /// The gateway's word about this one, which it has called failed, and has spoken of otherwise since.
    Again(PayerTransactionId),
    /// A person's express word about this one: the batch was sent to another place since it ended, and nobody who is asked there can tell.
    Elsewhere(PayerTransactionId),
    /// The word that the recovery of the journal is done: a batch that was lost may have paid its row.
    Recovered,
    /// The gateway's word about the payment itself, which has ended unpaid, and was spoken of otherwise since.
    Itself {
        /// The code that it failed with, if the gateway said so.
        code: Option<i32>,
        /// An operator withdrew it: it had not failed.
        withdrawn: bool,
        /// What was said of it last.
        said: Doubt,
    },
}

/// What makes doubtful that a payment was not paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// This code.
    Code(i32),
    /// This code, about another amount, currency or number.
    Otherwise(i32),
    /// A genuine callback that nobody can read.
    Unreadable,
    /// What the journal has missed.
    Missed,
}

/// A retry that is held back, or an ended payment that is asked about again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its identifier.
    pub id: PayerTransactionId,
    /// What it waits for.
    pub waits_for: WaitsFor,
}

/// A payment that was paid, or may have been, beside a later one of its row which has left: nobody knows yet whether both are paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// Its identifier.
    pub id: PayerTransactionId,
    /// How it stands: paid, or in conflict.
    pub state: State,
    /// The newest payment of its row.
    pub newest: PayerTransactionId,
    /// How that stands.
    pub newest_state: State,
}

/// What is held back, or asked about again, is named as far as this.
pub const WAITING_SHOWN: usize = 20;

/// What the rows of a batch that were paid anew with other amounts come to, in one currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The currency.
    pub currency: Currency,
    /// How many there are.
    pub count: u64,
    /// What they came to as they were replaced, in minor units.
    pub was: i128,
    /// What the rows that replace them come to.
    pub is: i128,
}

/// Corrected rows that say something else are shown as far as this.
pub const CHANGED_SHOWN: usize = 20;

/// Corrected rows that say something else than what they correct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedRows {
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub rows: Vec<ChangedRow>,
}

/// A corrected row that says something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRow {
    /// The line of its file.
    pub line: u64,
    /// The failed payment that it replaces; none: it takes the place of a rejected row.
    pub replaces: Option<PayerTransactionId>,
    /// What was changed; of a rejected row, beside what had an error.
    pub columns: Vec<ChangedColumn>,
}

/// Which failures of a batch are to be paid anew: all of them unless something is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// Only those with this status code.
    pub code: Option<i32>,
    /// Only these payments, as a person names them.
    pub named: Vec<PaymentName>,
    /// Those as well that may be paid since under another reference: a person has them in view.
    pub paid_since: bool,
}

impl From<Option<i32>> for Failures {
    fn from(code: Option<i32>) -> Self {
        Self {
            code,
            named: Vec::new(),
            paid_since: false,
        }
    }
}

/// Failures that are about to be paid anew are shown as far as this.
pub const FAILURES_SHOWN: usize = 20;

/// What an order to pay failures anew would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToRetry {
    /// Counts and amounts, by code.
    pub by_code: ByCode,
    /// The first of them, in the order of their rows.
    pub rows: Vec<Failure>,
    /// Those of them that may be paid since under another reference.
    pub paid_since: Vec<(Failure, PaidSince)>,
}

/// A later row by which a failure may be paid: it pays the same recipient, or the same name, the same amount, and no reference says
/// that it is another debt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidSince {
    /// Its batch.
    pub batch: String,
    /// Its reference; empty: it has none.
    pub reference: String,
    /// Its line.
    pub line: u64,
}

/// A failure that is about to be paid anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The line of its file.
    pub line: u64,
    /// The reference of its row.
    pub reference: Option<Reference>,
    /// The number that it is paid to.
    pub msisdn: Msisdn,
    /// Its amount.
    pub money: Money,
    /// The code that it failed with; none: an operator recorded it.
    pub code: Option<i32>,
}

/// A failure that is not retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unretried {
    /// Its identifier.
    pub id: PayerTransactionId,
    /// The line of its file.
    pub line: u64,
    /// Why.
    pub why: WhyUnretried,
}

/// Why a failure may have no retry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyUnretried {
    /// An earlier generation of its row is paid, or may be.
    EarlierMayBePaid,
    /// Its person was forgotten: nobody knows any more whom it would pay.
    Forgotten,
    /// It names a document by `extra.supportDocument`, which was uploaded for its own identifier.
    NamesADocument,
    /// Its row was loaded anew into this batch, and is paid there, or may be.
    LoadedAnew(String),
    /// It may be paid since under another reference, and nobody has said that it is another debt.
    PaidSince(Box<Failure>, PaidSince),
}

/// Rows that were paid more than once are named as far as this.
pub const PAID_TWICE_SHOWN: usize = 1000;
