//! Where payments stand that were touched of late: they need not be read again before they are written.
//!
//! True only as long as nobody else writes: SQLite tells whether another connection did.

use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::evidence::Subject;
use crate::journal::Error;

/// Payments of a generation; two of them are remembered, at 200 bytes each. As many as a table of 4,096 holds before it grows.
const GENERATION_MAX: usize = 3584;

/// What one connection knows of the open payments that it wrote.
#[derive(Default)]
pub(super) struct Recent {
    young: FxHashMap<i64, Subject>,
    old: FxHashMap<i64, Subject>,
    version: Option<i64>,
}

impl Recent {
    /// Begins a transaction, which has the journal for itself: forgets everything if another connection has written since.
    pub(super) fn begin(&mut self, c: &Connection) -> Result<(), Error> {
        let version = c
            .prepare_cached("pragma data_version")?
            .query_row([], |row| row.get(0))?;
        if self.version.replace(version) != Some(version) {
            self.forget();
        }
        Ok(())
    }

    pub(super) fn get(&self, seq: i64) -> Option<Subject> {
        let found = self.young.get(&seq).or_else(|| self.old.get(&seq));
        found.copied()
    }

    pub(super) fn put(&mut self, subject: Subject) {
        let seq = subject.moved.seq;
        self.old.remove(&seq);
        if subject.moved.life.state.is_finished() {
            // Little more is heard of it.
            self.young.remove(&seq);
            return;
        }
        if self.young.len() >= GENERATION_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(seq, subject);
    }

    pub(super) fn change(&mut self, seq: i64, change: impl FnOnce(&mut Subject)) {
        if let Some(subject) = self.young.get_mut(&seq).or_else(|| self.old.get_mut(&seq)) {
            change(subject);
        }
    }

    pub(super) fn forget(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}
