//! The journal in SQLite: all SQL is in this folder.

mod acts;
mod agreed;
mod alike;
mod anew;
mod append;
mod backup;
mod begin;
mod begun;
mod belongs;
mod bills;
mod blocks;
mod callbacks;
mod canon;
mod chain;
mod changed;
mod checked;
mod commit;
mod confirmed;
mod corrections;
mod decided;
mod equal_rows;
mod evidence;
mod examples;
mod failures;
mod fingerprints;
mod fresh;
mod generations;
mod held;
#[cfg(test)]
pub(crate) mod inline;
mod inquiries;
mod insert;
mod instead;
mod intact;
mod joins;
mod linked;
mod listed;
mod load;
mod looked_for;
mod lookup;
mod marks;
mod mended;
#[cfg(test)]
mod mistakes;
mod moved;
mod nameless;
mod names;
mod on_record;
mod open;
mod operator;
mod order;
mod orders;
mod payers;
mod phrases;
mod pin;
mod prepare;
mod presumed;
mod prove;
mod read;
mod recall;
mod recent;
mod recoveries;
mod recovery;
mod repeats;
mod replacements;
mod rest;
mod restart;
mod rivals;
mod row;
mod rows;
mod run;
mod seal;
mod set_aside;
mod sides;
mod sorted;
mod stale;
mod taken;
#[cfg(test)]
mod tests;
mod totals;
mod turns;
mod unpriced;
mod unretried;
mod until_done;
mod upload;
mod vouched;
mod waits;
mod was_repeat;
mod watched;
mod withdrawal;
mod withdrawn;
mod within;
mod writer;

pub use backup::{Backup, backup};
pub use looked_for::{FOUND_MAX, FoundRow, RejectedFound, SourceFile, Wanted};
pub use open::refuse_reserved;
pub use read::{Reader, Snapshot};
pub use writer::Journal;

/// Returns whether a journal is missing that was in use in this place: its mark still lies there.
#[must_use]
pub fn is_gone(journal: &std::path::Path) -> bool {
    journal.symlink_metadata().is_err() && open::was_here(journal)
}

/// Version of the schema that this program writes.
const SCHEMA_VERSION: i64 = 5;
/// Marks a SQLite file as a journal of ours: "DSBR".
const APPLICATION_ID: i64 = 0x4453_4252;
/// What `due_at` holds when nothing is due.
const NEVER: i64 = i64::MAX;
