//! What a load takes and gives.

use crate::domain::{
    Amount, BatchName, Currency, IdentifierForm, IdentifierScheme, Instruction, Money, Originator,
    ServiceCode, Tally, Timestamp, Unpriced,
};
use crate::journal::types::generations::ChangedRows;
use crate::journal::types::refusal::{CrossRowError, LoadRefusal};
use crate::journal::types::repeats::{Alike, RepeatPlan, Repeats};
use crate::ledger::Purpose;
use crate::ledger::approval::rule::Rule;
use crate::ledger::calendar::BatchDates;
use crate::ledger::correction::Corrects;
use crate::ledger::limits::Ceilings;
use crate::ledger::pin::Destination;

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
    /// The gateway and the account that are configured, where they are: a new batch is run with no others.
    pub destination: Option<Destination>,
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
