//! What the verbs about bills take and give.

use crate::domain::{
    Amount, Country, Currency, Money, Msisdn, PayerTransactionId, PaymentId, ServiceCode, Tally,
    Timestamp, Unpriced,
};

/// How far the rows of a batch have been asked about. A pass begins with one of the two, and goes on with what a page returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BillCursor {
    pub(in crate::journal) checks: bool,
    pub(in crate::journal) after: PaymentId,
}

impl BillCursor {
    /// Begins with the rows that have no amount, and goes on to those whose amount must fit their bill.
    pub const ALL: Self = Self {
        checks: false,
        after: PaymentId::NONE,
    };
    /// Leaves the rows without an amount as they are.
    pub const CHECKS: Self = Self {
        checks: true,
        after: PaymentId::NONE,
    };
}

/// A row whose bill is to be asked for.
#[derive(Clone, Debug)]
pub struct BillRow {
    /// The journal's number of the row.
    pub seq: PaymentId,
    /// `payerTransactionID`.
    pub id: PayerTransactionId,
    /// The file it came from.
    pub source: String,
    /// Its line there.
    pub line: u64,
    /// Its `reference`.
    pub reference: Option<String>,
    /// `serviceCode`.
    pub service: ServiceCode,
    /// `accountNumber`.
    pub account_number: String,
    /// `MSISDN`.
    pub msisdn: Msisdn,
    /// `currencyCode`.
    pub currency: Currency,
    /// `countryCode`.
    pub country: Country,
    /// The amount of the row; `None` when the bill is to tell it.
    pub amount: Option<Amount>,
    /// Another row that pays what is due on the same account: to pay the bill twice would be a mistake.
    pub rival: Option<BillRival>,
}

/// A row that pays the bill of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BillRival {
    /// Its batch, where that is another one.
    pub batch: Option<String>,
    /// Its line there.
    pub line: u64,
}

impl std::fmt::Display for BillRival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.batch {
            None => write!(f, "line {}", self.line),
            Some(batch) => write!(f, "line {} of batch {batch}", self.line),
        }
    }
}

/// What a bill said of a row, to be recorded.
#[derive(Clone, PartialEq, Eq)]
pub struct BillFinding {
    /// The journal's number of the row.
    pub seq: PaymentId,
    /// What follows for the row.
    pub outcome: BillOutcome,
    /// `statusCode`; `None` when there was no usable answer.
    pub code: Option<i32>,
    /// `dueAmount` and `currency`.
    pub due: Option<Money>,
    /// `dueDate`, as it was written.
    pub due_date: String,
    /// `customerName`.
    pub customer_name: String,
    /// `statusDescription`, or why the row cannot be paid by this bill.
    pub description: String,
}

/// What follows from a bill for its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BillOutcome {
    /// The row has no amount, and takes the due one.
    Taken,
    /// The row's own amount fits the bill.
    Fits,
    /// The row cannot be paid by this bill.
    Refused,
}

/// What recorded findings came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BillsRecorded {
    /// Rows that took the due amount.
    pub taken: Tally,
    /// Rows whose amount fits.
    pub fitting: u64,
    /// Rows that cannot be paid by their bill.
    pub refused: u64,
}

/// What is on record of a bill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BillRecord {
    /// When it was asked for.
    pub at: Timestamp,
    /// What followed for the row.
    pub outcome: BillOutcome,
    /// `statusCode`.
    pub code: Option<i32>,
    /// `dueAmount` and `currency`.
    pub due: Option<Money>,
    /// `dueDate`.
    pub due_date: String,
    /// `customerName`.
    pub customer_name: String,
    /// `statusDescription`, or why the row cannot be paid by this bill.
    pub description: String,
}

/// A row without an amount: it was never posted.
#[derive(Clone, Debug)]
pub struct UnpricedRecord {
    /// The journal's number of the row.
    pub seq: PaymentId,
    /// The identifier its payment would have.
    pub id: PayerTransactionId,
    /// The row.
    pub row: Unpriced,
    /// When an operator withdrew it; `None` while it waits for its bill.
    pub withdrawn_at: Option<Timestamp>,
    /// What its bill said last.
    pub bill: Option<BillRecord>,
}

/// A declared total that the rows of its file do not come to, now that they have their amounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TotalDifference {
    /// The file.
    pub source: String,
    /// Declared.
    pub expected: String,
    /// Found.
    pub found: String,
}

// Names and amounts of customers stay out of logs.
impl std::fmt::Debug for BillFinding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BillFinding")
            .field("seq", &self.seq)
            .field("outcome", &self.outcome)
            .field("code", &self.code)
            .finish_non_exhaustive()
    }
}
