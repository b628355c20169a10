//! Commits that are made to fail, and the clock of whoever opens a journal, for simulated time.

use std::cell::Cell;

use crate::domain::Timestamp;
use crate::store::{Error, Transact};

thread_local! {
    /// The next commit fails; whether it is carried out all the same.
    static FAILURE: Cell<Option<bool>> = const { Cell::new(None) };
    /// What the clock shows to whoever opens a journal next.
    static CLOCK: Cell<Option<Timestamp>> = const { Cell::new(None) };
}

/// Sets the clock of whoever opens a journal next.
pub(in crate::journal) fn set_clock(now: Timestamp) {
    CLOCK.set(Some(now));
}

/// What that clock shows; `None`: it is SQLite's.
pub(crate) fn clock() -> Option<Timestamp> {
    CLOCK.get()
}

/// Says what becomes of the next commit: `None`: nothing happens to it; otherwise it fails, carried out all the same or not.
pub(in crate::journal) fn set(failure: Option<bool>) {
    FAILURE.set(failure);
}

/// What becomes of the commit that comes now, where it is to fail.
pub(in crate::journal) fn failure(connection: &dyn Transact) -> Option<Error> {
    if FAILURE.take()? {
        connection.commit().expect("memory is there");
    }
    Some(Error::Full {
        what: "database or disk is full".into(),
    })
}
