//! What a reconciliation with a statement found.

use crate::domain::{
    BatchName, Day, EvidenceId, Money, PayerTransactionId, PaymentId, Tally, Timestamp, Totals,
};
use crate::ledger::reconciliation::{FindingKind, Flow, MatchedBy, Period, Settle};
use crate::lifecycle::State;

/// Findings that are kept one by one, of each kind; all are counted.
pub const FINDINGS_KEPT: usize = 200;

/// Payments of a statement that are put on record in one transaction, at most: whoever shares the journal waits for it, and has a lease.
pub const SHOWN_AT_ONCE: usize = 200;

/// What a statement was of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementFacts {
    /// The file's name, without its folder.
    pub source: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub digest: String,
    /// Its format.
    pub format: String,
    /// The account, as it names it.
    pub account: Option<String>,
    /// The family of its format, and the headers by which it is known.
    pub kind: String,
    /// The days that it shows.
    pub period: Option<Period>,
    /// Its balances, with their currency.
    pub opening: Option<String>,
    /// The balance behind its last line.
    pub closing: Option<String>,
    /// They agree with its lines.
    pub balanced: bool,
    /// Its lines.
    pub entries: u64,
    /// What was charged, as far as it says.
    pub fees: Totals,
}

/// A payment that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedPayment {
    /// The journal's number of the payment.
    pub seq: PaymentId,
    /// Its identifier.
    pub id: PayerTransactionId,
    /// The reference of its row; empty: it has none.
    pub reference: String,
    /// The line of its file.
    pub line: u64,
    /// Where it stands.
    pub state: State,
    /// Its amount.
    pub money: Money,
}

/// A line of the statement that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedEntry {
    /// Where it stands in the statement.
    pub place: String,
    /// Its day.
    pub day: Day,
    /// Which way.
    pub flow: Flow,
    /// Its amount.
    pub money: Money,
    /// Its first reference.
    pub reference: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementFinding {
    /// What it is.
    pub kind: FindingKind,
    /// The payment.
    pub payment: Option<StatedPayment>,
    /// The line.
    pub entry: Option<StatedEntry>,
    /// Where other lines about the payment stand; of many, the first.
    pub other_lines: Vec<String>,
    /// How both were found to belong together.
    pub by: Option<MatchedBy>,
    /// Whether the payment may be recorded as paid on it.
    pub settle: Settle,
    /// The statement shows that money has left for the payment, and did not come back.
    pub is_out: bool,
    /// It shows that it left more often than once.
    pub is_twice: bool,
    /// A line without a name may be about another payment as well.
    pub is_unsure: bool,
    /// Part of it was shown by statements before this one.
    pub is_earlier: bool,
    /// Where those show it, each with its day; of many, the first.
    pub earlier_lines: Vec<String>,
}

/// A payment whose money has left by a statement, whatever the gateway says of it later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownPayment {
    /// Its number.
    pub seq: PaymentId,
    /// Where the statement shows it.
    pub line: String,
}

impl StatementFinding {
    /// Returns what of it is put on record of the payment itself: its money has left, and it is not known to be paid.
    #[must_use]
    pub fn shown(&self) -> Option<ShownPayment> {
        let payment = self.payment.as_ref()?;
        let counts = payment.state != State::Paid && self.is_out;
        // What earlier statements have shown counts without a line of this one.
        let place = self.entry.as_ref().map(|entry| entry.place.as_str());
        counts.then(|| ShownPayment {
            seq: payment.seq,
            line: place.unwrap_or("an earlier statement").to_owned(),
        })
    }

    /// Returns how its line was found, in words; empty where it has no line.
    #[must_use]
    pub fn matched(&self) -> String {
        let by = self.by.map_or("", |by| by.in_words());
        match self.is_unsure {
            true => format!("{by}; another payment could have this line"),
            false => by.to_owned(),
        }
    }

    /// Returns where other lines about the payment stand, of this statement and of earlier ones that count.
    #[must_use]
    pub fn all_other_lines(&self) -> Vec<&str> {
        let others = self.other_lines.iter().chain(&self.earlier_lines);
        others.map(String::as_str).collect()
    }

    /// Returns whether it is about a payment of which two words disagree.
    #[must_use]
    pub fn is_in_conflict(&self) -> bool {
        let payment = self.payment.as_ref();
        payment.is_some_and(|payment| payment.state == State::Conflict)
    }

    /// Returns the amount that it is about: ours where it is about a payment.
    #[must_use]
    pub fn money(&self) -> Option<Money> {
        let payment = self.payment.as_ref().map(|payment| payment.money);
        payment.or(self.entry.as_ref().map(|entry| entry.money))
    }
}

/// What all findings come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Payments that came back by the statement, and of which it does not show that they left.
    pub only_back: u64,
    /// Payments of which it shows that they left, in whatever amount.
    pub has_left: u64,
    /// Payments whose money left more often than once, and that are told as something else.
    pub also_twice: u64,
    /// Of each kind that there is, the worst first.
    pub found: Vec<(FindingKind, Tally)>,
    /// Payments of the batch.
    pub payments: u64,
    /// At least one line is in a currency of the batch.
    pub shares_currency: bool,
    /// At least one payment lies within the days of the statement, or is shown by it.
    pub shares_days: bool,
    /// Payments that it shows paid, and that left by a statement of another kind on another day, or under other references.
    pub apart: Apart,
    /// Other batches of which a line tells, and that this very statement was not compared with.
    pub elsewhere: Vec<BatchName>,
    /// The comparison that was the last one of the batch when this one was made.
    pub after: Option<EvidenceId>,
}

/// Payments that may have left twice: by two statements of different kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// How many there are.
    pub count: u64,
    /// The first of them, each with the lines of the other statements.
    pub first: Vec<(PayerTransactionId, Vec<String>)>,
}

impl Reconciled {
    /// Returns what is found of one kind.
    #[must_use]
    pub fn of(&self, kind: FindingKind) -> Tally {
        let found = self.found.iter().find(|(known, _)| *known == kind);
        found.map(|(_, tally)| tally.clone()).unwrap_or_default()
    }

    /// Returns whether there is nothing that a person must look at.
    #[must_use]
    pub fn agrees(&self) -> bool {
        let mut found = self.found.iter();
        !found.any(|(kind, tally)| kind.needs_a_person() && tally.count > 0)
            && self.apart.count == 0
    }
}

/// A reconciliation, as it is on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconciliationRecord {
    /// When.
    pub at: Timestamp,
    /// Statement, counts and balances, as JSON.
    pub summary: serde_json::Value,
    /// The findings that were kept, as JSON.
    pub findings: Vec<serde_json::Value>,
}

/// What one statement showed of one payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedAbout {
    /// When it was compared, the last time.
    pub at: Timestamp,
    /// The statement.
    pub statement: String,
    /// The finding, as JSON.
    pub finding: serde_json::Value,
}

/// What one statement showed of payments otherwise than they stand here, and no order settles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrepancies {
    /// When it was compared, the last time.
    pub at: Timestamp,
    /// The statement.
    pub statement: String,
    /// How many payments of each kind.
    pub found: Vec<(FindingKind, u64)>,
}
