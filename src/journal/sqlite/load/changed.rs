//! What a person changed in a row that corrects another one, beside what was wrong with it. The rule is in
//! [`crate::ledger::correction`].

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::domain::{BatchId, BatchName, PaymentId};
use crate::journal::sqlite::Journal;
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::{PAYMENT_COLUMNS, PAYMENT_WIDTH, corrupt, payment_of};
use crate::journal::sqlite::writer::queue::CommitMode;
use crate::journal::{CHANGED_SHOWN, ChangedRow, ChangedRows, Error};
use crate::ledger::correction::changed_columns;
use crate::ledger::unread::UNREAD;

impl Journal {
    /// Returns the corrected rows of a batch that wait to be posted, and say something else than what they correct in a column that
    /// had no error.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn changed(&self, batch: BatchName) -> Result<ChangedRows, Error> {
        self.ask(CommitMode::Alone, move |c| {
            let batch_id = known_batch(c, &batch)?;
            changed(c, batch_id, 0)
        })
        .await
    }
}

/// A payment that has never been posted: nothing is known of it yet, or it is ready.
const WAITS: &str =
    "not exists (select 1 from life l where l.seq = i.seq and (l.state <> 0 or l.attempts > 0))";

/// The same of rows beyond the number `above`.
pub(in crate::journal::sqlite) fn changed(
    c: &Connection,
    batch_id: BatchId,
    above: i64,
) -> Result<ChangedRows, Error> {
    let mut found = ChangedRows::default();
    let mut statement = c.prepare_cached(&format!(
        "select {PAYMENT_COLUMNS}, r.cells, r.errors from rejected r join instruction i on i.seq = r.replaced_by
         join service s using (service_id)
         where r.batch_id = ?1 and r.replaced_by > ?2 and i.amount is not null and r.cells is not null and {WAITS} order by i.seq"
    ))?;
    let mut rows = statement.query(params![batch_id, above])?;
    while let Some(row) = rows.next()? {
        let is = payment_of(row, 0)?.instruction;
        let was: String = row.get(PAYMENT_WIDTH)?;
        let was: BTreeMap<String, String> = serde_json::from_str(&was)
            .map_err(|_| corrupt("cells of a rejected row that are none"))?;
        // What was typed anew is compared with nothing.
        if was.contains_key(UNREAD) {
            continue;
        }
        let errors: String = row.get(PAYMENT_WIDTH + 1)?;
        let had_error = |column: &str| {
            let of_column = format!("{column}: ");
            errors
                .split("; ")
                .any(|error| error.starts_with(&of_column))
        };
        let is_cells = is.cells().into_iter().collect();
        found.add(ChangedRow {
            line: is.line,
            replaces: None,
            columns: changed_columns(&was, &is_cells, had_error),
        });
    }
    let mut statement = c.prepare_cached(&format!(
        "select l.seq, i.seq, w.identifier from life l join instruction w on w.seq = l.seq join instruction i on i.seq = l.replaced_by
         where l.batch_id = ?1 and l.replaced_by > ?2 and w.load_id <> i.load_id and {WAITS} order by i.seq"
    ))?;
    let mut rows = statement.query(params![batch_id, above])?;
    while let Some(row) = rows.next()? {
        let id: String = row.get(2)?;
        let (was, is) = (cells_of(c, row.get(0)?)?, cells_of(c, row.get(1)?)?);
        found.add(ChangedRow {
            line: is.0,
            replaces: Some(crate::journal::sqlite::codec::values::identifier_of(&id)?),
            columns: changed_columns(&was.1, &is.1, |_| false),
        });
    }
    Ok(found)
}

fn cells_of(c: &Connection, seq: PaymentId) -> Result<(u64, BTreeMap<String, String>), Error> {
    let mut statement = c.prepare_cached(&format!(
        "select {PAYMENT_COLUMNS} from instruction i join service s using (service_id) where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let row = rows
        .next()?
        .ok_or_else(|| corrupt("a payment without its instruction"))?;
    let row = payment_of(row, 0)?.instruction;
    Ok((row.line, row.cells().into_iter().collect()))
}

impl ChangedRows {
    fn add(&mut self, row: ChangedRow) {
        if row.columns.is_empty() {
            return;
        }
        self.count += 1;
        if self.rows.len() < CHANGED_SHOWN {
            self.rows.push(row);
        }
    }
}
