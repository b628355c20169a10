//! Orders to forget the persons of finished batches.

use std::time::Duration;

use crate::domain::{BatchName, Timestamp};
use crate::ledger::forgetting::Recipient;

/// An order to forget persons of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgetOrder {
    /// Whose.
    pub batch: BatchName,
    /// The one recipient that is forgotten; `None`: all of the batch.
    pub recipient: Option<Recipient>,
    /// The archive that keeps them: its file and the SHA-256 of its bytes.
    pub archive: Option<ArchivedAs>,
    /// Why, in the words of whoever orders it.
    pub reason: String,
    /// For so long rows are compared with those of the batch.
    pub window: Duration,
}

/// A file that keeps what the journal forgets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedAs {
    /// Its name, without its folder.
    pub name: String,
    /// SHA-256 over its bytes, in hexadecimal digits.
    pub digest: String,
    /// The head of the evidence that it has, in hexadecimal digits.
    pub head: String,
}

/// How many rows have their persons forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Payments, earlier generations included.
    pub payments: u64,
    /// Rejected rows.
    pub rejected: u64,
}

/// When people of a batch were let go of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetGo {
    /// When.
    pub at: Timestamp,
    /// The archive that has them, by its name without its folder; `None`: they were forgotten one by one.
    pub archive: Option<String>,
}

/// One of those whom a number or an account may mean, with what tells them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The word that stands for it ([`crate::ledger::forgetting::party`]).
    pub word: String,
    /// The account that is paid, or the number, as some row of it has it.
    pub account: String,
    /// Whether that is the number of a wallet.
    pub is_number: bool,
    /// The code of the bank, or nothing.
    pub bank: String,
    /// The service of some row of it.
    pub service: String,
    /// The country of some row of it, where one is known.
    pub country: String,
    /// Its rows.
    pub paid_in: Vec<PaidIn>,
}

/// A batch in which somebody was paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaidIn {
    /// Its name.
    pub batch: BatchName,
    /// Rows that name the recipient.
    pub rows: Forgotten,
}
