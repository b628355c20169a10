//! What a batch comes to up to a bound, by the digests that its chain holds.

use std::cell::RefCell;

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use crate::domain::{BatchId, Currency, PaymentId, Totals};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::{DOCUMENT_CHECKED, REPLACED, ROWS_LOADED};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::evidence::encoding::{CanonicalHasher, Digest};
use crate::journal::sqlite::evidence::instruction_blocks::instruction_digest;
use crate::ledger::approval::text::Figures;
use crate::ledger::confirmation::Bound;

/// Returns how far a batch reaches today: its own last instruction, and the last bill of all.
pub(in crate::journal::sqlite) fn reach_of(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Bound, Error> {
    // From the end: the newest rows are most likely those of the batch that is looked at.
    let instruction: Option<i64> = c
        .prepare_cached(
            "select seq from instruction not indexed where batch_id = ?1 order by seq desc limit 1",
        )?
        .query_row([batch_id], |row| row.get(0))
        .optional()?;
    Ok(Bound {
        instruction: instruction.unwrap_or(0),
        bill: c.query_row("select coalesce(max(bill_id), 0) from bill", [], |row| {
            row.get(0)
        })?,
    })
}

/// What a batch comes to up to some bounds, each gone through once: most signatures are over the same.
pub(in crate::journal::sqlite) struct Figured<'a> {
    pub(in crate::journal::sqlite) c: &'a Connection,
    pub(in crate::journal::sqlite) batch_id: BatchId,
    known: RefCell<Vec<Figures>>,
}

impl<'a> Figured<'a> {
    pub(in crate::journal::sqlite) fn of(c: &'a Connection, batch_id: BatchId) -> Self {
        Self {
            c,
            batch_id,
            known: RefCell::default(),
        }
    }

    /// Returns what it comes to up to a bound.
    pub(in crate::journal::sqlite) fn up_to(&self, bound: Bound) -> Result<Figures, Error> {
        let mut known = self.known.borrow_mut();
        if let Some(found) = known.iter().find(|figures| figures.bound == bound) {
            return Ok(found.clone());
        }
        let found = figures(self.c, self.batch_id, bound)?;
        known.push(found.clone());
        Ok(found)
    }
}

/// Returns what a batch comes to up to a bound. What came later does not change it.
fn figures(c: &Connection, batch_id: BatchId, bound: Bound) -> Result<Figures, Error> {
    let (mut count, mut unpriced, mut totals) = (0, 0, Totals::default());
    // A row that was paid anew counts once, as it stood at the bound.
    let mut statement = c.prepare_cached(
        "select i.currency, count(*), coalesce(sum(i.amount), 0), sum(i.amount is null) from (
             select i.currency, iif(i.as_due = 0 or exists (
                 select 1 from bill b where b.seq = i.seq and b.outcome = 0 and b.bill_id <= ?3), i.amount, null) as amount
             from instruction i not indexed left join life l using (seq)
             where i.batch_id = ?1 and i.seq <= ?2 and (l.replaced_by is null or l.replaced_by > ?2)) i
         group by i.currency",
    )?;
    let mut rows = statement.query(params!(batch_id, bound.instruction, bound.bill))?;
    while let Some(row) = rows.next()? {
        let code: String = row.get(0)?;
        let currency = Currency::from_code(&code).ok_or_else(|| corrupt("a currency"))?;
        count += row.get::<_, i64>(1)?.unsigned_abs();
        totals.add_minor(currency, row.get::<_, i64>(2)?.into());
        unpriced += row.get::<_, i64>(3)?.unsigned_abs();
    }
    drop(rows);
    Ok(Figures {
        bound,
        count,
        totals,
        unpriced,
        instructions: instructions(c, batch_id, bound)?,
        documents: documents(c, batch_id, bound)?,
        bills: bills(c, batch_id, bound)?,
    })
}

