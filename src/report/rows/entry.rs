//! What the report is told: the batch, and one entry for each of its rows.

use std::fmt;

use super::people::Deed;
use crate::domain::{
    BankAccount, BatchName, ControlTotals, Money, Originator, ServiceCode, Timestamp, WireZone,
};
use crate::ledger::Purpose;
use crate::ledger::generations::PaidTwice;
use crate::ledger::schedule::Scheduled;
use crate::lifecycle::State;

/// The bucket a row is in. The names are those of the files and of the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateName {
    /// It leaves its amount to the bill, and has none yet.
    Unpriced,
    /// Safe to post; nothing has been sent, or nothing has arrived.
    #[default]
    Ready,
    /// The intent is recorded, the outcome not yet.
    Posting,
    /// The outcome is unknown.
    InDoubt,
    /// The gateway has it.
    Acknowledged,
    /// At the bank, not settled.
    Delivered,
    /// Final: paid.
    Paid,
    /// Final: proven not to have been paid.
    Failed,
    /// Final: never passed validation, never sent.
    Rejected,
    /// Final: rejected, and a person has decided that it is not paid.
    Withdrawn,
    /// No payment, as the layout of its file says.
    Skipped,
    /// Final: withdrawn before it was ever posted.
    Cancelled,
    /// Two pieces of final evidence disagree.
    Conflict,
}

impl StateName {
    /// Every state, in the order a payment may pass through them.
    pub const ALL: [Self; 13] = [
        Self::Unpriced,
        Self::Ready,
        Self::Posting,
        Self::InDoubt,
        Self::Acknowledged,
        Self::Delivered,
        Self::Paid,
        Self::Failed,
        Self::Rejected,
        Self::Withdrawn,
        Self::Skipped,
        Self::Cancelled,
        Self::Conflict,
    ];

    /// Every state but paid, the one that needs a person most first.
    pub const EXCEPTIONS: [Self; 12] = [
        Self::Conflict,
        Self::InDoubt,
        Self::Failed,
        Self::Rejected,
        Self::Delivered,
        Self::Acknowledged,
        Self::Posting,
        Self::Ready,
        Self::Unpriced,
        Self::Cancelled,
        Self::Withdrawn,
        Self::Skipped,
    ];

    /// Returns the name on paper and in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unpriced => "unpriced",
            Self::Ready => "ready",
            Self::Posting => "posting",
            Self::InDoubt => "in_doubt",
            Self::Acknowledged => "acknowledged",
            Self::Delivered => "delivered",
            Self::Paid => "paid",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Conflict => "conflict",
        }
    }

    /// Returns what the state says, to a reader who does not know the program.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Unpriced => "waits for its bill",
            Self::Ready => State::Ready.in_words(),
            Self::Posting => State::Posting.in_words(),
            Self::InDoubt => State::InDoubt.in_words(),
            Self::Acknowledged => State::Acknowledged.in_words(),
            Self::Delivered => State::Delivered.in_words(),
            Self::Paid => State::Paid.in_words(),
            Self::Failed => State::Failed.in_words(),
            Self::Rejected => "rejected",
            Self::Withdrawn => "rejected and withdrawn",
            Self::Skipped => "skipped by the layout",
            Self::Cancelled => State::Cancelled.in_words(),
            Self::Conflict => State::Conflict.in_words(),
        }
    }

    /// Returns the words of the state that has this name in files; a name that no state has stays as it is.
    #[must_use]
    pub fn words_of(name: &'static str) -> &'static str {
        let named = Self::ALL.into_iter().find(|state| state.as_str() == name);
        named.map_or(name, Self::in_words)
    }

    /// Returns whether the program has something left to do for the payment.
    #[must_use]
    pub fn is_open(self) -> bool {
        match self {
            Self::Unpriced
            | Self::Ready
            | Self::Posting
            | Self::InDoubt
            | Self::Acknowledged
            | Self::Delivered => true,
            Self::Paid
            | Self::Failed
            | Self::Rejected
            | Self::Withdrawn
            | Self::Skipped
            | Self::Cancelled
            | Self::Conflict => false,
        }
    }

    /// Returns whether the row never passed validation: it is in no lane, and in no control total.
    #[must_use]
    pub fn is_set_aside(self) -> bool {
        matches!(self, Self::Rejected | Self::Withdrawn | Self::Skipped)
    }

    pub(in crate::report) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Whether a service sells prepaid electricity: its narrations then hold tokens, which are money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prepaid {
    /// It is not known; a narration that clearly holds a token is taken for one.
    #[default]
    Unknown,
    /// It does.
    Yes,
    /// It sells something else.
    No,
}

/// One row of a loaded file, as it stands now. Texts that a row does not have are empty.
#[derive(Clone, Copy, Default)]
pub struct Entry<'a> {
    /// The line of its file, 1-based.
    pub line: u64,
    /// The payer's own reference.
    pub reference: &'a str,
    /// `payerTransactionID`; rejected rows have none.
    pub id: &'a str,
    /// `serviceCode`, as written when the row was rejected.
    pub service_code: &'a str,
    /// `MSISDN`, as written when the row was rejected.
    pub msisdn: &'a str,
    /// `accountNumber`.
    pub account_number: &'a str,
    /// The amount; rejected rows may have none, and rows that leave it to their bill.
    pub money: Option<Money>,
    /// The amount as written, used when `money` is `None`.
    pub amount_text: &'a str,
    /// The currency as written, used when `money` is `None`.
    pub currency_text: &'a str,
    /// The bucket.
    pub state: StateName,
    /// The gateway's last status code about this payment.
    pub status_code: Option<i64>,
    /// Its text.
    pub status_description: &'a str,
    /// `gatewayTransactionID`.
    pub gateway_transaction_id: &'a str,
    /// `receiptNumber`.
    pub receipt_number: &'a str,
    /// The receipt of a delivery to the bank (148).
    pub application_id: &'a str,
    /// `receiverNarration`.
    pub receiver_narration: &'a str,
    /// Whether its service sells prepaid electricity.
    pub prepaid: Prepaid,
    /// How many times it was posted.
    pub attempts: u32,
    /// The first post.
    pub posted_at: Option<Timestamp>,
    /// The final evidence.
    pub settled_at: Option<Timestamp>,
    /// `customerNames`; as the two that follow, of a rejected row as it was written.
    pub customer_names: &'a str,
    /// `narration`.
    pub narration: &'a str,
    /// `invoiceNumber`.
    pub invoice_number: &'a str,
    /// The bank and the account at it, of a bank payment.
    pub bank: BankAccount<'a>,
    /// Errors of a rejected row, and who withdrew it, the reason of an operator's decision, what a retry replaces.
    pub note: &'a str,
}

