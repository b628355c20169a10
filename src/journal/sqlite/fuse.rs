//! Commits that are made to fail, for simulated time.

use std::cell::Cell;

use rusqlite::Connection;

thread_local! {
    /// The next commit fails; whether it is carried out all the same.
    static FAILURE: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Says what becomes of the next commit: `None`: nothing happens to it; otherwise it fails, carried out all the same or not.
pub(super) fn set(failure: Option<bool>) {
    FAILURE.set(failure);
}

/// What becomes of the commit that comes now, where it is to fail.
pub(super) fn failure(connection: &Connection) -> Option<rusqlite::Error> {
    if FAILURE.take()? {
        connection.execute_batch("commit").expect("memory is there");
    }
    let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
    Some(rusqlite::Error::SqliteFailure(full, None))
}
