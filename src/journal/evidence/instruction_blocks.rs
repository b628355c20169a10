//! Instructions on the chain, in blocks that share one digest each.
//!
//! A load takes the digests while its rows pass; whoever proves them takes them from the table. A test holds both to the
//! same bytes.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::json;

use super::chain::{Chain, Evidence};
use super::encoding::{CanonicalHasher, Digest};
use super::salt::{Salt, Sealed};
use crate::domain::{
    AmountField, BatchId, Instruction, LaneId, LoadId, PayerTransactionId, Payment, PaymentId,
    Reference, Timestamp,
};
use crate::journal::Error;
use crate::journal::codec::events::ROWS_LOADED;
use crate::journal::codec::insert::{Texts, line_number};
use crate::journal::codec::values::{corrupt, row_of, service_of};
use crate::store::tables::{instruction, service};
use crate::store::{self, Column, Read, Reads, Row, Scan, Test, Value, Write};

/// Instructions that share one digest: a change is found within so many lines.
const BLOCK: usize = 1000;

/// Every column of an instruction, the service first: its code is what is hashed. From [`PAYMENT_AT`] on they are those of a payment.
const INSTRUCTION: [Column; 24] = [
    instruction::service_id,
    instruction::seq,
    instruction::load_id,
    instruction::line,
    instruction::identifier,
    instruction::reference,
    instruction::generation,
    instruction::received_at,
    instruction::msisdn,
    instruction::account_number,
    instruction::amount,
    instruction::currency,
    instruction::country,
    instruction::narration,
    instruction::customer_names,
    instruction::invoice_number,
    instruction::payment_mode,
    instruction::hub_id,
    instruction::extra,
    instruction::document,
    instruction::document_folder,
    instruction::as_due,
    instruction::not_before,
    instruction::salt,
];

/// Where the amount stands, and whether a bill told it: then it is no part of what was loaded.
const AMOUNT_AT: usize = 10;
const AS_DUE_AT: usize = 21;

/// An instruction as it was loaded.
struct AsLoaded<'a>(&'a dyn Row);

impl Row for AsLoaded<'_> {
    fn width(&self) -> usize {
        self.0.width()
    }

    fn value(&self, at: usize) -> Result<Value<'_>, store::Error> {
        if at == AMOUNT_AT && self.0.value(AS_DUE_AT)? == Value::Integer(1) {
            return Ok(Value::Null);
        }
        self.0.value(at)
    }
}

/// Where the time stands before which a row is not posted. Rows without one are hashed as earlier versions did.
const NOT_BEFORE_AT: usize = 22;

/// Where the salt stands. What is personal of a row with one is hashed into its leaf.
const SALT_AT: usize = 23;

/// What is personal: reference, number, account, narration, names, invoice, extra data, document and its folder.
const PERSONAL: [usize; 9] = [5, 8, 9, 13, 14, 15, 18, 19, 20];

/// What is not, but for the service.
const IMPERSONAL: [usize; 13] = [1, 2, 3, 4, 6, 7, 10, 11, 12, 16, 17, 21, 22];

/// Where the columns of a payment begin, the first of which is the service.
const PAYMENT_AT: usize = 2;

/// Takes in the columns of [`INSTRUCTION`], and the service by its code instead of its number.
// A join would look the code up for every row of a load.
struct Instructions<'a> {
    c: &'a dyn Read,
    services: Vec<(LaneId, String)>,
    leaf: CanonicalHasher,
}

impl<'a> Instructions<'a> {
    fn of(c: &'a dyn Read) -> Self {
        Self {
            c,
            services: Vec::new(),
            leaf: CanonicalHasher::of("instruction"),
        }
    }

    fn take_in(&mut self, canon: &mut CanonicalHasher, row: &dyn Row) -> Result<&str, Error> {
        let id: LaneId = row.get(0)?;
        let at = match self.services.iter().position(|(known, _)| *known == id) {
            Some(at) => at,
            None => {
                let one = Scan::of(&service::TABLE).at(&id);
                let code: Option<String> = self.c.value(&one, service::code)?;
                let code = code.ok_or_else(|| corrupt("a payment without a service"))?;
                self.services.push((id, code));
                self.services.len() - 1
            }
        };
        let code = &self.services[at].1;
        if let Some(leaf) = leaf_of(row, &mut self.leaf)? {
            canon.bytes(&leaf);
            canon.text(code);
            values(canon, row, &IMPERSONAL)?;
            canon.flush();
            return Ok(code);
        }
        canon.text(code);
        canon.columns(row, 1..NOT_BEFORE_AT)?;
        if let Some(at) = row.get::<Option<i64>>(NOT_BEFORE_AT)? {
            canon.integer(at);
            canon.flush();
        }
        Ok(code)
    }
}

