//! What a person changed in a row that corrects another one, beside what was wrong with it. The rule is in
//! [`crate::ledger::correction`].

use std::collections::BTreeMap;

use crate::domain::{BatchId, BatchName, LoadId, PaymentId};
use crate::journal::Journal;
use crate::journal::codec::catalog::{id_of, known_batch, of_payment};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::{CHANGED_SHOWN, ChangedRow, ChangedRows, Error};
use crate::ledger::changed_columns::changed_columns;
use crate::ledger::unread::UNREAD;
use crate::lifecycle::State;
use crate::store::tables::{instruction, life, rejected};
use crate::store::{Read, Reads, Scan, Test, shape};

shape! {
    /// A rejected row whose mended one is there.
    struct Mended of rejected { replaced_by: PaymentId, load_id: LoadId, line: i64, nth: i64 }
}
shape! {
    /// What a rejected row held, and what was wrong with it.
    struct Was of rejected { cells: String, errors: String }
}
shape! {
    /// A payment, and the retry that replaces it.
    struct Retried of life { seq: PaymentId, replaced_by: PaymentId }
}
shape! {
    /// Where a payment stands.
    struct Stands of life { state: State, attempts: i64 }
}

impl Journal {
    /// Returns the corrected rows of a batch that wait to be posted, and say something else than what they correct in a column that
    /// had no error.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn changed(&self, batch: BatchName) -> Result<ChangedRows, Error> {
        self.read(move |c| {
            let batch_id = known_batch(c, &batch)?;
            changed(c, batch_id, 0)
        })
        .await
    }
}

/// Returns whether a payment has never been posted: nothing is known of it yet, or it is ready.
fn waits(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    let stands = c.first::<Stands>(&Scan::of(&life::TABLE).at(&seq))?;
    Ok(stands.is_none_or(|life| life.state == State::Ready && life.attempts <= 0))
}

/// The same of rows beyond the number `above`.
pub(in crate::journal) fn changed(
    c: &dyn Read,
    batch_id: BatchId,
    above: i64,
) -> Result<ChangedRows, Error> {
    let mut found = ChangedRows::default();
    let instructions = Instructions::of(c);
    for mended in mended_rows(c, batch_id, above)? {
        if let Some(row) = changed_by_mending(&instructions, c, &mended)? {
            found.add(row);
        }
    }
    for retried in corrected_rows(c, batch_id, above)? {
        let was = instructions.payment(retried.seq)?.instruction.cells();
        let is = instructions.payment(retried.replaced_by)?.instruction;
        let (was, is_cells) = (was.into_iter().collect(), is.cells().into_iter().collect());
        found.add(ChangedRow {
            line: is.line,
            replaces: Some(id_of(c, retried.seq)?),
            columns: changed_columns(&was, &is_cells, |_| false),
        });
    }
    Ok(found)
}

/// Returns the rejected rows whose cells are known, in the order of their mended rows.
fn mended_rows(c: &dyn Read, batch_id: BatchId, above: i64) -> Result<Vec<Mended>, Error> {
    let mended = Scan::by(&rejected::rejected_by_batch)
        .at(&batch_id)
        .only(rejected::replaced_by, Test::Present)
        .only(rejected::cells, Test::Present);
    // People mended them one by one, so that they are few.
    let mut rows = Vec::new();
    c.each(&mended, |row: Mended| {
        if row.replaced_by.get() > above {
            rows.push(row);
        }
        Ok::<_, Error>(())
    })?;
    rows.sort_by_key(|row| row.replaced_by);
    Ok(rows)
}

/// Returns what a mended row says otherwise, where it has an amount and waits to be posted.
fn changed_by_mending(
    instructions: &Instructions<'_>,
    c: &dyn Read,
    mended: &Mended,
) -> Result<Option<ChangedRow>, Error> {
    let found = instructions.find(mended.replaced_by)?;
    let Some(is) = found.and_then(|found| found.row.payment()) else {
        return Ok(None);
    };
    if !waits(c, mended.replaced_by)? {
        return Ok(None);
    }
    let place = Scan::of(&rejected::TABLE)
        .at(&mended.load_id)
        .at(&mended.line)
        .at(&mended.nth);
    let found = c.first::<Was>(&place)?;
    let Was { cells, errors } = found.ok_or_else(|| corrupt("a rejected row that is missing"))?;
    let was: BTreeMap<String, String> =
        serde_json::from_str(&cells).map_err(|_| corrupt("unreadable cells of a rejected row"))?;
    // What was typed anew is compared with nothing.
    if was.contains_key(UNREAD) {
        return Ok(None);
    }
    let had_error = |column: &str| {
        let of_column = format!("{column}: ");
        errors
            .split("; ")
            .any(|error| error.starts_with(&of_column))
    };
    let is_cells = is.instruction.cells().into_iter().collect();
    Ok(Some(ChangedRow {
        line: is.instruction.line,
        replaces: None,
        columns: changed_columns(&was, &is_cells, had_error),
    }))
}

/// Returns the failed payments that rows of another load correct, in the order of these.
fn corrected_rows(c: &dyn Read, batch_id: BatchId, above: i64) -> Result<Vec<Retried>, Error> {
    let mut rows = Vec::new();
    c.each(&Scan::by(&life::replaced).at(&batch_id), |row: Retried| {
        if row.replaced_by.get() > above {
            let load_of = |seq| of_payment::<LoadId>(c, seq, instruction::load_id);
            // A retry belongs to the load of what it replaces. People corrected the others one by one, so that they are few.
            if load_of(row.seq)? != load_of(row.replaced_by)? && waits(c, row.replaced_by)? {
                rows.push(row);
            }
        }
        Ok::<_, Error>(())
    })?;
    rows.sort_by_key(|row| row.replaced_by);
    Ok(rows)
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
