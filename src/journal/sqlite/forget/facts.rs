//! What decides whether the persons of a batch may be forgotten.

use std::time::Duration;

use rusqlite::Connection;

use crate::domain::{BatchId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::FORGOTTEN;
use crate::journal::sqlite::codec::values::{UNPRICED, state_of};
use crate::journal::sqlite::recovery::noticed::open_recovery;
use crate::ledger::forgetting::Facts;

/// For so long people stay whatever is configured: ceilings of a month count what they were paid.
#[cfg(not(test))]
const LEAST: Duration = Duration::from_secs(32 * 24 * 60 * 60);
// The simulation lasts for hours.
#[cfg(test)]
const LEAST: Duration = Duration::ZERO;

/// Returns whether people of a batch were forgotten.
pub(in crate::journal::sqlite) fn has_forgotten(
    c: &Connection,
    batch_id: BatchId,
) -> Result<bool, Error> {
    Ok(c.prepare_cached(
        "select exists (select 1 from evidence indexed by about_batch where seq = 0 and event = ?2 and batch_id = ?1)",
    )?
    .query_row((batch_id, FORGOTTEN), |row| row.get(0))?)
}

/// Reads the facts of a batch; `window`: for so long rows are compared with those of the batch.
pub(in crate::journal::sqlite) fn facts(
    c: &Connection,
    batch_id: BatchId,
    window: Duration,
    now: Timestamp,
) -> Result<Facts, Error> {
    let holds = |sql: &str| -> Result<bool, Error> {
        let sql = format!("select exists ({sql})");
        Ok(c.prepare_cached(&sql)?
            .query_row([batch_id], |row| row.get(0))?)
    };
    let mut states = Vec::new();
    let mut unpriced = false;
    let mut statement =
        c.prepare_cached("select distinct state from tally where batch_id = ?1 and count > 0")?;
    let mut rows = statement.query([batch_id])?;
    while let Some(row) = rows.next()? {
        match row.get(0)? {
            UNPRICED => unpriced = true,
            number => states.push(state_of(number)?),
        }
    }
    let newest: i64 = c
        .prepare_cached(
            "select max((select max(loaded_at) from load where batch_id = ?1),
                 (select coalesce(last_claim_at, 0) from batch where batch_id = ?1),
                 (select coalesce(max(i.received_at), 0) from life l indexed by replaced join instruction i on i.seq = l.replaced_by
                     where l.batch_id = ?1 and l.replaced_by is not null))",
        )?
        .query_row([batch_id], |row| row.get(0))?;
    let newest = Timestamp::from_millis(newest);
    // Nothing is compared with a rehearsal: it moved no money.
    let window = match holds("select 1 from batch where batch_id = ?1 and rehearsal = 1")? {
        true => Duration::ZERO,
        false => window.max(LEAST),
    };
    Ok(Facts {
        states,
        unpriced,
        rejected: holds(
            "select 1 from rejected where batch_id = ?1 and replaced_by is null and withdrawn is null",
        )?,
        inquiries: holds("select 1 from inquiry where batch_id = ?1")?,
        watched: holds(
            "select 1 from watched w cross join instruction o on o.seq = w.other left join life l on l.seq = w.seq
             where o.batch_id = ?1 and coalesce(l.state, 0) < 5",
        )?,
        recovering: open_recovery(c)?.is_some(),
        unsalted: holds("select 1 from instruction where batch_id = ?1 and salt is null")?,
        newest,
        compared_until: newest.after(window),
        now,
    })
}
