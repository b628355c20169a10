//! What a batch comes to up to a bound, by the digests that its chain holds.

use std::cell::RefCell;

use crate::domain::{BatchId, BillId, Currency, PaymentId, Totals};
use crate::journal::Error;
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{DOCUMENT_CHECKED, REPLACED, ROWS_LOADED};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::encoding::{CanonicalHasher, Digest};
use crate::journal::evidence::instruction_blocks::instruction_digest;
use crate::ledger::approval::text::Figures;
use crate::ledger::confirmation::Bound;
use crate::store::tables::{bill, evidence, instruction, life};
use crate::store::{self, Beside, Field, Read, Reads, Scan, Shape, Test, shape};

/// Returns how far a batch reaches today: its own last instruction, and the last bill of all.
pub(in crate::journal) fn reach_of(c: &dyn Read, batch_id: BatchId) -> Result<Bound, Error> {
    // From the end: the newest rows are most likely those of the batch that is looked at.
    let newest = Scan::of(&instruction::TABLE)
        .only(instruction::batch_id, Test::is(&batch_id))
        .descending();
    let newest_bill = Scan::of(&bill::TABLE).descending();
    Ok(Bound {
        instruction: c
            .value(&newest, instruction::seq)?
            .unwrap_or(PaymentId::NONE),
        bill: c
            .value(&newest_bill, bill::bill_id)?
            .unwrap_or(BillId::NONE),
    })
}

/// What a batch comes to up to some bounds, each gone through once: most signatures are over the same.
pub(in crate::journal) struct Figured<'a> {
    pub(in crate::journal) c: &'a dyn Read,
    pub(in crate::journal) batch_id: BatchId,
    known: RefCell<Vec<Figures>>,
}

impl<'a> Figured<'a> {
    pub(in crate::journal) fn of(c: &'a dyn Read, batch_id: BatchId) -> Self {
        Self {
            c,
            batch_id,
            known: RefCell::default(),
        }
    }

