//! The file after something was forgotten: what SQLite has given free is written over, in the file and in its log.

use std::path::Path;

use super::verbs::TO_REWRITE;
use crate::journal::Error;
use crate::journal::schema::open::{self, Missing};

/// Writes the file of a journal anew, without what was removed from it. Nobody else may use it meanwhile.
///
/// # Errors
/// [`Error::Busy`] where somebody does; faults of the journal. It is whole all the same.
pub fn compact(path: &Path) -> Result<(), Error> {
    let c = open::for_writing(path, Missing::Refuse)?;
    c.execute_batch("pragma secure_delete = on; vacuum;")?;
    c.execute("delete from meta where key = ?1", [TO_REWRITE])?;
    let is_busy: bool = c.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))?;
    match is_busy {
        true => Err(Error::from(busy()).naming_holder(path)),
        false => Ok(()),
    }
}

fn busy() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
}
