//! Nobody signs for what was edited: every row is compared with the chain before there is a text.

use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::domain::{BatchId, BatchName, PaymentId};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::{REPLACED, ROWS_LOADED};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::evidence::encoding::Digest;
use crate::journal::sqlite::evidence::instruction_blocks::{instruction_digest, stored};
use crate::journal::sqlite::run::pin::assert_nothing_was_edited;
use crate::journal::sqlite::session::transaction::WriteSession;

/// Refuses a batch that is not what was recorded of it.
pub(in crate::journal::sqlite) fn assert_as_loaded(
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
fn edited(c: &Connection, batch_id: BatchId) -> Result<Option<String>, Error> {
    let mut blocks = c.prepare_cached(
        "select digest, detail from evidence indexed by about_batch
         where seq = 0 and event = ?2 and batch_id = ?1 order by evidence_id",
    )?;
    let mut rows = blocks.query((batch_id, ROWS_LOADED))?;
    while let Some(row) = rows.next()? {
        let recorded: Digest = row.get(0)?;
        let detail: String = row.get(1)?;
        let detail: Value =
            serde_json::from_str(&detail).map_err(|_| corrupt("a detail that is not JSON"))?;
        let number = |name: &str| detail[name].as_i64().ok_or_else(|| corrupt("a block"));
        let (first, last) = (number("first")?, number("last")?);
        let mut found = None;
        stored(c, batch_id, (first, last), usize::MAX, |block| {
            found = Some(block.digest);
            Ok(())
        })?;
        if found != Some(recorded) {
            return Ok(Some(format!(
                "a row among those with the numbers {first} to {last} is not as it was loaded"
            )));
        }
    }
    let mut retries = c.prepare_cached(
        "select (select e.digest from evidence e where e.seq = l.seq and e.event = ?2 order by e.evidence_id desc limit 1), l.replaced_by
         from life l indexed by replaced where l.batch_id = ?1 and l.replaced_by is not null",
    )?;
    let mut rows = retries.query((batch_id, REPLACED))?;
    while let Some(row) = rows.next()? {
        let (recorded, seq): (Option<Digest>, PaymentId) = (row.get(0)?, row.get(1)?);
        // An earlier version kept none.
        if recorded.is_some() && instruction_digest(c, seq)? != recorded {
            return Ok(Some(format!(
                "the row with the number {seq}, which takes the place of another one, is not as it was recorded"
            )));
        }
    }
    let priced: Option<i64> = c
        .prepare_cached(
            "select i.seq from bill b cross join instruction i using (seq)
             where i.batch_id = ?1 and b.outcome = 0 and i.as_due = 1 and i.amount is not b.due limit 1",
        )?
        .query_row([batch_id], |row| row.get(0))
        .optional()?;
    Ok(priced.map(|seq| {
        format!("the amount of the row with the number {seq} is not what its bill told")
    }))
}
