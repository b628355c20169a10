//! Whether something of a batch may be at the gateway that it is pinned to.

use crate::domain::{BatchId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::catalog::{account, rehearsal};
use crate::journal::codec::lives::with;
use crate::ledger::Purpose;
use crate::ledger::{moves, pin};
use crate::lifecycle::PaymentState;
use crate::store::tables::{batch, instruction, life, upload};
use crate::store::{Column, Read, Reads, Scan, Shape, Test, Write, Writes, shape};
use std::ops::ControlFlow;

shape! {
    /// A row with a document.
    struct WithDocument of instruction { seq: PaymentId }
}

/// Records what a new batch is loaded for. The evidence of each load repeats it, so that it is not changed in the file.
pub(in crate::journal) fn bind(
    c: &dyn Write,
    batch_id: BatchId,
    purpose: Purpose,
) -> Result<(), Error> {
    let own = Scan::of(&batch::TABLE).at(&batch_id);
    c.set(&own, batch::rehearsal, &rehearsal(purpose))?;
    Ok(())
}

/// Returns whether something of a batch is known to be at the account on record.
pub(in crate::journal) fn is_bound(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    Ok(account(c, batch_id)?.is_some() && may_be_there(c, batch_id)?)
}

/// Returns whether something of a batch may be at its gateway.
pub(in crate::journal) fn may_be_there(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    Ok(!lives(c, batch_id, 1, pin::binds)?.is_empty())
}

/// Returns how many payments of a batch a move leaves behind.
pub(super) fn left_behind(c: &dyn Read, batch_id: BatchId) -> Result<u64, Error> {
    Ok(lives(c, batch_id, usize::MAX, moves::leaves_behind)?.len() as u64)
}

/// Returns how many payments of a batch have a document that was uploaded.
pub(super) fn documents_there(c: &dyn Read, batch_id: BatchId) -> Result<u64, Error> {
    let rows = Scan::by(&instruction::instruction_with_document).at(&batch_id);
    let mut count = 0;
    c.each(&rows, |row: WithDocument| {
        count += u64::from(c.any(&Scan::of(&upload::TABLE).at(&row.seq))?);
        Ok::<_, Error>(())
    })?;
    Ok(count)
}

/// Where these stand among the columns of a life.
const ATTEMPTS: usize = 2;
const EXPOSURES: usize = 4;

/// Returns the numbers of payments whose lives are such, the newest first.
pub(in crate::journal) fn lives(
    c: &dyn Read,
    batch_id: BatchId,
    limit: usize,
    is_such: fn(&PaymentState) -> bool,
) -> Result<Vec<PaymentId>, Error> {
    /// What is read of a life, and its number behind it.
    const COLUMNS: [Column; PaymentState::COLUMNS.len() + 1] = with(life::seq);
    let newest_first = Scan::of(&life::TABLE)
        .only(life::batch_id, Test::is(&batch_id))
        .descending();
    let mut found = Vec::new();
    c.each_row(&newest_first, &COLUMNS, |row| {
        // Nothing has left of most payments of a batch that has just begun.
        let left = row.get::<i64>(ATTEMPTS)? > 0 || row.get::<i64>(EXPOSURES)? > 0;
        if left && is_such(&PaymentState::read(row)?) {
            found.push(row.get(PaymentState::COLUMNS.len())?);
        }
        Ok::<_, Error>(match found.len() < limit {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(found)
}
