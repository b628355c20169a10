//! One transaction around a group of verbs.

use crate::journal::Error;
use crate::journal::session::transaction::WriteSession;
use crate::store::Transact;

/// Carries out a group of verbs, all or none; what they learned is chained before it is committed.
pub(in crate::journal) fn commit(
    connection: &mut WriteSession,
    works: Vec<Work>,
) -> Result<(), Error> {
    // Another writer is waited for here, where nothing has been done yet.
    Transact::begin(&**connection)?;
    let done = connection
        .begin()
        .and_then(|()| works.into_iter().try_for_each(|work| work(connection)))
        .and_then(|()| match connection.is_open() {
            true => connection.save(),
            false => Ok(()),
        });
    match done {
        Ok(()) => {
            #[cfg(debug_assertions)]
            crate::failpoints::pass("before-commit");
            // A job that had nothing to write may have ended the transaction itself.
            let writes = connection.is_open();
            if writes && let Err(error) = end(&**connection) {
                let _ = connection.rollback();
                connection.forget();
                return planted!(journal::failed_commit(Err(error)));
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
            if connection.is_open() {
                connection.rollback()?;
            }
            Err(error)
        }
    }
}

fn end(connection: &dyn Transact) -> Result<(), Error> {
    #[cfg(test)]
    if let Some(failure) = crate::journal::writer::fuse::failure(connection) {
        return Err(failure.into());
    }
    Ok(connection.commit()?)
}

pub(in crate::journal) type Work = Box<dyn FnOnce(&mut WriteSession) -> Result<(), Error> + Send>;
