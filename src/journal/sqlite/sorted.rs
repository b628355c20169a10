//! What only shows when all rows of a load are seen: equal rows, a reference used twice, rows that an earlier load brought.

use crate::domain::Tally;
use crate::journal::{Alike, LateError, Repeats};

/// How many late errors are kept to be shown; all of them are counted.
pub(super) const LATE_MAX: usize = 100_000;

/// What the sorted pass found.
#[derive(Default)]
pub(super) struct Sorted {
    pub(super) late: Vec<LateError>,
    /// Rows that an earlier load brought.
    pub(super) unchanged: Tally,
    /// Those of them that still have no amount.
    pub(super) unpriced: u64,
    /// Rows with the reference of an earlier one and other content.
    pub(super) changed: u64,
    /// Those of them that pay somebody else than the earlier one.
    pub(super) changed_person: u64,
    /// Rows that were rejected for a reference which is another row's, and have it still.
    pub(super) anothers: Vec<LateError>,
    /// Unchanged rows whose document was taken anew, and those that keep theirs.
    pub(super) new_documents: u64,
    pub(super) kept_documents: u64,
    /// Rows with errors that an earlier load has set aside.
    pub(super) set_aside_before: Tally,
    pub(super) examples: Vec<String>,
    /// Rows that repeat rows of other loads; each is a late error.
    pub(super) repeats: Option<Repeats>,
    /// Rows that a person should see.
    pub(super) alike: Vec<Alike>,
}
