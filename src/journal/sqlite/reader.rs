//! A connection that only reads, and one batch as it was at one moment.

use super::row::LIFE_COLUMNS;
use super::row::PAYMENT_COLUMNS;
use super::stood::DESCRIPTION;
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

/// Rows read at a time.
pub(super) const PAGE: i64 = 512;

// CROSS JOIN keeps the order of the tables: with `service` outermost, every page would read and sort all rows that are left.
pub(super) const RECORD_TABLES: &str = "from instruction i left join life l on l.seq = i.seq cross join service s on s.service_id = i.service_id";

// The columns of a payment, of its life, and what a record adds, each in the order its reader expects.
pub(super) fn record_columns() -> String {
    format!(
        "{PAYMENT_COLUMNS}, {LIFE_COLUMNS}, i.seq, l.settled_at, l.gateway_transaction_id, l.receipt_number, l.receiver_narration,
             {DESCRIPTION}, i.load_id, l.replaced_by, l.application_id"
    )
}
