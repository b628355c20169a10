//! One entry as every file of the report shows it.

use super::entry::{Entry, Prepaid};
use crate::domain::Electricity;

/// An entry with its texts as the files show them, made once for all of them.
pub(in crate::report) struct Row<'a> {
    pub(in crate::report) entry: &'a Entry<'a>,
    pub(in crate::report) amount: &'a str,
    pub(in crate::report) currency: &'a str,
    pub(in crate::report) posted_at: &'a str,
    pub(in crate::report) settled_at: &'a str,
    pub(in crate::report) electricity: Option<Electricity>,
}

impl Row<'_> {
    /// Returns whether the narration is, or may be, a token: the page is passed around more freely than the other files.
    pub(in crate::report) fn is_bearer(&self) -> bool {
        self.electricity.is_some() || self.entry.prepaid == Prepaid::Yes
    }
}
