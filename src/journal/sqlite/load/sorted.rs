//! What only shows when all rows of a load are seen: equal rows, a reference used twice, rows that an earlier load brought.

use crate::domain::Tally;
use crate::journal::{Alike, CrossRowError, Repeats};

/// How many late errors are kept to be shown; all of them are counted.
pub(in crate::journal::sqlite) const LATE_MAX: usize = 100_000;

/// What the sorted pass found.
#[derive(Default)]
pub(in crate::journal::sqlite) struct Sorted {
    pub(in crate::journal::sqlite) late: Vec<CrossRowError>,
    /// Rows that an earlier load brought.
    pub(in crate::journal::sqlite) unchanged: Tally,
    /// Those of them that still have no amount.
    pub(in crate::journal::sqlite) unpriced: u64,
    /// Rows with the reference of an earlier one and other content.
    pub(in crate::journal::sqlite) changed: u64,
    /// Those of them that pay somebody else than the earlier one.
    pub(in crate::journal::sqlite) changed_person: u64,
    /// Rows that were rejected for a reference which is another row's, and have it still.
    pub(in crate::journal::sqlite) anothers: Vec<CrossRowError>,
    /// Unchanged rows whose document was taken anew, and those that keep theirs.
    pub(in crate::journal::sqlite) new_documents: u64,
    pub(in crate::journal::sqlite) kept_documents: u64,
    /// Rows with errors that an earlier load has set aside.
    pub(in crate::journal::sqlite) set_aside_before: Tally,
    pub(in crate::journal::sqlite) examples: Vec<String>,
    /// Rows that repeat rows of other loads; each is a late error.
    pub(in crate::journal::sqlite) repeats: Option<Repeats>,
    /// Rows that a person should see.
    pub(in crate::journal::sqlite) alike: Vec<Alike>,
}