/// Over the digests of the blocks of instructions, and of those that replace another one.
fn instructions(c: &Connection, batch_id: BatchId, bound: Bound) -> Result<[u8; 32], Error> {
    let mut canon = CanonicalHasher::of("approval instructions");
    let mut blocks = c.prepare_cached(
        "select digest, detail from evidence indexed by about_batch
         where seq = 0 and event = ?2 and batch_id = ?1 order by evidence_id",
    )?;
    let mut rows = blocks.query((batch_id, ROWS_LOADED))?;
    while let Some(row) = rows.next()? {
        let detail: String = row.get(1)?;
        let detail: Value =
            serde_json::from_str(&detail).map_err(|_| corrupt("a detail that is not JSON"))?;
        let last = detail["last"].as_i64().ok_or_else(|| corrupt("a block"))?;
        if last <= bound.instruction {
            canon.integer(last);
            canon.bytes(row.get_ref(0)?.as_blob().map_err(|_| corrupt("a block"))?);
            canon.flush();
        }
    }
    let mut replaced = c.prepare_cached(
        "select seq, replaced_by from life indexed by replaced
         where batch_id = ?1 and replaced_by is not null and replaced_by <= ?2 order by replaced_by",
    )?;
    let mut rows = replaced.query((batch_id, bound.instruction))?;
    while let Some(row) = rows.next()? {
        let (seq, new): (PaymentId, PaymentId) = (row.get(0)?, row.get(1)?);
        let digest = replacing(c, seq, new)?;
        canon.integer(seq.get());
        canon.integer(new.get());
        canon.bytes(&digest);
        canon.flush();
    }
    Ok(canon.finish())
}

/// Returns the digest of an instruction that takes the place of another one: as it stands on the chain.
// What was edited in the table is found by the claim, which says so: it would not do to say that somebody has not signed.
fn replacing(c: &Connection, seq: PaymentId, new: PaymentId) -> Result<Digest, Error> {
    let recorded: Option<Option<Digest>> = c
        .prepare_cached(
            "select digest from evidence where seq = ?1 and event = ?2 order by evidence_id desc limit 1",
        )?
        .query_row((seq, REPLACED), |row| row.get(0))
        .optional()?;
    match recorded.flatten() {
        Some(digest) => Ok(digest),
        // An earlier version kept none.
        None => instruction_digest(c, new)?.ok_or_else(|| corrupt("a retry")),
    }
}

/// Over the digests of the documents, as they were checked last.
fn documents(c: &Connection, batch_id: BatchId, bound: Bound) -> Result<Option<[u8; 32]>, Error> {
    digest_of_rows(
        c,
        "approval documents",
        "select i.seq, i.document, (select e.digest from evidence e where e.seq = i.seq and e.event = ?3 order by e.evidence_id desc limit 1)
         from instruction i indexed by instruction_with_document
         where i.batch_id = ?1 and i.document is not null and i.seq <= ?2 order by i.seq",
        (batch_id, bound.instruction, DOCUMENT_CHECKED),
    )
}

/// Over the amounts that bills told.
fn bills(c: &Connection, batch_id: BatchId, bound: Bound) -> Result<Option<[u8; 32]>, Error> {
    if bound.bill == 0 {
        return Ok(None);
    }
    digest_of_rows(
        c,
        "approval bills",
        "select i.seq, b.bill_id, b.due, b.currency, i.amount from bill b cross join instruction i using (seq)
         where i.batch_id = ?1 and i.seq <= ?2 and b.bill_id <= ?3 and b.outcome = 0 and i.as_due = 1 order by i.seq",
        (batch_id, bound.instruction, bound.bill),
    )
}

fn digest_of_rows(
    c: &Connection,
    what: &'static str,
    sql: &str,
    keys: (BatchId, i64, i64),
) -> Result<Option<[u8; 32]>, Error> {
    let mut canon = CanonicalHasher::of(what);
    let mut statement = c.prepare_cached(sql)?;
    let mut rows = statement.query(keys)?;
    let mut some = false;
    while let Some(row) = rows.next()? {
        canon.row(row)?;
        canon.flush();
        some = true;
    }
    Ok(some.then(|| canon.finish()))
}
