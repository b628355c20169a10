//! Nobody signs for what was edited: every row is compared with the chain before there is a text.

use std::ops::ControlFlow;

use super::figures::{Block, Retried, blocks_of, newest_digest};
use crate::domain::{BatchId, BatchName, PaymentId};
use crate::journal::Error;
use crate::journal::codec::events::REPLACED;
use crate::journal::evidence::encoding::Digest;
use crate::journal::evidence::instruction_blocks::{instruction_digest, stored};
use crate::journal::run::pin::assert_nothing_was_edited;
use crate::journal::session::transaction::WriteSession;
use crate::store::tables::{bill, instruction, life};
use crate::store::{Read, Reads, Scan, Test, shape};

/// Refuses a batch that is not what was recorded of it.
pub(in crate::journal) fn assert_as_loaded(
    c: &WriteSession,
    batch_id: BatchId,
    batch: &BatchName,
) -> Result<(), Error> {
    assert_nothing_was_edited(c, batch_id, batch)?;
    match edited(c, batch_id)? {
        Some(what) => Err(Error::Altered {
            batch: batch.clone(),
            what,
        }),
        None => Ok(()),
    }
}

/// Returns the first rows that are not as they were loaded, in words.
fn edited(c: &dyn Read, batch_id: BatchId) -> Result<Option<String>, Error> {
    let mut found = None;
    c.each_until(&blocks_of(&batch_id), |block: Block| {
        found = of_block(c, batch_id, &block)?;
        Ok::<_, Error>(go_on_without(&found))
    })?;
    if found.is_some() {
        return Ok(found);
    }
    let retries = Scan::by(&life::replaced).at(&batch_id);
    c.each_until(&retries, |retry: Retried| {
        found = of_retry(c, retry)?;
        Ok::<_, Error>(go_on_without(&found))
    })?;
    match found {
        Some(_) => Ok(found),
        None => priced(c, batch_id),
    }
}

fn go_on_without(found: &Option<String>) -> ControlFlow<()> {
    match found {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    }
}

/// Returns what was edited among rows that were loaded together.
fn of_block(c: &dyn Read, batch_id: BatchId, block: &Block) -> Result<Option<String>, Error> {
    let recorded = block.digest()?;
    let (first, last) = (block.number("first")?, block.number("last")?);
    let mut found = None;
    stored(c, batch_id, (first, last), usize::MAX, |block| {
        found = Some(block.digest);
        Ok(())
    })?;
    Ok((found != Some(recorded)).then(|| {
        format!("a row among those with the numbers {first} to {last} is not as it was loaded")
    }))
}

/// Returns what was edited of a row that takes the place of another one.
fn of_retry(c: &dyn Read, retry: Retried) -> Result<Option<String>, Error> {
    let recorded: Option<Digest> = newest_digest(c, retry.seq, REPLACED)?;
    let seq = retry.replaced_by;
    // An earlier version kept none.
    let is_other = recorded.is_some() && instruction_digest(c, seq)? != recorded;
    Ok(is_other.then(|| {
        format!(
            "the row with the number {seq}, which takes the place of another one, is not as it was recorded"
        )
    }))
}

/// Returns which row has another amount than its bill told.
fn priced(c: &dyn Read, batch_id: BatchId) -> Result<Option<String>, Error> {
    shape! {
        struct Told of bill { seq: PaymentId, due: Option<i64> }
    }
    let told = Scan::of(&bill::TABLE).only(bill::outcome, Test::is(&0_i64));
    let mut found = None;
    c.each_until(&told, |Told { seq, due }| {
        let billed = Scan::of(&instruction::TABLE)
            .at(&seq)
            .only(instruction::batch_id, Test::is(&batch_id))
            .only(instruction::as_due, Test::is(&true));
        let amount: Option<Option<i64>> = c.value(&billed, instruction::amount)?;
        if amount.is_some_and(|amount| amount != due) {
            found = Some(format!(
                "the amount of the row with the number {seq} is not what its bill told"
            ));
        }
        Ok::<_, Error>(go_on_without(&found))
    })?;
    Ok(found)
}
