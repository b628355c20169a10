//! What the verbs take and give about rows that repeat rows of other loads.

use std::collections::BTreeSet;

use crate::domain::{Currency, Timestamp};
use crate::journal::Location;
use crate::ledger::Became;
use crate::ledger::payer::CameBack;
use crate::ledger::repeats::TermsByService;

/// How a load looks for repeats.
#[derive(Clone, Debug, Default)]
pub struct RepeatPlan {
    /// What is a repeat.
    pub terms: TermsByService,
    /// The digest of the very list of repeats that a person allows.
    pub allowed: Option<String>,
    /// How replies are read by the configuration in force: what another reading called failed may be paid by this one.
    pub reading: Option<String>,
    /// The journal whose loads are on record, where that is not the one that is loaded into.
    pub record: Option<Location>,
}

/// Rows of a file that repeat rows of other loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// How many rows of the file.
    pub rows: u64,
    /// The loads that are repeated, the newest first, no more than [`REPEATED_LOADS`].
    pub loads: Vec<RepeatedLoad>,
    /// How many loads there are beyond those.
    pub more_loads: u64,
    /// What tells this list from any other one.
    pub digest: String,
    /// Another list was allowed.
    pub allowed_other: bool,
    /// What became of the batch, where every row of the file is a payment of that one batch again.
    pub whole: Option<Became>,
    /// How the rows compare with what was posted, where the batch comes back to a journal that lost it.
    pub came_back: CameBack,
    /// How many rows of the file repeat nothing: they are loaded where the others are left out.
    pub rest: u64,
    /// The first of their lines.
    pub rest_lines: Vec<u64>,
    /// How many rows repeat another one by its reference, and have another amount or recipient now.
    pub changed: u64,
    /// The first of them.
    pub changed_rows: Vec<ChangedRepeat>,
}

/// A row that repeats another one by its reference, with another amount or recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRepeat {
    /// Its line.
    pub line: u64,
    /// Its reference.
    pub reference: String,
    /// Its amount, and the one that was loaded before, in digits; `None`: they are the same.
    pub amounts: Option<(String, String)>,
    /// The currency of its amount.
    pub currency: Currency,
    /// It goes to another recipient, or through another service.
    pub other_recipient: bool,
}

/// Loads that a refusal names one by one.
pub const REPEATED_LOADS: usize = 5;

/// A load whose rows are repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedLoad {
    /// Its batch.
    pub batch: String,
    /// Its file.
    pub source: String,
    /// When it was loaded.
    pub loaded_at: Timestamp,
    /// How many rows of the new file repeat one of it.
    pub rows: u64,
}

/// Rows that a person should see before they are paid: they look like other ones, or repeat some that were allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// What they are.
    pub kind: AlikeKind,
    /// Their file.
    pub file: String,
    /// What they look like, or repeat; their own load where it is rows of one file.
    pub other: RepeatedLoad,
    /// The first of their lines.
    pub lines: Vec<u64>,
    /// How many of those in another load that they look like, or repeat, were paid when they were loaded; of a later load, how many payments of
    /// its batch are paid by now.
    pub paid: u64,
    /// For each of them the line of the same file that it looks like; empty where that is a row of another load, and where an
    /// earlier release loaded it.
    pub others: Vec<u64>,
}

impl Alike {
    /// Leaves out the lines of rows that are never paid, and of those that look like such a row.
    pub(in crate::journal) fn leave_out(&mut self, cancelled: &BTreeSet<u64>) {
        let (mut lines, mut others) = (Vec::new(), Vec::new());
        for (at, line) in self.lines.iter().enumerate() {
            let other = self.others.get(at);
            if cancelled.contains(line) || other.is_some_and(|other| cancelled.contains(other)) {
                self.other.rows = self.other.rows.saturating_sub(1);
                continue;
            }
            lines.push(*line);
            others.extend(other);
        }
        (self.lines, self.others) = (lines, others);
    }
}

/// Why rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlikeKind {
    /// The same recipient, amount and service as rows of another load, under other references.
    OtherLoad,
    /// The same recipient, amount and name as another row of the same file, under another reference.
    SameFile,
    /// Repeats of another load, allowed by their digest.
    Allowed,
    /// The same recipient and service as another row of the same file, where one of the two takes its amount from the bill.
    SameBill,
    /// A reference that a person takes for that of another row of the same file.
    SameReference,
    /// The same recipient and amount as rows of another load, through another service.
    OtherService,
    /// What a person withdrew from another load, which was not withdrawn as a whole.
    Withdrawn,
    /// The same recipient and service as rows of another load, another amount, and no references tell them apart; other rows of
    /// the file repeat rows of that load.
    OtherAmount,
    /// The same number or account as two other rows of the same file at least, each under another name. The journal does not keep it.
    SameNumber,
    /// Rows that another load repeated since, as was allowed. The journal keeps it with that load.
    AllowedSince,
    /// Rows that look like those of a later load, under other references. The journal keeps it with that load.
    LoadedSince,
}

impl AlikeKind {
    /// Every kind that is kept, at the place of its number in the journal.
    pub(in crate::journal) const ALL: [Self; 8] = [
        Self::OtherLoad,
        Self::SameFile,
        Self::Allowed,
        Self::SameBill,
        Self::SameReference,
        Self::OtherService,
        Self::Withdrawn,
        Self::OtherAmount,
    ];
}

/// So many rows that look like rows of one other load are counted, where both sides have references; there may be more.
pub const ALIKE_MAX: u64 = 1000;

/// Lines that are named one by one.
pub const ALIKE_LINES: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_never_paid_are_not_shown_again() {
        let both = |lines: &[u64], others: &[u64], rows| Alike {
            kind: AlikeKind::SameFile,
            file: "f.csv".to_owned(),
            other: RepeatedLoad {
                batch: "b".to_owned(),
                source: "f.csv".to_owned(),
                loaded_at: Timestamp::from_millis(0),
                rows,
            },
            lines: lines.to_vec(),
            paid: 0,
            others: others.to_vec(),
        };
        let all: (&[u64], &[u64]) = (&[3, 5, 9], &[2, 4, 8]);
        for (case, cancelled, left) in [
            ("nothing", &[][..], both(all.0, all.1, 30)),
            ("another row", &[7], both(all.0, all.1, 30)),
            ("a row", &[5], both(&[3, 9], &[2, 8], 29)),
            ("what it is like", &[2], both(&[5, 9], &[4, 8], 29)),
            ("both of a pair", &[2, 3], both(&[5, 9], &[4, 8], 29)),
        ] {
            let mut alike = both(all.0, all.1, 30);
            alike.leave_out(&cancelled.iter().copied().collect());
            assert_eq!(alike, left, "{case}");
        }
        let mut of_another_load = both(&[3, 5], &[], 2);
        of_another_load.leave_out(&[3, 5].into());
        assert_eq!(of_another_load.other.rows, 0);
    }
}
