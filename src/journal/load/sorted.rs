//! What only shows when all rows of a load are seen: equal rows, a reference used twice, rows that an earlier load brought.

use crate::domain::Tally;
use crate::journal::{Alike, CrossRowError, Repeats};

/// How many late errors are kept to be shown; all of them are counted.
pub(in crate::journal) const LATE_MAX: usize = 100_000;

/// What the sorted pass found.
#[derive(Default)]
pub(in crate::journal) struct Sorted {
    pub(in crate::journal) late: Vec<CrossRowError>,
    /// Rows that an earlier load brought.
    pub(in crate::journal) unchanged: Tally,
    /// Those of them that still have no amount.
    pub(in crate::journal) unpriced: u64,
    /// Rows with the reference of an earlier one and other content.
    pub(in crate::journal) changed: u64,
    /// Those of them that pay somebody else than the earlier one.
    pub(in crate::journal) changed_person: u64,
    /// Rows that were rejected for a reference which is another row's, and have it still.
    pub(in crate::journal) anothers: Vec<CrossRowError>,
    /// Unchanged rows whose document was taken anew, and those that keep theirs.
    pub(in crate::journal) new_documents: u64,
    pub(in crate::journal) kept_documents: u64,
    /// Rows with errors that an earlier load has set aside.
    pub(in crate::journal) set_aside_before: Tally,
    pub(in crate::journal) examples: Vec<String>,
    /// Rows that repeat rows of other loads; each is a late error.
    pub(in crate::journal) repeats: Option<Repeats>,
    /// Rows that a person should see.
    pub(in crate::journal) alike: Vec<Alike>,
}
