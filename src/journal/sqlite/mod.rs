//! The journal in SQLite: all SQL is in this folder.

mod append;
mod begin;
mod bills;
mod blocks;
mod canon;
mod chain;
mod commit;
mod evidence;
mod fresh;
#[cfg(test)]
pub(crate) mod inline;
mod insert;
mod listed;
mod load;
mod lookup;
#[cfg(test)]
mod mistakes;
mod open;
mod operator;
mod order;
mod phrases;
mod prepare;
mod prove;
mod read;
mod recall;
mod recent;
mod rest;
mod restart;
mod row;
mod rows;
mod run;
mod seal;
mod sorted;
#[cfg(test)]
mod tests;
mod turns;
mod unpriced;
mod upload;
mod waits;
mod writer;

pub use read::{Reader, Snapshot};
pub use writer::Journal;

/// Version of the schema that this program writes.
const SCHEMA_VERSION: i64 = 4;
/// Marks a SQLite file as a journal of ours: "DSBR".
const APPLICATION_ID: i64 = 0x4453_4252;
/// What `due_at` holds when nothing is due.
const NEVER: i64 = i64::MAX;