// Debug output ends up in logs, where numbers and accounts have no place.
impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("line", &self.line)
            .field("id", &self.id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// One file that was loaded into the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The file's name; folders in front of it are left out of the report.
    pub source: String,
    /// The digest of its content.
    pub digest: String,
    /// When it was loaded.
    pub loaded_at: Timestamp,
}

impl Load {
    /// Returns the name without its folders, which belong to one machine only.
    pub(in crate::report) fn file_name(&self) -> &str {
        self.source
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or(&self.source)
    }
}

/// What of a batch waits: for the dates of the batch, or for a service to open; and, in words alone, for signatures and limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalendarWaits {
    /// What waits, for what, and what to do.
    pub texts: Vec<String>,
    /// How many payments wait for dates and hours.
    pub count: u64,
}

/// What is known about the batch itself.
#[derive(Clone, Debug)]
pub struct BatchHeader {
    /// Its name.
    pub name: BatchName,
    /// Who pays.
    pub originator: Originator,
    /// What it was loaded for.
    pub purpose: Purpose,
    /// The gateway the batch is bound to.
    pub gateway: String,
    /// The account at the gateway that it belongs to; empty before its first run.
    pub account: String,
    /// The zone that the page tells times in; the other files tell them in UTC.
    pub zone: WireZone,
    /// When the batch was first loaded.
    pub created_at: Timestamp,
    /// The files, in the order they were loaded.
    pub loads: Vec<Load>,
    /// Whether the workbook lists all payments, however many there are.
    pub lists_all: bool,
    /// The file of the rows that failed, as a person types its name.
    pub failed_rows: String,
    /// What the valid rows add up to, as recorded when they were loaded.
    pub control: ControlTotals,
    /// How many lines were rejected, as recorded when they were loaded.
    pub rejected_lines: u64,
    /// Rows of evidence on the batch's chain.
    pub evidence_rows: u64,
    /// The hash of the last of them, in hexadecimal digits.
    pub evidence_head: String,
    /// Lanes that wait for float.
    pub held_lanes: Vec<ServiceCode>,
    /// Who loaded, ran and decided, oldest first.
    pub people: Vec<Deed>,
    /// Rows that were paid more than once, those that are named.
    pub paid_twice: Vec<PaidTwice>,
    /// How many these are in all.
    pub paid_twice_count: u64,
    /// Rows that are not sent yet because their time has not come.
    pub scheduled: Scheduled,
    /// What waits for the dates of the batch, or for its service to open.
    pub waits: CalendarWaits,
    /// What statements of gateway and bank showed, oldest first.
    pub statements: Vec<Stated>,
    /// Why the journal may know less than what became of the payments; `None`: nothing says that it does.
    pub behind: Option<String>,
    /// The run that is at work on the batch, where it is known that one is.
    pub at_work: Option<AtWork>,
}

/// A run that is at work while something is said of its batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtWork {
    /// When it asks the gateway next, as a person is told times.
    pub asks_at: Option<String>,
}

/// A reconciliation with a statement, as it is on record.
#[derive(Clone, Debug)]
pub struct Stated {
    /// When.
    pub at: Timestamp,
    /// The statement, its digest, balances, and what was found of each kind.
    pub summary: serde_json::Value,
    /// The findings that were kept one by one.
    pub findings: Vec<serde_json::Value>,
}

impl BatchHeader {
    /// Returns the last comparison with each statement, in the order in which they were made, and how many there were.
    pub(in crate::report) fn last_comparisons(&self) -> Vec<(&Stated, usize)> {
        let mut last: Vec<(&Stated, usize)> = Vec::new();
        for stated in &self.statements {
            let digest = &stated.summary["digest"];
            let before = last
                .iter()
                .position(|(known, _)| known.summary["digest"] == *digest);
            let times = before.map_or(0, |place| last.remove(place).1);
            last.push((stated, times + 1));
        }
        last
    }

    /// Returns how many rows the report is to list.
    pub(in crate::report) fn rows(&self) -> u64 {
        self.control.total().count + self.rejected_lines
    }
}
