//! Batches, payments and services by their names and numbers.

use rusqlite::{Connection, OptionalExtension};

use super::row::{batch_id, identifier_of};
use crate::domain::{BatchName, PayerTransactionId};
use crate::journal::Error;

/// Returns the batch of a row.
pub(super) fn batch_of(c: &Connection, seq: i64) -> Result<i64, Error> {
    Ok(
        c.prepare_cached("select batch_id from instruction where seq = ?1")?
            .query_row([seq], |row| row.get(0))?,
    )
}

/// Returns whether any batch has this identifier.
pub(super) fn knows(c: &Connection, id: PayerTransactionId) -> Result<bool, Error> {
    Ok(find(c, id)?.is_some())
}

/// Looks up a payment by its identifier.
pub(super) fn find(c: &Connection, id: PayerTransactionId) -> Result<Option<i64>, Error> {
    Ok(
        c.prepare_cached("select seq from identifier where identifier = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?,
    )
}

pub(super) fn id_of(c: &Connection, seq: i64) -> Result<PayerTransactionId, Error> {
    let mut find = c.prepare_cached("select identifier from instruction where seq = ?1")?;
    identifier_of(&find.query_row([seq], |row| row.get::<_, String>(0))?)
}

/// Returns the number of a batch, or that there is none.
pub(super) fn known_batch(c: &Connection, batch: &BatchName) -> Result<i64, Error> {
    batch_id(c, batch.as_str())?.ok_or_else(|| Error::UnknownBatch {
        name: batch.to_string(),
    })
}
