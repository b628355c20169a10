//! Payments that wait until a recovery is declared done. The rule is in [`crate::ledger::recovery::waits_until_done`].

use super::noticed::open_ones;
use crate::domain::{BatchId, PaymentId};
use crate::journal::Error;
use crate::ledger::Purpose;
use crate::ledger::recovery::{Arrival, waits_until_done};
use crate::store::tables::{batch, instruction, rejected, repeat_in_recovery, watched};
use crate::store::{Read, Reads, Scan, Test, shape};

shape! {
    /// What a recovery that is open says of what came since.
    struct Open of recovery { newest_seq: PaymentId, batches_missing: bool }
}
shape! {
    /// Where a row belongs, and how often it was paid anew.
    struct Arrived of instruction { batch_id: BatchId, generation: i64 }
}
shape! {
    /// Whom a batch is for.
    struct Destined of batch { rehearsal: Option<bool>, gateway: Option<String> }
}

/// Returns whether a payment waits until the recovery is declared done.
// Of most journals no recovery is open: then this is a look at an empty table. Of what does not wait, whatever else is so of it,
// nothing more is read.
pub(in crate::journal) fn waits(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    let open: Vec<Open> = c.list(&open_ones())?;
    let Some(newest) = open.iter().map(|open| open.newest_seq).min() else {
        return Ok(false);
    };
    let missing = open.iter().any(|open| open.batches_missing);
    let since_noticed = seq > newest;
    let decide = |in_place_of_ended, is_rehearsal| {
        let arrival = Arrival {
            since_noticed,
            in_place_of_ended,
            is_rehearsal,
        };
        waits_until_done(true, missing, arrival)
    };
    if !decide(true, false) {
        return Ok(false);
    }
    let arrived: Option<Arrived> = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    let Some(arrived) = arrived else {
        return Ok(false);
    };
    let batch = Scan::of(&batch::TABLE).at(&arrived.batch_id);
    let Some(batch) = c.first::<Destined>(&batch)? else {
        return Ok(false);
    };
    let is_rehearsal = is_rehearsal(batch.rehearsal, batch.gateway.as_deref());
    let waits_at_once = decide(false, is_rehearsal);
    if waits_at_once || !decide(true, is_rehearsal) {
        return Ok(waits_at_once);
    }
    let in_place_of_ended = is_in_place_of_ended(c, seq, &arrived)?;
    Ok(decide(in_place_of_ended, is_rehearsal))
}

/// Returns whether a payment is paid in place of what had ended: a retry or a corrected row, a mended row, one of a debt that had
/// failed in another load, or that was allowed beside another row.
fn is_in_place_of_ended(c: &dyn Read, seq: PaymentId, arrived: &Arrived) -> Result<bool, Error> {
    let mended = Scan::by(&rejected::rejected_by_batch)
        .at(&arrived.batch_id)
        .only(rejected::replaced_by, Test::is(&seq));
    Ok(arrived.generation > 0
        || c.any(&Scan::of(&watched::TABLE).at(&seq))?
        || c.any(&Scan::of(&repeat_in_recovery::TABLE).at(&seq))?
        || c.any(&mended)?)
}

/// Returns whether a batch is a rehearsal: as it was loaded, or, where an earlier release did that, as it was run.
pub(in crate::journal) fn is_rehearsal(loaded_for: Option<bool>, gateway: Option<&str>) -> bool {
    let run_for = || gateway.map(Purpose::of_gateway) == Some(Purpose::Rehearsal);
    loaded_for.unwrap_or_else(run_for)
}
