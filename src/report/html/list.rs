//! The list of payments as page.js is told of it: which states there are, and where their rows are.

use std::io::{self, Write};

use super::order::ON_PAGE;
use super::parts::{Counts, Place};
use crate::report::files::pages::{FOLDER, Staged};
use crate::report::fold::reconciliation::Reconciliation;
use crate::report::rows::entry::StateName;

/// Where the payments are, and how many of each state.
pub(super) struct List {
    place: Place,
    index: Vec<Counts>,
    /// The states that there are, as the page tells of them.
    pub(super) states: Vec<StateName>,
}

impl List {
    pub(super) fn new(
        (place, index): (Place, Vec<Counts>),
        reconciliation: &Reconciliation,
    ) -> Self {
        let there = |state: &StateName| reconciliation.state(*state).count > 0;
        Self {
            place,
            index,
            states: ON_PAGE.into_iter().filter(there).collect(),
        }
    }

    /// Returns whether the rows are in files beside the page.
    pub(super) fn is_beside(&self) -> bool {
        matches!(self.place, Place::Beside(_))
    }

    pub(super) fn into_staged(self) -> Option<Staged> {
        match self.place {
            Place::Within(_) => None,
            Place::Beside(staged) => Some(staged),
        }
    }

    /// Writes what the script reads: the parts themselves, or the folder they are in, and of each part how many payments it has of
    /// each state.
    pub(super) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        match &self.place {
            Place::Within(parts) => {
                out.write_all(b"{\"parts\":[")?;
                for (part, comma) in parts.iter().zip(separators()) {
                    write!(out, "{comma}\n\"")?;
                    out.write_all(part)?;
                    out.write_all(b"\"")?;
                }
            }
            Place::Beside(staged) => {
                write!(
                    out,
                    "{{\"folder\":\"{FOLDER}/{}\",\"parts\":[",
                    staged.key()
                )?;
            }
        }
        out.write_all(b"],\n\"counts\":[")?;
        for (counts, comma) in self.index.iter().zip(separators()) {
            write!(out, "{comma}[")?;
            for (state, comma) in self.states.iter().zip(separators()) {
                let count = counts.get(*state as usize).copied().unwrap_or_default();
                write!(out, "{comma}{count}")?;
            }
            out.write_all(b"]")?;
        }
        out.write_all(b"]}")
    }
}

fn separators() -> impl Iterator<Item = &'static str> {
    std::iter::once("").chain(std::iter::repeat(","))
}
