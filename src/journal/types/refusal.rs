//! Why a file is not loaded.

use crate::domain::Money;
use crate::journal::types::repeats::{Alike, Repeats};
use crate::ledger::Purpose;
use crate::ledger::calendar::BatchDates;

/// A mistake that only shows when all rows are seen together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossRowError {
    /// Line of the file.
    pub line: u64,
    /// Its number among the rows of the file that are good by themselves, 1-based.
    pub good_row: u64,
    /// The column it is about; empty for the whole row.
    pub column: &'static str,
    /// What was expected, and what was found.
    pub message: String,
    /// What tells the row from others, where it is set aside.
    pub digest: [u8; 32],
}

/// Why nothing was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadRefusal {
    /// People of the batch were forgotten: what is added to it could not be held against their rows.
    Forgotten,
    /// Rows that did not pass validation; the late ones are listed here, the others came with the rows.
    BadRows {
        /// How many rows the file has that failed validation by themselves.
        rejected: u64,
        /// Mistakes found when all rows had been seen.
        late: Vec<CrossRowError>,
        /// Those of them that repeat rows of other loads.
        repeats: Option<Repeats>,
        /// Rows without an error that a person should see.
        alike: Vec<Alike>,
    },
    /// Rows that say what they correct, and cannot.
    Corrections(Vec<CrossRowError>),
    /// So many rows may be mended ones of rejected rows, or new ones; the first of them.
    MayBeMended(u64, Vec<CrossRowError>),
    /// The batch, or the file, was read by a layout of this name that said something else.
    LayoutChanged {
        /// The layout.
        layout: String,
        /// The batch that was loaded by it.
        batch: String,
        /// The file that it was loaded from.
        source: String,
    },
    /// The batch was loaded by layouts alone, and this file by none.
    LayoutMissing {
        /// The layout of the load before.
        layout: String,
    },
    /// The same file was loaded as another batch by another layout, and may have been paid there.
    ReadBefore {
        /// The layout of that load.
        layout: String,
        /// The batch.
        batch: String,
    },
    /// The file has no rows.
    NoRows,
    /// The file was not read to its end.
    Unreadable,
    /// The batch exists with other rows.
    OtherContent(Difference),
    /// An amendment with rows that may be new, or mended ones without a reference.
    Ambiguous(Difference),
    /// An amendment with rows that pay recipients of rows of the batch which it leaves out; the first of them.
    Instead(Vec<CrossRowError>),
    /// An amendment that shares no row with the batch, and whose rows, so many, pay the recipients of the batch the same amounts.
    BatchAgain(u64),
    /// The batch has these dates, and the file comes with others.
    OtherDates(BatchDates),
    /// The batch belongs to another originator.
    OtherOriginator(String),
    /// The batch was loaded for this, and the file comes for the other.
    OtherPurpose(Purpose),
    /// The declared number of rows differs.
    Count {
        /// Declared.
        expected: u64,
        /// In the file.
        found: u64,
    },
    /// The rows of the batch add up to more than can be counted.
    TooMuch {
        /// What they add up to.
        total: String,
    },
    /// The rows of the batch come to more than its ceiling.
    OverCeiling {
        /// What they come to, in the currency of the ceiling.
        total: Money,
        /// The ceiling.
        ceiling: Money,
    },
    /// So many rows that are there already have no amount yet, and were loaded without this declared total.
    TotalOpen(u64),
    /// The declared total differs.
    Total {
        /// Declared.
        expected: String,
        /// In the file.
        found: String,
        /// Rows that are set aside and whose amounts cannot be read: they are not in it.
        unread: u64,
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
    /// Those of them that pay somebody else than the row of the batch.
    pub changed_person: u64,
    /// Rows that both have.
    pub unchanged: u64,
    /// Rows with errors that were not set aside when the batch was loaded.
    pub rejected: u64,
    /// The first few of each, as `new: line 7, reference EMP-7`.
    pub examples: Vec<String>,
}
