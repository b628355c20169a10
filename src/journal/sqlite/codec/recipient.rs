//! Recipients, compared by SQLite as the ledger compares them.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::journal::Error;
use crate::ledger::likeness::of_account;

/// Lets a statement compare recipients as the ledger does: without zeros in front, dashes and blanks.
pub(in crate::journal::sqlite) fn know_recipients(c: &Connection) -> Result<(), Error> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    c.create_scalar_function("recipient", 1, flags, |context| {
        let text: String = context.get(0)?;
        Ok(of_account(&text).into_owned())
    })?;
    Ok(())
}