    /// Returns what it comes to up to a bound.
    pub(in crate::journal) fn up_to(&self, bound: Bound) -> Result<Figures, Error> {
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
fn figures(c: &dyn Read, batch_id: BatchId, bound: Bound) -> Result<Figures, Error> {
    let (mut count, mut unpriced, mut totals) = (0, 0, Totals::default());
    let rows = Scan::of(&instruction::TABLE)
        .up_to(&bound.instruction)
        .only(instruction::batch_id, Test::is(&batch_id));
    let retries = Scan::by(&life::replaced).at(&batch_id);
    let mut retries = Beside::along(c, retries, life::seq, Retried::COLUMNS);
    let mut told = Beside::along(c, taken_from(&bound), bill::seq, Told::COLUMNS);
    c.each(&rows, |row: Row| {
        let seq = row.seq.get();
        // A row that was paid anew counts once, as it stood at the bound.
        let later = retries
            .find_as::<Retried>(seq)?
            .map(|retry| retry.replaced_by);
        if later.is_some_and(|later| later <= bound.instruction) {
            return Ok(());
        }
        let is_known = !row.as_due || told.find_as::<Told>(seq)?.is_some();
        let minor = row.amount.filter(|_| is_known);
        count += 1;
        unpriced += u64::from(minor.is_none());
        totals.add_minor(row.currency, minor.unwrap_or(0).into());
        Ok::<_, Error>(())
    })?;
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

shape! {
    /// What of a row enters into the figures.
    struct Row of instruction { seq: PaymentId, currency: Currency, amount: Option<i64>, as_due: bool }
}
shape! {
    /// A payment that a retry replaces.
    pub(super) struct Retried of life { seq: PaymentId, replaced_by: PaymentId }
}
shape! {
    /// A bill that told the amount of a row.
    struct Told of bill { seq: PaymentId, bill_id: BillId, due: Option<i64>, currency: Option<String> }
}
shape! {
    /// A row that a bill is about.
    struct Billed of instruction { batch_id: BatchId, amount: Option<i64>, as_due: bool }
}
shape! {
    /// Instructions that were loaded together.
    pub(super) struct Block of evidence { digest: Option<Digest>, detail: String }
}

impl Block {
    /// Returns the number of its first or last instruction.
    pub(super) fn number(&self, name: &str) -> Result<i64, Error> {
        parsed(Some(&self.detail))?[name]
            .as_i64()
            .ok_or_else(|| corrupt("an unreadable block of rows"))
    }

    pub(super) fn digest(&self) -> Result<Digest, Error> {
        self.digest
            .ok_or_else(|| corrupt("an unreadable block of rows"))
    }
}

/// Returns the bills up to a bound from which rows up to it took their amounts, in the order of the rows.
fn taken_from(bound: &Bound) -> Scan<'_> {
    Scan::by(&bill::bill_that_decided)
        .up_to(&bound.instruction)
        .only(bill::outcome, Test::is(&0_i64))
        .only(bill::bill_id, Test::at_most(&bound.bill))
}

/// Returns the blocks that a batch was loaded in, oldest first.
pub(super) fn blocks_of(batch_id: &BatchId) -> Scan<'_> {
    Scan::by(&evidence::about_batch)
        .at(&ROWS_LOADED)
        .at(batch_id)
}

/// Over the digests of the blocks of instructions, and of those that replace another one.
fn instructions(c: &dyn Read, batch_id: BatchId, bound: Bound) -> Result<[u8; 32], Error> {
    let mut canon = CanonicalHasher::of("approval instructions");
    c.each(&blocks_of(&batch_id), |block: Block| {
        let last = block.number("last")?;
        if PaymentId::new(last) <= bound.instruction {
            canon.integer(last);
            canon.bytes(&block.digest()?);
            canon.flush();
        }
        Ok::<_, Error>(())
    })?;
    // In the order of the retries, which that index has over all batches.
    let retries = Scan::by(&life::predecessor)
        .up_to(&bound.instruction)
        .only(life::batch_id, Test::is(&batch_id));
    c.each(&retries, |Retried { seq, replaced_by }| {
        let digest = replacing(c, seq, replaced_by)?;
        canon.integer(seq.get());
        canon.integer(replaced_by.get());
        canon.bytes(&digest);
        canon.flush();
        Ok::<_, Error>(())
    })?;
    Ok(canon.finish())
}

/// Returns the digest that stands in the newest evidence of a kind about a payment.
pub(super) fn newest_digest<F: Field>(
    c: &dyn Read,
    seq: PaymentId,
    kind: i64,
) -> Result<Option<F>, store::Error> {
    let newest = Scan::by(&evidence::evidence_by_payment)
        .at(&seq)
        .only(evidence::event, Test::is(&kind))
        .descending();
    Ok(c.value::<Option<F>>(&newest, evidence::digest)?.flatten())
}

/// Returns the digest of an instruction that takes the place of another one: as it stands on the chain.
// What was edited in the table is found by the claim, which says so: it would not do to say that somebody has not signed.
fn replacing(c: &dyn Read, seq: PaymentId, new: PaymentId) -> Result<Digest, Error> {
    match newest_digest(c, seq, REPLACED)? {
        Some(digest) => Ok(digest),
        // An earlier version kept none.
        None => instruction_digest(c, new)?.ok_or_else(|| corrupt("a retry that is missing")),
    }
}

/// Over the digests of the documents, as they were checked last.
fn documents(c: &dyn Read, batch_id: BatchId, bound: Bound) -> Result<Option<[u8; 32]>, Error> {
    shape! {
        struct WithDocument of instruction { seq: PaymentId, document: String }
    }
    let mut canon = CanonicalHasher::of("approval documents");
    let rows = Scan::by(&instruction::instruction_with_document)
        .at(&batch_id)
        .up_to(&bound.instruction);
    let mut some = false;
    c.each(&rows, |WithDocument { seq, document }| {
        let digest: Option<Vec<u8>> = newest_digest(c, seq, DOCUMENT_CHECKED)?;
        canon.integer(seq.get());
        canon.text(&document);
        canon.maybe(digest.as_deref(), CanonicalHasher::bytes);
        canon.flush();
        some = true;
        Ok::<_, Error>(())
    })?;
    Ok(some.then(|| canon.finish()))
}

/// Over the amounts that bills told.
fn bills(c: &dyn Read, batch_id: BatchId, bound: Bound) -> Result<Option<[u8; 32]>, Error> {
    if bound.bill == BillId::NONE {
        return Ok(None);
    }
    let mut canon = CanonicalHasher::of("approval bills");
    let mut some = false;
    let rows = Scan::of(&instruction::TABLE);
    let mut rows = Beside::along(c, rows, instruction::seq, Billed::COLUMNS);
    c.each(&taken_from(&bound), |told: Told| {
        let row = rows.find_as::<Billed>(told.seq.get())?;
        if let Some(row) = row.filter(|row| row.batch_id == batch_id && row.as_due) {
            canon.integer(told.seq.get());
            canon.integer(told.bill_id.get());
            canon.maybe(told.due, CanonicalHasher::integer);
            canon.maybe(told.currency.as_deref(), CanonicalHasher::text);
            canon.maybe(row.amount, CanonicalHasher::integer);
            canon.flush();
            some = true;
        }
        Ok::<_, Error>(())
    })?;
    Ok(some.then(|| canon.finish()))
}
