//! Payments that wait until a recovery is declared done. The rule is in [`crate::ledger::recovery::waits_until_done`].

use rusqlite::{Connection, OptionalExtension};

use crate::domain::PaymentId;
use crate::journal::Error;
use crate::ledger::recovery::{Arrival, waits_until_done};

/// Whether payment ?1 came after instruction ?2, and is paid in place of what had ended: a retry or a corrected row, a mended row, one
/// of a debt that had failed in another load, or that was allowed beside another row.
const ARRIVAL: &str = "select i.seq > ?2,
         i.generation > 0
         or exists (select 1 from watched w where w.seq = i.seq)
         or exists (select 1 from repeat_in_recovery a where a.seq = i.seq)
         or exists (select 1 from rejected r where r.batch_id = i.batch_id and r.replaced_by = i.seq),
         coalesce(b.rehearsal, b.gateway like 'sandbox %', 0)
     from instruction i join batch b using (batch_id) where i.seq = ?1";

/// Returns whether a payment waits until the recovery is declared done.
// Of most journals no recovery is open: then this is a look at an empty table.
pub(in crate::journal::sqlite) fn waits(c: &Connection, seq: PaymentId) -> Result<bool, Error> {
    let (newest, missing): (Option<i64>, Option<bool>) = c
        .prepare_cached(
            "select min(newest_seq), max(batches_missing) from recovery where done_at is null",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(newest), Some(missing)) = (newest, missing) else {
        return Ok(false);
    };
    let arrival = c
        .prepare_cached(ARRIVAL)?
        .query_row((seq, newest), |row| {
            Ok(Arrival {
                since_noticed: row.get(0)?,
                in_place_of_ended: row.get(1)?,
                is_rehearsal: row.get(2)?,
            })
        })
        .optional()?;
    Ok(arrival.is_some_and(|arrival| waits_until_done(true, missing, arrival)))
}
