//! Documents as they were checked when their rows were loaded: what is uploaded later are these bytes and no others.

use rusqlite::{Connection, OptionalExtension, params};

use crate::domain::PaymentId;
use crate::journal::Error;
use crate::journal::sqlite::codec::events::DOCUMENT_CHECKED;

/// Prepares for the documents of a load.
pub(in crate::journal::sqlite) fn begin(c: &Connection) -> Result<(), Error> {
    Ok(c.execute_batch(
        "create temp table if not exists checked (seq integer primary key, digest blob not null); delete from temp.checked;",
    )?)
}

/// Returns SHA-256 of a payment's document as it was checked; `None` where an earlier release has loaded it.
pub(in crate::journal::sqlite) fn checked_digest(
    c: &Connection,
    seq: PaymentId,
) -> Result<Option<Vec<u8>>, Error> {
    Ok(c.prepare_cached(
        "select digest from evidence indexed by evidence_by_payment where seq = ?1 and event = ?2 order by evidence_id desc limit 1",
    )?
    .query_row(params![seq, DOCUMENT_CHECKED], |row| row.get(0))
    .optional()?)
}
