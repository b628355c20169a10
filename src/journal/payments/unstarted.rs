//! Payments of which nothing is known yet: they have no life, which begins with their first claim.
//!
//! A load writes no lives, and a block of first claims is one row of evidence. The fresh payments of a lane are claimed in
//! the order of loading; `lane` says from where on there are any.

use std::ops::ControlFlow;

use crate::domain::{BatchId, LaneId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::values::due_number;
use crate::lifecycle::PaymentState;
use crate::lifecycle::State;
use crate::store::tables::{instruction, lane, life};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

/// Returns which payments from one number to another have a life, in their order.
pub(in crate::journal) fn begun_between(
    c: &dyn Read,
    span: (i64, i64),
) -> Result<Vec<PaymentId>, Error> {
    Ok(c.values(&lives_between(&span), life::seq)?)
}

/// The lives of payments from one number to another.
pub(in crate::journal) fn lives_between((first, last): &(i64, i64)) -> Scan<'_> {
    Scan::of(&life::TABLE).from(first).up_to(last)
}

/// Begins a lane, where it has not begun: its fresh payments have this number or a greater one.
pub(in crate::journal) fn begin_lane(
    c: &dyn Write,
    batch_id: BatchId,
    lane: LaneId,
    from: i64,
) -> Result<(), Error> {
    c.insert_new(&Lane {
        batch_id,
        service_id: lane,
        fresh_from: from,
    })?;
    Ok(())
}

/// Returns from where on a lane has fresh payments; `None` when it has none.
pub(in crate::journal) fn fresh_from(
    c: &dyn Read,
    batch_id: BatchId,
    lane: LaneId,
) -> Result<Option<i64>, Error> {
    let one = Scan::of(&lane::TABLE).at(&batch_id).at(&lane);
    Ok(c.value(&one, lane::fresh_from)?)
}

/// Returns whether a lane has a fresh payment with this number or a lesser one.
pub(in crate::journal) fn has_fresh(
    c: &dyn Read,
    batch_id: BatchId,
    lane: LaneId,
    up_to: PaymentId,
) -> Result<bool, Error> {
    let Some(from) = fresh_from(c, batch_id, lane)? else {
        return Ok(false);
    };
    let rows = Scan::of(&instruction::TABLE)
        .from(&from)
        .up_to(&up_to)
        .only(instruction::batch_id, Test::is(&batch_id))
        .only(instruction::service_id, Test::is(&lane))
        .only(instruction::amount, Test::Present)
        .only(instruction::document, Test::Absent);
    let mut found = false;
    c.each_row(&rows, &[instruction::seq], |row| {
        let seq: PaymentId = row.get(0)?;
        found = !c.any(&Scan::of(&life::TABLE).at(&seq))?;
        Ok::<_, Error>(match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}

/// Begins the life of a fresh payment that something is learned of before it was claimed.
pub(in crate::journal) fn begin_life(
    c: &dyn Write,
    batch_id: BatchId,
    lane: LaneId,
    seq: PaymentId,
) -> Result<(), Error> {
    begin_lives(c, (batch_id, lane), &[seq], &PaymentState::NEW)
}

/// Payments whose lives begin with one call.
const PAGE: usize = 1024;

/// Begins the lives of all fresh payments of a batch.
pub(in crate::journal) fn begin_all(c: &dyn Write, batch_id: BatchId) -> Result<(), Error> {
    let lanes = Scan::of(&lane::TABLE).at(&batch_id);
    let lanes: Vec<i64> = c.values(&lanes, lane::fresh_from)?;
    let Some(mut from) = lanes.into_iter().min() else {
        return Ok(());
    };
    loop {
        let page = Scan::of(&instruction::TABLE)
            .from(&from)
            .only(instruction::batch_id, Test::is(&batch_id))
            .only(instruction::amount, Test::Present)
            .only(instruction::document, Test::Absent)
            .limit(PAGE);
        let page: Vec<Unstarted> = c.list(&page)?;
        let (Some(first), Some(last)) = (page.first(), page.last()) else {
            break;
        };
        let begun = begun_between(c, (first.seq.get(), last.seq.get()))?;
        from = last.seq.get() + 1;
        for row in page {
            if begun.binary_search(&row.seq).is_err() {
                begin_life(c, batch_id, row.service_id, row.seq)?;
            }
        }
    }
    let newest: Option<i64> = c.value(
        &Scan::of(&instruction::TABLE).descending(),
        instruction::seq,
    )?;
    let all = Scan::of(&lane::TABLE).at(&batch_id);
    c.set(&all, lane::fresh_from, &(newest.unwrap_or(0) + 1))?;
    Ok(())
}

shape! {
    struct Unstarted of instruction { seq: PaymentId, service_id: LaneId }
}

/// Begins the lives of payments of one lane, all alike.
pub(in crate::journal) fn begin_lives(
    c: &dyn Write,
    (batch_id, service_id): (BatchId, LaneId),
    seqs: &[PaymentId],
    stands: &PaymentState,
) -> Result<(), Error> {
    let begun = |seq: &PaymentId| BegunLife {
        seq: *seq,
        batch_id,
        service_id,
        state: stands.state,
        attempts: stands.attempts,
        posted_at: stands.posted_at,
        quarantine_from: stands.quarantine_from,
        due_at: due_number(stands),
    };
    let lives: Vec<BegunLife> = seqs.iter().map(begun).collect();
    Ok(c.insert_all(&lives)?)
}

shape! {
    /// A payment of which something is known for the first time.
    struct BegunLife of life {
        seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, attempts: u32, posted_at: Option<Timestamp>,
        quarantine_from: Option<Timestamp>, due_at: i64,
    }
}
shape! {
    struct Lane of lane { batch_id: BatchId, service_id: LaneId, fresh_from: i64 }
}
