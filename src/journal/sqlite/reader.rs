//! A connection that only reads, and one batch as it was at one moment.

use rusqlite::Connection;

use crate::domain::BatchName;
use crate::ledger::recovery::Traces;

/// A connection that only reads.
#[derive(Debug)]
pub struct Reader {
    pub(super) connection: Connection,
    /// What lay beside the journal before it was opened, and when its file was born.
    pub(super) traces: Traces,
    pub(super) born: Option<u64>,
}

impl Reader {
    /// Reads through a connection that is there.
    #[cfg(test)]
    pub(super) fn of(connection: Connection) -> Self {
        Self {
            connection,
            traces: Traces::NONE,
            born: None,
        }
    }

    /// Gives the connection back.
    #[cfg(test)]
    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }
}

/// One batch at one moment.
#[derive(Debug)]
pub struct Snapshot<'a> {
    pub(super) c: &'a Connection,
    pub(super) batch: BatchName,
    pub(super) batch_id: i64,
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Nothing was written; ending the transaction lets the WAL be checkpointed.
        let _ = self.c.execute_batch("rollback");
    }
}
