//! Whether a run still has its batch.

use crate::domain::{Epoch, Timestamp};
use crate::journal::codec::facts::fact;
use crate::journal::codec::values::corrupt;
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Closed, Error, RunToken};
use crate::store::tables::session;
use crate::store::{Read, Reads, Scan, Test, shape};

/// Refuses a run that another one has taken over from.
pub(in crate::journal) fn assert_current(c: &WriteSession, token: RunToken) -> Result<(), Error> {
    #[cfg(debug_assertions)]
    if crate::failpoints::is_without("fence") {
        return Ok(());
    }
    let is_current = match c.is_shared() {
        true => planted!(journal::session_is_open(is_open(c, token)?)),
        false => epoch(c)? == token.epoch,
    };
    if planted!(journal::is_current(is_current)) {
        Ok(())
    } else {
        Err(fenced(c, token)?)
    }
}

shape! {
    struct Ended of session { lease_until: Timestamp, closed_at: Option<Timestamp> }
}

/// Says why a run is no longer the one that has its batch.
fn fenced(c: &WriteSession, token: RunToken) -> Result<Error, Error> {
    if !c.is_shared() {
        return Ok(Error::Fenced);
    }
    let own: Option<Ended> = c.first(&Scan::of(&session::TABLE).at(&token.epoch))?;
    let lease_ran_out = own.is_some_and(|own| own.closed_at.is_some_and(|at| own.lease_until < at));
    let clock_was_set = c.watched_clock(token.epoch, |clock| clock.was_set());
    let why = match (clock_was_set, lease_ran_out) {
        (Some(true), _) => Closed::ClockSet,
        (_, true) => Closed::LeaseRanOut,
        (_, false) => Closed::ServerChanged,
    };
    Ok(Error::SessionClosed { why })
}

/// Returns whether the session of a run is open, on a journal that several runs share.
pub(in crate::journal) fn is_open(c: &dyn Read, token: RunToken) -> Result<bool, Error> {
    let own = Scan::of(&session::TABLE)
        .at(&token.epoch)
        .only(session::closed_at, Test::Absent);
    Ok(c.any(&own)?)
}

pub(in crate::journal) fn epoch(c: &dyn Read) -> Result<Epoch, Error> {
    fact(c, "epoch")?.ok_or_else(|| corrupt("a run without a number"))
}
