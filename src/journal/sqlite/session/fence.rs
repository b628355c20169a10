//! Whether a run still has its batch.

use crate::domain::Epoch;
use crate::journal::{Error, RunToken};
use rusqlite::Connection;

/// Refuses a run that another one has taken over from.
pub(in crate::journal::sqlite) fn assert_current(
    c: &Connection,
    token: RunToken,
) -> Result<(), Error> {
    #[cfg(test)]
    if crate::seeded_bugs::SeededBug::FenceIgnored.is_active() {
        return Ok(());
    }
    if epoch(c)? == token.epoch {
        Ok(())
    } else {
        Err(Error::Fenced)
    }
}

pub(in crate::journal::sqlite) fn epoch(c: &Connection) -> Result<Epoch, Error> {
    Ok(
        c.prepare_cached("select value from meta where key = 'epoch'")?
            .query_row([], |row| row.get(0))?,
    )
}
