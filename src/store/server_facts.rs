//! What is seen of a server that keeps a journal, for people who operate it.

use std::time::Duration;

use crate::ledger::recovery::Origin;

/// What is seen of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// Its release, as it numbers itself: 150018 is 15.18.
    pub release: i64,
    /// Whether it follows another one, and only reads.
    pub is_standby: bool,
    /// Which copy of the journal it has.
    pub origin: Origin,
    /// Whether what is said to it can be read on the way: `None`: it does not leave this machine.
    pub is_encrypted: Option<bool>,
    /// `fsync`: a commit waits for the disk.
    pub fsync: String,
    /// `full_page_writes`: a page that a loss of power has torn is mended.
    pub full_page_writes: String,
    /// `synchronous_commit`, as sessions have it that say nothing.
    pub synchronous_commit: String,
    /// `synchronous_standby_names`; empty: nobody is waited for.
    pub synchronous_standby_names: String,
    /// Commits wait for all standbys that these name, and not for some of them.
    pub waits_for_all: bool,
    /// The address says that a server which is promoted lacks nothing (`promoted=whole`).
    pub is_promoted_whole: bool,
    /// `data_checksums`: pages that a disk has changed are noticed.
    pub data_checksums: String,
    /// `autovacuum`: rows that were written over give their place free.
    pub autovacuum: String,
    /// The encoding of the database.
    pub encoding: String,
    /// The collation of the database.
    pub collation: String,
    /// Standbys that follow it, and whether commits wait for each.
    pub standbys: Vec<Standby>,
    /// Replication slots.
    pub slots: Vec<Slot>,
    /// Connections in use.
    pub connections: i64,
    /// The most that there may be.
    pub connections_max: i64,
    /// Transactions of others in this database that have been open for longer than a few minutes, as far as this user may see them, and
    /// the age of the oldest.
    pub long_transactions: (i64, Duration),
    /// Bytes of the database.
    pub size: i64,
    /// The least time of several round trips.
    pub round_trip: Duration,
    /// How far its clock is ahead of the one of this machine, in milliseconds.
    pub ahead: i64,
    /// How wrong that may be, in milliseconds.
    pub ahead_error: i64,
}

/// A standby that follows a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standby {
    /// Its name; empty where this user may not see it.
    pub name: String,
    /// `sync`, `quorum`, `potential` or `async`; empty where this user may not see it.
    pub sync_state: String,
}

/// A replication slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// Somebody reads from it.
    pub is_active: bool,
    /// Bytes of the log that are kept for it.
    pub held: i64,
}
