//! Where a batch belongs, by its evidence: what was edited in the file is not believed.

use rusqlite::Connection;

use crate::domain::{BatchId, BatchName};
use crate::journal::Error;
use crate::journal::sqlite::codec::catalog::{account, loaded_for, reading, rehearsal};
use crate::journal::sqlite::codec::events::{
    FILE_LOADED, GATEWAY_MOVED, PINNED, READING_ACCEPTED, READING_TAKEN,
};
use crate::journal::sqlite::evidence::digests::pin_digest;
use crate::journal::sqlite::evidence::encoding::Digest;
use crate::ledger::pin::{Belongs, altered};

/// Refuses a batch whose purpose, gateway, account or way of reading is not what its evidence says.
///
/// # Errors
/// [`Error::Altered`].
pub(in crate::journal::sqlite) fn assert_as_recorded(
    c: &Connection,
    batch_id: BatchId,
    batch: &BatchName,
) -> Result<(), Error> {
    match altered(&stands(c, batch_id)?, &recorded(c, batch_id)?) {
        None => Ok(()),
        Some(what) => Err(Error::Altered {
            batch: batch.clone(),
            what: what.into(),
        }),
    }
}

/// Refuses a journal that has a rehearsal which was none when it was loaded: rehearsals count for nothing where rows are compared.
///
/// # Errors
/// [`Error::AlteredRow`].
pub(in crate::journal::sqlite) fn assert_rehearsals(c: &Connection) -> Result<(), Error> {
    let mut statement = c.prepare_cached(
        "select batch_id, name from batch where coalesce(rehearsal, gateway like 'sandbox %', 0) = 1",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (batch_id, name): (BatchId, String) = (row.get(0)?, row.get(1)?);
        if let Some(what) = altered(&stands(c, batch_id)?, &recorded(c, batch_id)?) {
            return Err(Error::AlteredRow {
                batch: BatchName::parse(&name)
                    .map_err(|_| crate::journal::sqlite::codec::values::corrupt("a batch name"))?,
                what: what.into(),
            });
        }
    }
    Ok(())
}

fn stands(c: &Connection, batch_id: BatchId) -> Result<Belongs, Error> {
    let is_pinned: bool = c
        .prepare_cached("select gateway is not null from batch where batch_id = ?1")?
        .query_row([batch_id], |row| row.get(0))?;
    Ok(Belongs {
        rehearsal: rehearsal(loaded_for(c, batch_id)?),
        gateway: match is_pinned {
            true => pin_digest(c, batch_id)?,
            false => None,
        },
        account: account(c, batch_id)?,
        reading: reading(c, batch_id)?,
    })
}

fn recorded(c: &Connection, batch_id: BatchId) -> Result<Belongs, Error> {
    let mut statement = c.prepare_cached(
        "select event, digest, detail ->> 'rehearsal', detail ->> 'account', detail ->> 'reading' from evidence indexed by about_batch
         where seq = 0 and event in (26, 27, 60, 61, 85, 120, 121) and batch_id = ?1 order by evidence_id",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut recorded = Belongs::default();
    while let Some(row) = rows.next()? {
        match row.get(0)? {
            FILE_LOADED => {
                recorded.rehearsal = row.get::<_, Option<bool>>(2)?.or(recorded.rehearsal)
            }
            PINNED | GATEWAY_MOVED => recorded.gateway = row.get::<_, Option<Digest>>(1)?,
            READING_TAKEN | READING_ACCEPTED => recorded.reading = row.get(4)?,
            _ => recorded.account = row.get(3)?,
        }
    }
    Ok(recorded)
}
