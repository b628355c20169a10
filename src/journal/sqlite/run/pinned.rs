//! Whether something of a batch may be at the gateway that it is pinned to.

use crate::domain::{BatchId, PaymentId};
use crate::journal::Error;
use crate::journal::sqlite::codec::catalog::{account, rehearsal};
use crate::journal::sqlite::codec::values::{LIFE_COLUMNS, life_of};
use crate::ledger::Purpose;
use crate::ledger::pin::{self};
use crate::lifecycle::PaymentState;
use rusqlite::{Connection, params};

/// Records what a new batch is loaded for. The evidence of each load repeats it, so that it is not changed in the file.
pub(in crate::journal::sqlite) fn bind(
    c: &Connection,
    batch_id: BatchId,
    purpose: Purpose,
) -> Result<(), Error> {
    c.execute(
        "update batch set rehearsal = ?2 where batch_id = ?1",
        params![batch_id, rehearsal(purpose)],
    )?;
    Ok(())
}

/// Returns whether something of a batch is known to be at the account on record.
pub(in crate::journal::sqlite) fn is_bound(
    c: &Connection,
    batch_id: BatchId,
) -> Result<bool, Error> {
    Ok(account(c, batch_id)?.is_some() && may_be_there(c, batch_id)?)
}

/// Returns whether something of a batch may be at its gateway.
pub(in crate::journal::sqlite) fn may_be_there(
    c: &Connection,
    batch_id: BatchId,
) -> Result<bool, Error> {
    Ok(!lives(c, batch_id, 1, pin::binds)?.is_empty())
}

/// Returns the numbers of payments whose lives are such, the newest first.
pub(in crate::journal::sqlite) fn lives(
    c: &Connection,
    batch_id: BatchId,
    limit: usize,
    is_such: fn(&PaymentState) -> bool,
) -> Result<Vec<PaymentId>, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select {LIFE_COLUMNS}, l.seq from life l not indexed where l.batch_id = ?1 and (l.attempts > 0 or l.exposures > 0)
         order by l.seq desc"
    ))?;
    let mut rows = statement.query([batch_id])?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        if is_such(&life_of(row, 0)?) {
            found.push(row.get(10)?);
        }
    }
    Ok(found)
}
