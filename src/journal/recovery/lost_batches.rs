//! Batches that were posted in the place of this journal and that it does not have.

use super::noticed::open_recovery;
use super::until_done::is_rehearsal;
use crate::domain::{BatchId, EvidenceId};
use crate::journal::Error;
use crate::ledger::payer::{AsLoaded, Here, Identifiers, Lost, key, lost};
use crate::store::tables::{batch, evidence, load, payer, recovery, rejected};
use crate::store::{Read, Reads, Scan, Test, shape};
use std::collections::BTreeMap;

shape! {
    /// A batch as it was posted.
    struct Told of payer { batch: String, payments: i64, identifiers: i64, originator: Option<String> }
}
shape! {
    /// A batch of the journal.
    struct Batch of batch {
        batch_id: BatchId, name: String, originator: String, rehearsal: Option<bool>, gateway: Option<String>,
    }
}
shape! {
    /// What a load brought.
    struct Load of load { payments: Option<i64>, identifiers: Option<i64> }
}

pub(in crate::journal) fn told_batches(c: &dyn Read) -> Result<Vec<String>, Error> {
    Ok(c.values(&Scan::of(&payer::TABLE), payer::batch)?)
}

pub(in crate::journal) fn batches_lost(c: &dyn Read) -> Result<Lost, Error> {
    if open_recovery(c)?.is_none() {
        return Ok(Lost::default());
    }
    Ok(lost(
        true,
        told_batches(c)?,
        &told_loaded(c)?,
        &all_here(c)?,
    ))
}

/// Returns how the batches were loaded that were posted in the place of the journal, where that is told.
pub(in crate::journal) fn told_loaded(c: &dyn Read) -> Result<BTreeMap<String, AsLoaded>, Error> {
    let told = Scan::of(&payer::TABLE)
        .only(payer::payments, Test::Present)
        .only(payer::identifiers, Test::Present);
    let told: Vec<Told> = c.list(&told)?;
    let told = told.into_iter().map(|told| {
        let loaded = AsLoaded {
            identifiers: Identifiers::of_stored(told.payments, told.identifiers),
            originator: told.originator,
        };
        (told.batch, loaded)
    });
    Ok(told.collect())
}

/// Returns the batches of the journal, by their names as they are kept.
pub(in crate::journal) fn all_here(c: &dyn Read) -> Result<BTreeMap<String, Here>, Error> {
    let noticed: Vec<EvidenceId> =
        c.values(&Scan::of(&recovery::TABLE), recovery::newest_evidence)?;
    let noticed = noticed.into_iter().max().unwrap_or(EvidenceId::NONE);
    let mut here = BTreeMap::new();
    c.each(&Scan::of(&batch::TABLE), |batch: Batch| {
        if !is_rehearsal(batch.rehearsal, batch.gateway.as_deref()) {
            let found = Here {
                originator: batch.originator,
                loads: loads(c, batch.batch_id)?,
                seems_whole: seems_whole(c, batch.batch_id, noticed)?,
            };
            here.insert(key(&batch.name), found);
        }
        Ok::<_, Error>(())
    })?;
    Ok(here)
}

/// Returns whether all rows of a batch may be here that an earlier journal has paid: of one that was loaded since, repeats may have
/// been set aside.
fn seems_whole(c: &dyn Read, batch_id: BatchId, noticed: EvidenceId) -> Result<bool, Error> {
    let set_aside = Scan::by(&rejected::rejected_by_batch)
        .at(&batch_id)
        .only(rejected::digest, Test::Present)
        .only(rejected::replaced_by, Test::Absent);
    let was_here = Scan::of(&evidence::TABLE)
        .up_to(&noticed)
        .only(evidence::batch_id, Test::is(&batch_id));
    Ok(!c.any(&set_aside)? || c.any(&was_here)?)
}

/// Returns what each load of a batch brought, the first one at the beginning.
pub(in crate::journal) fn loads(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Vec<Option<Identifiers>>, Error> {
    let loads: Vec<Load> = c.list(&Scan::by(&load::load_by_batch).at(&batch_id))?;
    let loads = loads.into_iter().map(|load| {
        let stored = load.payments.zip(load.identifiers);
        stored.map(|(payments, sum)| Identifiers::of_stored(payments, sum))
    });
    Ok(loads.collect())
}