pub(in crate::journal) fn instruction_digest(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<Option<Digest>, Error> {
    let mut found = None;
    c.each_row(&one(&seq), &INSTRUCTION, |row| {
        let mut canon = CanonicalHasher::of("instruction");
        Instructions::of(c).take_in(&mut canon, &AsLoaded(row))?;
        found = Some(canon.finish());
        Ok::<_, Error>(ControlFlow::Break(()))
    })?;
    Ok(found)
}

/// Returns the leaf over what is personal of an instruction; `None` where an earlier version loaded it.
pub(in crate::journal) fn instruction_leaf(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<Option<Digest>, Error> {
    let mut found = None;
    c.each_row(&one(&seq), &INSTRUCTION, |row| {
        found = leaf_of(row, &mut CanonicalHasher::of("instruction"))?;
        Ok::<_, Error>(ControlFlow::Break(()))
    })?;
    Ok(found)
}

fn one(seq: &PaymentId) -> Scan<'_> {
    Scan::of(&instruction::TABLE).at(seq)
}

/// The same of the columns of [`INSTRUCTION`].
fn leaf_of(row: &dyn Row, leaves: &mut CanonicalHasher) -> Result<Option<Digest>, Error> {
    Sealed::of(row, SALT_AT)?.leaf(leaves, |leaf| values(leaf, row, &PERSONAL))
}

fn values(canon: &mut CanonicalHasher, row: &dyn Row, columns: &[usize]) -> Result<(), Error> {
    for at in columns {
        canon.value(row.value(*at)?);
    }
    Ok(())
}

/// A block of instructions of one batch, as the chain holds it.
pub(in crate::journal) struct Block {
    pub(in crate::journal) first: i64,
    pub(in crate::journal) last: i64,
    pub(in crate::journal) rows: usize,
    pub(in crate::journal) digest: Digest,
}

/// Goes through the instructions of a batch from `first` to `last`, and hands over every block.
pub(in crate::journal) fn stored(
    c: &dyn Read,
    batch_id: BatchId,
    (first, last): (i64, i64),
    at_most: usize,
    take: impl FnMut(Block) -> Result<(), Error>,
) -> Result<(), Error> {
    read(c, batch_id, (first, last), at_most, |_, _| {}, take)
}

/// Goes through one block of instructions; returns it with its payments as they are hashed, in their order, each with its lane.
/// `None` in place of the payments: one has no amount of its own, or cannot be read.
pub(in crate::journal) fn with_payments(
    c: &dyn Read,
    batch_id: BatchId,
    span: (i64, i64),
) -> Result<(Option<Block>, Option<Vec<BlockPayment>>), Error> {
    let mut found = None;
    let mut payments = Some(Vec::with_capacity(BLOCK));
    let see = |row: &dyn Row, code: &str| {
        if let Some(read) = &mut payments {
            match block_payment(row, code) {
                Some(payment) => read.push(payment),
                None => payments = None,
            }
        }
    };
    read(c, batch_id, span, usize::MAX, see, |block| {
        found = Some(block);
        Ok(())
    })?;
    Ok((found, payments))
}

/// A payment of a block: its number, its lane and itself.
pub(in crate::journal) type BlockPayment = (PaymentId, LaneId, Arc<Payment>);

fn block_payment(row: &dyn Row, code: &str) -> Option<BlockPayment> {
    let stored = row_of(row, PAYMENT_AT, service_of(code).ok()?).ok()?;
    let has_own_amount = !stored.instruction.money.as_due;
    let payment = stored.payment().filter(|_| has_own_amount)?;
    Some((row.get(1).ok()?, row.get(0).ok()?, Arc::new(payment)))
}

fn read(
    c: &dyn Read,
    batch_id: BatchId,
    (first, last): (i64, i64),
    at_most: usize,
    mut see: impl FnMut(&dyn Row, &str),
    mut take: impl FnMut(Block) -> Result<(), Error>,
) -> Result<(), Error> {
    // The order of the table is that of loading: it is never sorted.
    let rows = usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX);
    let span = Scan::of(&instruction::TABLE)
        .from(&first)
        .up_to(&last)
        .only(instruction::batch_id, Test::is(&batch_id))
        .limit(rows.saturating_add(1));
    let mut instructions = Instructions::of(c);
    let mut open: Option<(i64, i64, usize, CanonicalHasher)> = None;
    let finish = |(first, last, rows, canon): (i64, i64, usize, CanonicalHasher)| Block {
        first,
        last,
        rows,
        digest: canon.finish(),
    };
    c.each_row(&span, &INSTRUCTION, |row| {
        let row = &AsLoaded(row) as &dyn Row;
        let seq: PaymentId = row.get(1)?;
        let (_, last, count, canon) = open
            .get_or_insert_with(|| (seq.get(), seq.get(), 0, CanonicalHasher::of("instructions")));
        see(row, instructions.take_in(canon, row)?);
        *last = seq.get();
        *count += 1;
        if *count >= at_most
            && let Some(full) = open.take()
        {
            take(finish(full))?;
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    open.map_or(Ok(()), |rest| take(finish(rest)))
}

/// Puts the instructions from the first number to the last on the chain, in blocks.
pub(in crate::journal) fn seal(
    c: &dyn Write,
    chain: &mut Chain,
    batch_id: BatchId,
    (first, last): (i64, i64),
    at: Timestamp,
) -> Result<(), Error> {
    stored(c, batch_id, (first, last), BLOCK, |loaded| {
        append(c, chain, batch_id, &loaded, at)
    })
}

/// Puts a block of instructions on the chain.
pub(in crate::journal) fn append(
    c: &dyn Write,
    chain: &mut Chain,
    batch_id: BatchId,
    block: &Block,
    at: Timestamp,
) -> Result<(), Error> {
    let detail = json!({"first": block.first, "last": block.last, "rows": block.rows});
    chain.append(
        c,
        &Evidence {
            batch_id,
            at,
            kind: (ROWS_LOADED, None, None),
            digest: Some(&block.digest),
            detail: Some(&detail.to_string()),
            ..Evidence::default()
        },
    )
}

/// The blocks of a load whose rows pass by.
pub(in crate::journal) struct BlockHasher {
    load_id: LoadId,
    received_at: i64,
    open: Option<(i64, CanonicalHasher)>,
    leaf: CanonicalHasher,
    rows: usize,
    done: Vec<Block>,
}

impl BlockHasher {
    pub(in crate::journal) fn new(load_id: LoadId, received_at: Timestamp) -> Self {
        Self {
            load_id,
            received_at: received_at.as_millis(),
            open: None,
            leaf: CanonicalHasher::of("instruction"),
            rows: 0,
            done: Vec::new(),
        }
    }

    /// Takes in the instruction that becomes number `seq`.
    pub(in crate::journal) fn take_in<M: AmountField>(
        &mut self,
        seq: PaymentId,
        id: &PayerTransactionId,
        row: &Instruction<M>,
        amount: Option<i64>,
        salt: &Salt,
    ) {
        let leaf = self.leaf_of(row, salt);
        let (_, canon) = self
            .open
            .get_or_insert_with(|| (seq.get(), CanonicalHasher::of("instructions")));
        let texts = Texts::of(row);
        canon.bytes(&leaf);
        canon.text(row.service.as_str());
        canon.integer(seq.get());
        canon.integer(self.load_id.get());
        canon.integer(line_number(row.line));
        canon.text(id.as_str());
        canon.integer(0);
        canon.integer(self.received_at);
        canon.maybe(amount, CanonicalHasher::integer);
        canon.text(row.money.currency().code());
        canon.text(row.country.code());
        canon.maybe(texts.payment_mode, CanonicalHasher::text);
        canon.maybe(texts.hub_id, CanonicalHasher::text);
        canon.integer(amount.is_none().into());
        canon.maybe(
            row.not_before().map(Timestamp::as_millis),
            CanonicalHasher::integer,
        );
        canon.flush();
        self.rows += 1;
        if self.rows == BLOCK {
            self.close(seq.get());
        }
    }

    fn leaf_of<M: AmountField>(&mut self, row: &Instruction<M>, salt: &Salt) -> Digest {
        let texts = Texts::of(row);
        let leaf = &mut self.leaf;
        leaf.begin_leaf(salt);
        leaf.maybe(
            row.reference.as_ref().map(Reference::as_str),
            CanonicalHasher::text,
        );
        leaf.text(row.msisdn.as_str());
        for text in [
            texts.account_number,
            texts.narration,
            texts.customer_names,
            texts.invoice_number,
            texts.extra.as_deref(),
            texts.document,
            texts.document_folder,
        ] {
            leaf.maybe(text, CanonicalHasher::text);
        }
        leaf.end_leaf()
    }

    fn close(&mut self, last: i64) {
        if let Some((first, canon)) = self.open.take() {
            self.done.push(Block {
                first,
                last,
                rows: std::mem::take(&mut self.rows),
                digest: canon.finish(),
            });
        }
    }

    /// Returns every block; `last` is the number of the newest instruction.
    pub(in crate::journal) fn finish(mut self, last: i64) -> Vec<Block> {
        self.close(last);
        self.done
    }
}
