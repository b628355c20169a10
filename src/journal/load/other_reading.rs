//! Files that were read by another layout, or by none.

use std::ops::ControlFlow;

use super::ascending::{Ascending, Stands};
use crate::domain::{BatchId, LoadId};
use crate::journal::codec::catalog::{of_batch, purpose};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, LoadPlan, LoadRefusal};
use crate::ledger::Purpose;
use crate::lifecycle::State;
use crate::store::tables::{batch, instruction, load};
use crate::store::{Read, Reads, Scan, Test, shape};

shape! {
    /// A load, and by which layout its file was read.
    struct ReadBy of load {
        load_id: LoadId, batch_id: BatchId, source: String, layout: Option<String>, file_digest: Option<String>,
    }
}

/// The loads that came to an end.
fn ended() -> Scan<'static> {
    Scan::of(&load::TABLE).only(load::digest, Test::is_not(&""))
}

/// Returns whether a batch is none that is rehearsed.
fn may_pay(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    Ok(purpose(c, batch_id)? != Purpose::Rehearsal)
}

/// Returns the first of these loads that is meant.
fn first_that(
    c: &dyn Read,
    loads: &Scan<'_>,
    is_meant: impl Fn(&ReadBy) -> Result<bool, Error>,
) -> Result<Option<ReadBy>, Error> {
    let mut found = None;
    c.each_until(loads, |load: ReadBy| {
        Ok::<_, Error>(match is_meant(&load)? {
            true => {
                found = Some(load);
                ControlFlow::Break(())
            }
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}

/// Returns why nothing is loaded, if the same batch, or the same file for another batch, was read by a layout of this name that said
/// something else: rows without a reference would get other identifiers.
pub(in crate::journal) fn layout_changed(
    c: &WriteSession,
    plan: &LoadPlan,
    batch_id: Option<BatchId>,
) -> Result<Option<LoadRefusal>, Error> {
    let Some(layout) = &plan.layout else {
        return Ok(None);
    };
    // A layout is tried in rehearsals until it is right.
    let is_for_money = plan.purpose != Purpose::Rehearsal;
    let others = ended()
        .only(load::layout, Test::is(&layout.name))
        .only(load::layout_digest, Test::Present)
        .only(load::layout_digest, Test::is_not(&layout.digest));
    let found = first_that(c, &others, |load| {
        let is_same_file = load.file_digest.as_ref() == Some(&layout.file);
        Ok(Some(load.batch_id) == batch_id
            || is_for_money && is_same_file && may_pay(c, load.batch_id)?)
    })?;
    let Some(found) = found else {
        return Ok(None);
    };
    Ok(Some(LoadRefusal::LayoutChanged {
        layout: layout.name.clone(),
        batch: of_batch(c, found.batch_id, batch::name)?,
        source: found.source,
    }))
}

/// Returns why nothing is loaded, if every file of the batch was read by a layout, and the new one by none: amounts may be others.
pub(in crate::journal) fn layout_missing(
    c: &WriteSession,
    plan: &LoadPlan,
    batch_id: Option<BatchId>,
) -> Result<Option<LoadRefusal>, Error> {
    let Some(batch_id) = batch_id.filter(|_| plan.layout.is_none() && !plan.is_ours) else {
        return Ok(None);
    };
    let of_batch = Scan::by(&load::load_by_batch)
        .at(&batch_id)
        .only(load::digest, Test::is_not(&""));
    let last: Option<Option<String>> = c.value(&of_batch.clone().descending(), load::layout)?;
    match last.flatten() {
        Some(layout) if !c.any(&of_batch.only(load::layout, Test::Absent))? => {
            Ok(Some(LoadRefusal::LayoutMissing { layout }))
        }
        _ => Ok(None),
    }
}

/// Returns why nothing is loaded, if the same file was read by another layout for another batch that pays somebody: these rows have
/// other amounts or recipients, so that nothing else would tell them.
pub(in crate::journal) fn read_before(
    c: &WriteSession,
    plan: &LoadPlan,
    batch_id: Option<BatchId>,
) -> Result<Option<LoadRefusal>, Error> {
    let Some(layout) = &plan.layout else {
        return Ok(None);
    };
    if plan.purpose == Purpose::Rehearsal {
        return Ok(None);
    }
    let others = ended()
        .only(load::file_digest, Test::is(&layout.file))
        .only(load::layout, Test::Present)
        .only(load::layout, Test::is_not(&layout.name));
    let found = first_that(c, &others, |load| {
        Ok(Some(load.batch_id) != batch_id
            && may_pay(c, load.batch_id)?
            && pays_somebody(c, load.load_id)?)
    })?;
    let Some(ReadBy {
        batch_id,
        layout: Some(layout),
        ..
    }) = found
    else {
        return Ok(None);
    };
    let batch = of_batch(c, batch_id, batch::name)?;
    Ok(Some(LoadRefusal::ReadBefore { layout, batch }))
}

/// Returns whether a load has a payment that neither failed nor was cancelled.
fn pays_somebody(c: &dyn Read, load_id: LoadId) -> Result<bool, Error> {
    let mut lives = Ascending::<Stands>::of(c);
    let of_load = Scan::of(&instruction::TABLE).only(instruction::load_id, Test::is(&load_id));
    let mut found = false;
    c.each_row(&of_load, &[instruction::seq], |row| {
        let is_unpaid = |life: &Stands| matches!(life.state, State::Failed | State::Cancelled);
        found = !lives.find(row.get(0)?)?.is_some_and(is_unpaid);
        Ok::<_, Error>(match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}
