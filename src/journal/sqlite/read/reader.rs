//! A connection that only reads, and one batch as it was at one moment.

use crate::journal::sqlite::codec::values::LIFE_COLUMNS;
use crate::journal::sqlite::codec::values::PAYMENT_COLUMNS;
use crate::journal::sqlite::payments::stood::DESCRIPTION;
use rusqlite::Connection;

use crate::domain::{BatchId, BatchName};
use crate::ledger::recovery::Traces;

/// A connection that only reads.
#[derive(Debug)]
pub struct Reader {
    pub(in crate::journal::sqlite) connection: Connection,
    /// What lay beside the journal before it was opened, and when its file was born.
    pub(in crate::journal::sqlite) traces: Traces,
    pub(in crate::journal::sqlite) born: Option<u64>,
}

impl Reader {
    /// Reads through a connection that is there.
    #[cfg(test)]
    pub(in crate::journal::sqlite) fn of(connection: Connection) -> Self {
        Self {
            connection,
            traces: Traces::NONE,
            born: None,
        }
    }

    /// Gives the connection back.
    #[cfg(test)]
    pub(in crate::journal::sqlite) fn into_connection(self) -> Connection {
        self.connection
    }
}

/// One batch at one moment.
#[derive(Debug)]
pub struct Snapshot<'a> {
    pub(in crate::journal::sqlite) c: &'a Connection,
    pub(in crate::journal::sqlite) batch: BatchName,
    pub(in crate::journal::sqlite) batch_id: BatchId,
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Nothing was written; ending the transaction lets the WAL be checkpointed.
        let _ = self.c.execute_batch("rollback");
    }
}

/// Rows read at a time.
pub(in crate::journal::sqlite) const PAGE: i64 = 512;

// CROSS JOIN keeps the order of the tables: with `service` outermost, every page would read and sort all rows that are left.
pub(in crate::journal::sqlite) const RECORD_TABLES: &str = "from instruction i left join life l on l.seq = i.seq cross join service s on s.service_id = i.service_id";

// The columns of a payment, of its life, and what a record adds, each in the order its reader expects.
pub(in crate::journal::sqlite) fn record_columns() -> String {
    format!(
        "{PAYMENT_COLUMNS}, {LIFE_COLUMNS}, i.seq, l.settled_at, l.gateway_transaction_id, l.receipt_number, l.receiver_narration,
             {DESCRIPTION}, i.load_id, l.replaced_by, l.application_id"
    )
}
