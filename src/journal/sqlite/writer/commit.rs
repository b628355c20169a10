//! One transaction around a group of verbs.

use rusqlite::Connection;

use crate::journal::Error;
use crate::journal::sqlite::session::transaction::WriteSession;

/// Carries out a group of verbs, all or none; what they learned is chained before it is committed.
pub(in crate::journal::sqlite) fn commit(
    connection: &mut WriteSession,
    works: Vec<Work>,
) -> Result<(), Error> {
    // IMMEDIATE waits for another writer here, where nothing has been done yet.
    connection.prepare_cached("begin immediate")?.execute([])?;
    let done = connection
        .begin()
        .and_then(|()| works.into_iter().try_for_each(|work| work(connection)))
        .and_then(|()| match connection.is_autocommit() {
            true => Ok(()),
            false => connection.save(),
        });
    match done {
        Ok(()) => {
            #[cfg(debug_assertions)]
            crate::failpoints::pass("before-commit");
            // A job that had nothing to write may have ended the transaction itself.
            let writes = !connection.is_autocommit();
            if writes && let Err(error) = end(connection) {
                let _ = connection.execute_batch("rollback");
                connection.forget();
                #[cfg(test)]
                if crate::seeded_bugs::SeededBug::FailedCommitCounts.is_active() {
                    return Ok(());
                }
                return Err(error.into());
            }
            #[cfg(debug_assertions)]
            crate::failpoints::pass("after-commit");
            match writes {
                true => connection.advance_mark(),
                false => Ok(()),
            }
        }
        Err(error) => {
            connection.forget();
            if !connection.is_autocommit() {
                connection.execute_batch("rollback")?;
            }
            Err(error)
        }
    }
}

fn end(connection: &Connection) -> rusqlite::Result<()> {
    #[cfg(test)]
    if let Some(failure) = crate::journal::sqlite::writer::fuse::failure(connection) {
        return Err(failure);
    }
    connection.prepare_cached("commit")?.execute([]).map(drop)
}

pub(in crate::journal::sqlite) type Work =
    Box<dyn FnOnce(&mut WriteSession) -> Result<(), Error> + Send>;
