//! The file after something was forgotten: what SQLite has given free is written over, in the file and in its log.

use super::verbs::TO_REWRITE;
use crate::journal::schema::open::{self, Missing};
use crate::journal::{Error, FileOnly, Location};

/// Writes the file of a journal anew, without what was removed from it. Nobody else may use it meanwhile.
///
/// # Errors
/// [`Error::Busy`] where somebody does; [`Error::NotInAFile`]; faults of the journal. It is whole all the same.
pub fn compact(journal: &Location) -> Result<(), Error> {
    let path = journal.file_for(FileOnly::Rewrite)?;
    let c = open::for_writing(path, Missing::Refuse)?;
    c.execute_batch("pragma secure_delete = on; vacuum;")?;
    c.execute("delete from meta where key = ?1", [TO_REWRITE])?;
    let is_busy: bool = c.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))?;
    match is_busy {
        true => Err(Error::from(busy()).naming_holder(journal)),
        false => Ok(()),
    }
}

fn busy() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
}
