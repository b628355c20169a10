//! A connection that only reads, and one batch as it was at one moment.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::domain::{BatchId, BatchName, LaneId, ServiceCode};
use crate::journal::Error;
use crate::journal::relocation::facts::moved_to;
use crate::journal::session::keeper::Keeper;
use crate::ledger::recovery::Traces;
use crate::store::tables::service;
use crate::store::{self, Read, Reads, Scan, Transact, shape};

/// A connection that only reads.
#[derive(Debug)]
pub struct Reader {
    keeper: Keeper,
    /// What lay beside it before it was opened, or on this host of a journal on a server.
    pub(in crate::journal) beside: Option<Seen>,
    /// Where the journal of this place went, as a notice in it says.
    moved: Option<String>,
}

/// What was seen beside the file of a journal, or on this host of a journal on a server.
#[derive(Debug)]
pub(in crate::journal) struct Seen {
    pub(in crate::journal) traces: Traces,
    /// When the file was born.
    pub(in crate::journal) born: Option<u64>,
}

impl Reader {
    /// Reads what is kept there.
    pub(in crate::journal) fn of(keeper: impl Into<Keeper>, beside: Option<Seen>) -> Self {
        Self {
            keeper: keeper.into(),
            beside,
            moved: None,
        }
    }

    /// Takes in what a notice says that lies in its place.
    pub(in crate::journal) fn heeding(self, moved: Option<String>) -> Self {
        Self { moved, ..self }
    }

    /// Returns the store.
    pub(in crate::journal) fn store(&self) -> &(dyn Transact + 'static) {
        self.keeper.store()
    }

    /// Returns the connection, for what SQLite alone can do.
    pub(in crate::journal) fn sqlite(&self) -> Option<&Connection> {
        self.keeper.sqlite()
    }

    /// Returns what of the store is not as a release makes it, and what damage it finds in itself, in its words.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn misfits(&self) -> Result<Vec<String>, Error> {
        let mut found = self.store().misfits()?;
        found.extend(self.store().damage()?);
        Ok(found)
    }

    /// Returns where the journal was moved to; `None`: it is used here.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn moved_to(&self) -> Result<Option<String>, Error> {
        Ok(moved_to(self.store())?.or_else(|| self.moved.clone()))
    }

    /// Gives the store back.
    #[cfg(test)]
    pub(in crate::journal) fn into_keeper(self) -> Keeper {
        self.keeper
    }
}

/// One batch at one moment.
pub struct Snapshot<'a> {
    pub(in crate::journal) c: &'a dyn Read,
    /// What was begun to read it, and ends with it.
    pub(in crate::journal) begun: Option<&'a dyn Transact>,
    pub(in crate::journal) batch: BatchName,
    pub(in crate::journal) batch_id: BatchId,
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot")
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Nothing was written; ending the transaction lets the WAL be checkpointed.
        if let Some(store) = self.begun {
            let _ = store.rollback();
        }
    }
}

/// Rows read at a time.
pub(in crate::journal) const PAGE: usize = 512;

/// Returns the services by their numbers.
pub(in crate::journal) fn service_codes(
    c: &dyn Read,
) -> Result<BTreeMap<LaneId, ServiceCode>, Error> {
    let mut codes = BTreeMap::new();
    c.each(
        &Scan::of(&service::TABLE),
        |Service { service_id, code }| {
            codes.insert(service_id, code);
            Ok::<_, Error>(())
        },
    )?;
    Ok(codes)
}

shape! {
    struct Service of service { service_id: LaneId, code: ServiceCode }
}

/// The error of a visitor of rows; faults of the journal become one as well.
pub(super) struct Visited<E>(pub(super) E);

impl<E: From<Error>> From<Error> for Visited<E> {
    fn from(error: Error) -> Self {
        Self(error.into())
    }
}

impl<E: From<Error>> From<store::Error> for Visited<E> {
    fn from(error: store::Error) -> Self {
        Self(Error::from(error).into())
    }
}
