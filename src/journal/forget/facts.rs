//! What decides whether the persons of a batch may be forgotten.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::domain::{BatchId, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::catalog::of_batch;
use crate::journal::codec::events::FORGOTTEN;
use crate::journal::codec::values::{UNPRICED, corrupt, state_of};
use crate::journal::recovery::noticed::open_recovery;
use crate::ledger::forgetting::Facts;
use crate::lifecycle::State;
use crate::store::tables::{
    batch, evidence, inquiry, instruction, life, load, rejected, tally, watched,
};
use crate::store::{Read, Reads, Scan, Test};

/// For so long people stay whatever is configured: ceilings of a month count what they were paid.
#[cfg(not(test))]
const LEAST: Duration = Duration::from_secs(32 * 24 * 60 * 60);
// The simulation lasts for hours.
#[cfg(test)]
const LEAST: Duration = Duration::ZERO;

/// Returns whether people of a batch were forgotten.
pub(in crate::journal) fn has_forgotten(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let told = Scan::by(&evidence::about_batch).at(&FORGOTTEN);
    Ok(c.any(&told.at(&batch_id))?)
}

/// Reads the facts of a batch; `window`: for so long rows are compared with those of the batch.
pub(in crate::journal) fn facts(
    c: &dyn Read,
    batch_id: BatchId,
    window: Duration,
    now: Timestamp,
) -> Result<Facts, Error> {
    let (states, unpriced) = states(c, batch_id)?;
    let newest = newest(c, batch_id)?;
    // Nothing is compared with a rehearsal: it moved no money.
    let rehearsal: Option<bool> = of_batch(c, batch_id, batch::rehearsal)?;
    let window = match rehearsal {
        Some(true) => Duration::ZERO,
        Some(false) | None => window.max(LEAST),
    };
    let waiting = Scan::by(&rejected::rejected_by_batch)
        .at(&batch_id)
        .only(rejected::replaced_by, Test::Absent)
        .only(rejected::withdrawn, Test::Absent);
    let unsalted = Scan::of(&instruction::TABLE)
        .only(instruction::batch_id, Test::is(&batch_id))
        .only(instruction::salt, Test::Absent);
    Ok(Facts {
        states,
        unpriced,
        rejected: c.any(&waiting)?,
        inquiries: c.any(&Scan::by(&inquiry::inquiry_queue).at(&batch_id))?,
        watched: is_watched(c, batch_id)?,
        recovering: open_recovery(c)?.is_some(),
        unsalted: c.any(&unsalted)?,
        newest,
        compared_until: newest.after(window),
        now,
    })
}

/// Returns the states that payments of a batch have, in the order of the tally, and whether rows wait for their bills.
fn states(c: &dyn Read, batch_id: BatchId) -> Result<(Vec<State>, bool), Error> {
    let tallies = Scan::of(&tally::TABLE).at(&batch_id);
    let tallies = tallies.only(tally::count, Test::at_least(&1_i64));
    let mut states = Vec::new();
    let mut unpriced = false;
    for number in c.values(&tallies, tally::state)? {
        if number == UNPRICED {
            unpriced = true;
            continue;
        }
        let state = state_of(number)?;
        if !states.contains(&state) {
            states.push(state);
        }
    }
    Ok((states, unpriced))
}

/// Returns the time of the newest load, claim or retry of a batch.
fn newest(c: &dyn Read, batch_id: BatchId) -> Result<Timestamp, Error> {
    let loads = Scan::by(&load::load_by_batch).at(&batch_id);
    let loaded: Vec<Timestamp> = c.values(&loads, load::loaded_at)?;
    let loaded = loaded.into_iter().max();
    let mut newest = loaded.ok_or_else(|| corrupt("a batch without a load"))?;
    let claimed: Option<Timestamp> = of_batch(c, batch_id, batch::last_claim_at)?;
    newest = claimed.map_or(newest, |at| newest.max(at));
    let replaced = Scan::by(&life::replaced).at(&batch_id);
    c.each_row(&replaced, &[life::replaced_by], |row| {
        let later: PaymentId = row.get(0)?;
        let retry = Scan::of(&instruction::TABLE).at(&later);
        let ordered: Option<Timestamp> = c.value(&retry, instruction::received_at)?;
        newest = ordered.map_or(newest, |at| newest.max(at));
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(newest)
}

/// Returns whether a row that is still to leave is watched for a row of a batch.
fn is_watched(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let pairs = Scan::by(&watched::watched_other);
    let mut found = false;
    c.each_row(&pairs, &[watched::other, watched::seq], |row| {
        let (other, seq): (PaymentId, PaymentId) = (row.get(0)?, row.get(1)?);
        let own = Scan::of(&instruction::TABLE).at(&other);
        if c.value(&own, instruction::batch_id)? == Some(batch_id) {
            let state: Option<State> = c.value(&Scan::of(&life::TABLE).at(&seq), life::state)?;
            found = state.is_none_or(|state| !state.is_finished());
        }
        Ok::<_, Error>(match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}
