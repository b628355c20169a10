//! Where payments stand that were touched of late: they need not be read again before they are written.
//!
//! True only as long as nobody else writes: SQLite tells whether another connection did.

use std::collections::HashMap;

use rusqlite::Connection;

use super::evidence::Subject;
use crate::journal::Error;

/// Payments that are remembered: at 160 bytes, less than 4 MB.
const SUBJECTS_MAX: usize = 16 * 1024;

/// What one connection knows of the payments that it wrote.
#[derive(Default)]
pub(super) struct Recent {
    subjects: HashMap<i64, Subject>,
    version: Option<i64>,
}

impl Recent {
    /// Begins a transaction, which has the journal for itself: forgets everything if another connection has written since.
    pub(super) fn begin(&mut self, c: &Connection) -> Result<(), Error> {
        let version = c
            .prepare_cached("pragma data_version")?
            .query_row([], |row| row.get(0))?;
        if self.version.replace(version) != Some(version) {
            self.subjects.clear();
        }
        Ok(())
    }

    pub(super) fn get(&self, seq: i64) -> Option<Subject> {
        self.subjects.get(&seq).copied()
    }

    pub(super) fn put(&mut self, subject: Subject) {
        if self.subjects.len() >= SUBJECTS_MAX {
            self.subjects.clear();
        }
        self.subjects.insert(subject.moved.seq, subject);
    }

    pub(super) fn change(&mut self, seq: i64, change: impl FnOnce(&mut Subject)) {
        if let Some(subject) = self.subjects.get_mut(&seq) {
            change(subject);
        }
    }

    pub(super) fn forget(&mut self) {
        self.subjects.clear();
    }
}
