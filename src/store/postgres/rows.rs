//! Rows as they come from the server.

use super::codec::{self, Kind, Raw};
use super::known::Columns;
use crate::store::{Error, Value};

/// Rows of the first page, and of the greatest one: most passes want few rows, but for those that say how many.
pub(super) const PAGE: (usize, usize) = (16, 1024);

pub(super) fn value_of<'r>(
    row: &'r tokio_postgres::Row,
    kinds: &[Kind],
    at: usize,
) -> Result<Value<'r>, Error> {
    let raw = row.try_get::<_, Option<Raw<'_>>>(at);
    let raw = raw.map_err(|error| Error::corrupt(error.to_string()))?;
    let kind = kinds
        .get(at)
        .ok_or_else(|| Error::corrupt("a column that nobody asked for"))?;
    codec::value(*kind, raw)
}

/// Reads all columns of a row.
pub(super) fn columns_of(row: &tokio_postgres::Row, kinds: &[Kind]) -> Result<Columns, Error> {
    let values = (0..kinds.len()).map(|at| Ok(value_of(row, kinds, at)?.into_owned()));
    values.collect()
}

/// Returns the number behind the greatest one of a table.
pub(super) fn next_number(rows: &[tokio_postgres::Row]) -> Result<i64, Error> {
    let newest = rows.first().and_then(|row| row.try_get(0).ok());
    let newest: i64 = newest.ok_or_else(|| Error::corrupt("no greatest number"))?;
    let next = newest.max(0).checked_add(1);
    next.ok_or_else(|| Error::corrupt("a table whose numbers are used up"))
}
