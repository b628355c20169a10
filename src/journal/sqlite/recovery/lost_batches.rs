//! Batches that were posted in the place of this journal and that it does not have.

use super::noticed::open_recovery;
use crate::domain::BatchId;
use crate::journal::Error;
use crate::ledger::payer::{AsLoaded, Here, Identifiers, Lost, key, lost};
use rusqlite::Connection;
use std::collections::BTreeMap;

pub(in crate::journal::sqlite) fn told_batches(c: &Connection) -> Result<Vec<String>, Error> {
    let mut statement = c.prepare("select batch from payer order by batch")?;
    let told = statement.query_map([], |row| row.get(0))?;
    Ok(told.collect::<Result<_, _>>()?)
}

pub(in crate::journal::sqlite) fn batches_lost(c: &Connection) -> Result<Lost, Error> {
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
pub(in crate::journal::sqlite) fn told_loaded(
    c: &Connection,
) -> Result<BTreeMap<String, AsLoaded>, Error> {
    let mut statement = c.prepare(
        "select batch, payments, identifiers, originator from payer where payments is not null and identifiers is not null",
    )?;
    let told = statement.query_map([], |row| {
        let loaded = AsLoaded {
            identifiers: Identifiers::of_stored(row.get(1)?, row.get(2)?),
            originator: row.get(3)?,
        };
        Ok((row.get(0)?, loaded))
    })?;
    Ok(told.collect::<Result<_, _>>()?)
}

/// Returns the batches of the journal, by their names as they are kept.
pub(in crate::journal::sqlite) fn all_here(
    c: &Connection,
) -> Result<BTreeMap<String, Here>, Error> {
    // Of one that was loaded since, repeats may have been set aside that an earlier journal has paid.
    let mut statement = c.prepare(
        "select b.batch_id, b.name, b.originator, not exists (
                 select 1 from rejected r where r.batch_id = b.batch_id and r.digest is not null and r.replaced_by is null)
                 or exists (select 1 from evidence e where e.batch_id = b.batch_id
                     and e.evidence_id <= (select coalesce(max(newest_evidence), 0) from recovery))
         from batch b where not coalesce(b.rehearsal, b.gateway like 'sandbox %', 0)",
    )?;
    let mut rows = statement.query([])?;
    let mut here = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let batch = Here {
            originator: row.get(2)?,
            loads: loads(c, row.get(0)?)?,
            seems_whole: row.get(3)?,
        };
        here.insert(key(&row.get::<_, String>(1)?), batch);
    }
    Ok(here)
}

/// Returns what each load of a batch brought, the first one at the beginning.
pub(in crate::journal::sqlite) fn loads(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Vec<Option<Identifiers>>, Error> {
    let mut statement = c.prepare_cached(
        "select payments, identifiers from load where batch_id = ?1 order by load_id",
    )?;
    let loads = statement.query_map([batch_id], |row| {
        let (payments, identifiers): (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
        Ok(payments
            .zip(identifiers)
            .map(|(payments, sum)| Identifiers::of_stored(payments, sum)))
    })?;
    Ok(loads.collect::<Result<_, _>>()?)
}
