//! Whether what is about to be claimed is what the chain of evidence says: read from it once in a run, a block at a time.
//!
//! What was checked stays checked as long as nobody else writes; SQLite tells whether another connection did.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::domain::{
    BatchId, BillId, EvidenceId, LaneId, LoadId, Payment, PaymentId, PolicyId, Timestamp,
};
use crate::journal::Error;
use crate::journal::codec::catalog::of_payment;
use crate::journal::codec::events::{
    BILLED, CLAIMED_TOGETHER, REPLACED, ROWS_LOADED, UPLOADED, WATCHED, fact_of,
};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::digests::bill_digest;
use crate::journal::evidence::encoding::{Digest, Terms};
use crate::journal::evidence::instruction_blocks::{
    BlockPayment, instruction_digest, stored, with_payments,
};
use crate::journal::payments::first_claims::ClaimRange;
use crate::journal::session::members::of_row;
use crate::ledger::intact::{Mismatch, Span, generation, place, same};
use crate::lifecycle::{Event, PaymentState, Policy, RecordedEvent, fold};
use crate::store::tables::{bill, evidence, instruction, life, load, policy};
use crate::store::{Read, Reads, Scan, Test, Value, shape};

/// What a run knows of the chain of its batch.
pub(in crate::journal) struct Intact {
    /// Evidence up to this number is taken in.
    read_to: EvidenceId,
    /// Nothing came onto the chain since, and so many rows of this process were there by then.
    is_current: bool,
    written: u64,
    /// Blocks of instructions, in order.
    blocks: Vec<Block>,
    /// First claims that share a row of evidence, by their lanes, in order.
    pub(in crate::journal) claims: BTreeMap<LaneId, Vec<Claims>>,
    policies: BTreeMap<PolicyId, Policy>,
    /// The payments of the block that was compared last for a claim.
    compared: Option<Compared>,
}

/// The payments of a block, as they were when it was compared with the chain.
pub(in crate::journal) struct Compared {
    pub(in crate::journal) span: Span,
    pub(in crate::journal) payments: Vec<BlockPayment>,
}

struct Block {
    span: Span,
    digest: Option<Digest>,
    checked: bool,
}

/// The first claims of one row of evidence.
pub(in crate::journal) struct Claims {
    evidence_id: EvidenceId,
    at: i64,
    policy_id: Option<PolicyId>,
    pub(in crate::journal) span: Span,
}

shape! {
    /// What of a policy decides how evidence adds up.
    struct StoredTerms of policy { not_found_quarantine: i64, exposures_max: i64, settle_on: i64, status_query: i64 }
}
shape! {
    /// That a retry replaces a payment.
    struct Replaced of evidence { evidence_id: EvidenceId, digest: Option<Digest> }
}
shape! {
    /// The bill that decided an amount.
    struct Decided of bill { bill_id: BillId, due: i64, currency: String }
}
shape! {
    /// Where a row stands in its file.
    struct Placed of instruction { line: i64, load_id: LoadId, identifier: String }
}

/// Rows of evidence about other payments that are passed before the next of those that are meant is looked for anew.
const PASSED_MAX: usize = 16;

/// The kind of evidence that a payment was claimed.
const CLAIMED: i64 = 0;

impl Default for Intact {
    fn default() -> Self {
        Self {
            read_to: EvidenceId::NONE,
            is_current: false,
            written: 0,
            blocks: Vec::new(),
            claims: BTreeMap::new(),
            policies: BTreeMap::new(),
            compared: None,
        }
    }
}

impl Intact {
    /// Another connection has written: what was checked is to be checked again.
    pub(in crate::journal) fn doubt(&mut self) {
        self.is_current = false;
        for block in &mut self.blocks {
            block.checked = false;
        }
        self.compared = None;
    }

    /// This process has written so many rows that it may not have taken in.
    pub(in crate::journal) fn note_written(&mut self, rows: u64) {
        self.is_current &= rows == self.written;
        self.written = rows;
    }

    /// Takes in what came onto the chain since.
    pub(in crate::journal) fn refresh(
        &mut self,
        c: &dyn Read,
        batch_id: BatchId,
    ) -> Result<(), Error> {
        if self.is_current {
            return Ok(());
        }
        let read_to = self.read_to;
        let about_rows = about_rows(&batch_id, &read_to);
        let columns = [
            evidence::evidence_id,
            evidence::event,
            evidence::at,
            evidence::policy_id,
            evidence::digest,
            evidence::detail,
        ];
        c.each_row(&about_rows, &columns, |row| {
            let (evidence_id, event): (EvidenceId, i64) = (row.get(0)?, row.get(1)?);
            let detail = row.value(5)?;
            let detail = text_of(&detail);
            if event == ROWS_LOADED {
                self.blocks.push(Block {
                    span: span_of(detail)?,
                    digest: row.get(4).unwrap_or(None),
                    checked: false,
                });
            } else {
                let together = ClaimRange::parse(detail)?;
                let runs = together.runs()?;
                let span = match (runs.first(), runs.last()) {
                    (Some((first, _)), Some((_, last))) => (*first, *last),
                    _ => return Ok(ControlFlow::Continue(())),
                };
                let claims = self.claims.entry(together.lane()).or_default();
                claims.push(Claims {
                    evidence_id,
                    at: row.get(2)?,
                    policy_id: row.get(3)?,
                    span,
                });
            }
            self.read_to = evidence_id;
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        self.is_current = true;
        Ok(())
    }

    /// Returns up to where evidence is taken in; `None` where nothing came since.
    pub(in crate::journal) fn reads_on_from(&self) -> Option<EvidenceId> {
        (!self.is_current).then_some(self.read_to)
    }

    /// Returns the blocks that instructions stand in from a number on, as many as so many instructions may take.
    pub(in crate::journal) fn spans(&self, from: i64, instructions: usize) -> Vec<Span> {
        let first = self.blocks.partition_point(|block| block.span.1 < from);
        let mut left = i64::try_from(instructions).unwrap_or(i64::MAX);
        let mut spans = Vec::new();
        for block in self.blocks.iter().skip(first) {
            if left <= 0 {
                break;
            }
            left -= block.span.1 - block.span.0.max(from) + 1;
            spans.push(block.span);
        }
        spans
    }

    /// Compares the block that an instruction is in with the chain, unless that was done before.
    pub(in crate::journal) fn check_block(
        &mut self,
        c: &dyn Read,
        batch_id: BatchId,
        seq: PaymentId,
    ) -> Result<Result<Span, (Span, Mismatch)>, Error> {
        let Ok(at) = self
            .blocks
            .binary_search_by(|block| place(block.span, seq.get()))
        else {
            return Ok(Err(((seq.get(), seq.get()), Mismatch::Unknown)));
        };
        let block = &mut self.blocks[at];
        if !block.checked {
            let mut found = None;
            stored(c, batch_id, block.span, usize::MAX, |block| {
                found = Some(block.digest);
                Ok(())
            })?;
            if let Err(mismatch) = same(block.digest, found, Mismatch::Instruction) {
                return Ok(Err((block.span, mismatch)));
            }
            block.checked = true;
        }
        Ok(Ok(block.span))
    }

    /// Compares the block that an instruction is in with the chain, and returns its payments; `None` where they are to be read
    /// otherwise: it is in no block, its block was compared before and another one since, or has rows without an amount of their own.
    // A row is read once for both, as a run spends a tenth of its time on each.
    pub(in crate::journal) fn compare(
        &mut self,
        c: &dyn Read,
        batch_id: BatchId,
        seq: PaymentId,
    ) -> Result<Result<Option<&Compared>, (Span, Mismatch)>, Error> {
        let Ok(at) = self
            .blocks
            .binary_search_by(|block| place(block.span, seq.get()))
        else {
            return Ok(Ok(None));
        };
        let block = &mut self.blocks[at];
        if !block.checked {
            let (found, payments) = with_payments(c, batch_id, block.span)?;
            let found = found.map(|block| block.digest);
            if let Err(mismatch) = same(block.digest, found, Mismatch::Instruction) {
                return Ok(Err((block.span, mismatch)));
            }
            block.checked = true;
            let span = block.span;
            self.compared = payments.map(|payments| Compared { span, payments });
        }
        let is_in = |compared: &&Compared| place(compared.span, seq.get()) == Ordering::Equal;
        Ok(Ok(self.compared.as_ref().filter(is_in)))
    }

    fn policy(&mut self, c: &dyn Read, policy_id: Option<PolicyId>) -> Result<Policy, Error> {
        let Some(policy_id) = policy_id else {
            return Ok(Policy::default());
        };
        if let Some(policy) = self.policies.get(&policy_id) {
            return Ok(policy.clone());
        }
        let found: Option<StoredTerms> = c.first(&Scan::of(&policy::TABLE).at(&policy_id))?;
        let found = found.ok_or_else(|| corrupt("a policy that is missing"))?;
        let terms = Terms([
            found.not_found_quarantine,
            found.exposures_max,
            found.settle_on,
            found.status_query,
        ]);
        let policy = terms
            .policy()
            .ok_or_else(|| corrupt("a policy with invalid terms"))?;
        self.policies.insert(policy_id, policy.clone());
        Ok(policy)
    }

    /// Returns the evidence of the first claim of a payment, where it shared one.
    fn first_claim(
        &self,
        c: &dyn Read,
        lane: LaneId,
        seq: PaymentId,
    ) -> Result<Option<&Claims>, Error> {
        let Some(lane) = self.claims.get(&lane) else {
            return Ok(None);
        };
        let Ok(at) = lane.binary_search_by(|claims| place(claims.span, seq.get())) else {
            return Ok(None);
        };
        let claims = &lane[at];
        let own = Scan::of(&evidence::TABLE).at(&claims.evidence_id);
        let detail: Option<Option<String>> = c.value(&own, evidence::detail)?;
        let detail = detail.ok_or_else(|| corrupt("claims whose evidence is missing"))?;
        let runs = ClaimRange::parse(detail.as_deref())?.runs()?;
        let is_in = runs.binary_search_by(|run| place(*run, seq.get())).is_ok();
        Ok(is_in.then_some(claims))
    }
}

/// What about the whole batch says of rows of it, behind a row of evidence.
pub(in crate::journal) fn about_rows<'s>(
    batch_id: &'s BatchId,
    read_to: &'s EvidenceId,
) -> Scan<'s> {
    Scan::by(&evidence::evidence_by_payment)
        .at(&PaymentId::NONE)
        .after(read_to)
        .only(evidence::batch_id, Test::is(batch_id))
        .only(
            evidence::event,
            Test::among(&[ROWS_LOADED, CLAIMED_TOGETHER]),
        )
}

/// Returns the text of a column; nothing where none stands there.
pub(in crate::journal) fn text_of<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    match value {
        Value::Text(text) => Some(text),
        Value::Null | Value::Integer(_) | Value::Bytes(_) => None,
    }
}

fn span_of(detail: Option<&str>) -> Result<Span, Error> {
    let odd = || corrupt("an unreadable block of rows");
    let detail: serde_json::Value =
        serde_json::from_str(detail.ok_or_else(odd)?).map_err(|_| odd())?;
    let number = |name: &str| detail[name].as_i64().ok_or_else(odd);
    Ok((number("first")?, number("last")?))
}

/// Evidence about payments from one to another, beside what bills said, and what they are held against.
pub(in crate::journal) fn evidence_between<'s>(
    first: &'s PaymentId,
    last: &'s PaymentId,
) -> Scan<'s> {
    Scan::by(&evidence::evidence_by_payment)
        .from(first)
        .up_to(last)
        .only(evidence::event, Test::is_not(&BILLED))
        .only(evidence::event, Test::is_not(&WATCHED))
}

/// The first of these payments, which stand in their order, that there is evidence about, beside what bills said, and what they
/// are held against.
pub(in crate::journal) fn first_with_evidence(
    c: &dyn Read,
    seqs: &[PaymentId],
) -> Result<Option<PaymentId>, Error> {
    let mut rest = seqs;
    let mut found = None;
    // Between them stand payments of other lanes: there may be as much evidence about these as there are payments, or none.
    while let (Some(first), Some(last), None) = (rest.first(), rest.last(), found) {
        let heard = evidence_between(first, last);
        let (mut left, mut passed) = (&rest[..0], 0);
        c.each_row(&heard, &[evidence::seq], |row| {
            let seq: PaymentId = row.get(0)?;
            let behind = rest.partition_point(|own| *own < seq);
            if rest.get(behind) == Some(&seq) {
                found = Some(seq);
                return Ok(ControlFlow::Break(()));
            }
            passed += 1;
            if passed < PASSED_MAX {
                return Ok(ControlFlow::Continue(()));
            }
            left = &rest[behind..];
            Ok::<_, Error>(ControlFlow::Break(()))
        })?;
        rest = left;
    }
    Ok(found)
}

/// Returns the first generation of a payment's row that does not fit the chain, and what does not.
pub(in crate::journal) fn misfit(
    intact: &mut Intact,
    c: &dyn Read,
    (batch_id, lane): (BatchId, LaneId),
    seq: PaymentId,
) -> Result<Option<(PaymentId, Mismatch)>, Error> {
    intact.refresh(c, batch_id)?;
    for (place, member) in (0_i64..).zip(&of_row(c, seq)?) {
        let found: i64 = of_payment(c, member.seq, instruction::generation)?;
        if found != place {
            return Ok(Some((seq, Mismatch::Generations)));
        }
        let replayed = replay(intact, c, lane, member.seq, &mut Evidence::default())?;
        if let Err(mismatch) = generation(&member.life, &replayed) {
            return Ok(Some((member.seq, mismatch)));
        }
    }
    Ok(None)
}

pub(in crate::journal) fn find_misfits(
    intact: &mut Intact,
    c: &dyn Read,
    batch_id: BatchId,
    limit: usize,
) -> Result<Vec<(PaymentId, Mismatch)>, Error> {
    intact.refresh(c, batch_id)?;
    let mut found = Vec::new();
    if limit == 0 {
        return Ok(found);
    }
    let rows = Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&batch_id));
    let columns = [
        instruction::seq,
        instruction::service_id,
        instruction::amount,
    ];
    c.each_row(&rows, &columns, |row| {
        let (seq, lane): (PaymentId, LaneId) = (row.get(0)?, row.get(1)?);
        // What waits for its amount has no life yet, and was never claimed; whatever else is said of it moves nothing.
        let is_priced = row.get::<Option<i64>>(2)?.is_some();
        if !is_priced && !c.any(&about(&seq).only(evidence::event, Test::is(&CLAIMED)))? {
            return Ok(ControlFlow::Continue(()));
        }
        // What its bill said, and what a row is held against, moves nothing: it may have no life yet.
        let heard = about(&seq)
            .only(evidence::event, Test::is_not(&BILLED))
            .only(evidence::event, Test::is_not(&WATCHED));
        if intact.first_claim(c, lane, seq)?.is_some() || c.any(&heard)? {
            found.extend(misfit(intact, c, (batch_id, lane), seq)?);
        }
        Ok::<_, Error>(match found.len() < limit {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(found)
}

/// The evidence about one payment, oldest first.
fn about(seq: &PaymentId) -> Scan<'_> {
    Scan::by(&evidence::evidence_by_payment).at(seq)
}

/// A row of the file is in its block; a retry is on the chain by itself, unless it is older than the chain.
pub(in crate::journal) fn check_instruction(
    intact: &mut Intact,
    c: &dyn Read,
    batch_id: BatchId,
    seq: PaymentId,
    payment: &Payment,
) -> Result<Option<String>, Error> {
    if payment.generation > 0 {
        let replaces = Scan::by(&life::predecessor)
            .at(&seq)
            .only(life::batch_id, Test::is(&batch_id));
        let mut recorded: Option<Replaced> = None;
        for earlier in c.values::<PaymentId>(&replaces, life::seq)? {
            let last = about(&earlier)
                .only(evidence::event, Test::is(&REPLACED))
                .descending();
            let last: Option<Replaced> = c.first(&last)?;
            let newest = recorded.as_ref().map(|recorded| recorded.evidence_id);
            recorded = last
                .filter(|last| newest.is_none_or(|newest| newest < last.evidence_id))
                .or(recorded);
        }
        let recorded = recorded.map(|recorded| recorded.digest);
        if let Some(Some(digest)) = recorded {
            let found = instruction_digest(c, seq)?;
            return match same(Some(digest), found, Mismatch::Instruction) {
                Ok(()) => Ok(None),
                Err(mismatch) => told(c, seq, mismatch).map(Some),
            };
        }
    }
    match intact.check_block(c, batch_id, seq)? {
        Ok(_) => Ok(None),
        Err((span, mismatch)) => told_of(c, span, mismatch).map(Some),
    }
}

/// What evidence of a payment holds the digests of.
#[derive(Default)]
pub(in crate::journal) struct Evidence {
    pub(in crate::journal) uploaded: Option<Digest>,
    /// By the numbers of the bills.
    bills: BTreeMap<BillId, Digest>,
}

/// Folds the evidence of a payment again.
pub(in crate::journal) fn replay(
    intact: &mut Intact,
    c: &dyn Read,
    lane: LaneId,
    seq: PaymentId,
    seen: &mut Evidence,
) -> Result<PaymentState, Error> {
    let first = intact
        .first_claim(c, lane, seq)?
        .map(|claims| (claims.evidence_id, claims.at, claims.policy_id));
    let mut facts: Vec<(EvidenceId, i64, RecordedEvent, Option<PolicyId>)> = Vec::new();
    if let Some((evidence_id, at, policy_id)) = first {
        facts.push((
            evidence_id,
            at,
            RecordedEvent::Event(Event::Claimed),
            policy_id,
        ));
    }
    let columns = [
        evidence::evidence_id,
        evidence::at,
        evidence::event,
        evidence::class,
        evidence::code,
        evidence::detail,
        evidence::policy_id,
        evidence::digest,
    ];
    c.each_row(&about(&seq), &columns, |row| {
        let event: i64 = row.get(2)?;
        let detail = row.value(5)?;
        let detail = text_of(&detail);
        let digest: Option<Digest> = row.get(7).unwrap_or(None);
        match (event, digest) {
            (UPLOADED, digest) => seen.uploaded = digest,
            (BILLED, Some(digest)) => {
                let bill: Option<serde_json::Value> =
                    detail.and_then(|text| serde_json::from_str(text).ok());
                if let Some(bill) = bill.and_then(|detail| detail["bill"].as_i64()) {
                    seen.bills.insert(BillId::new(bill), digest);
                }
            }
            _ => {}
        }
        let fact = fact_of(event, row.get(3)?, row.get(4)?, detail)?;
        facts.push((row.get(0)?, row.get(1)?, fact, row.get(6)?));
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    facts.sort_by_key(|(evidence_id, ..)| *evidence_id);
    let mut life = PaymentState::NEW;
    for (_, at, fact, policy_id) in facts {
        let policy = intact.policy(c, policy_id)?;
        life = fold(&life, fact, Timestamp::from_millis(at), &policy);
    }
    Ok(life)
}

/// An amount that the file left open is that of the bill that decided it, which is as it was recorded.
pub(in crate::journal) fn check_bill(
    c: &dyn Read,
    seq: PaymentId,
    payment: &Payment,
    seen: &Evidence,
) -> Result<Result<(), Mismatch>, Error> {
    let as_due: bool = of_payment(c, seq, instruction::as_due)?;
    if !as_due {
        return Ok(Ok(()));
    }
    let decided = Scan::by(&bill::bill_that_decided)
        .at(&seq)
        .only(bill::outcome, Test::is(&0_i64));
    let Some(Decided {
        bill_id,
        due,
        currency,
    }) = c.first(&decided)?
    else {
        return Ok(Err(Mismatch::Bill));
    };
    let money = payment.instruction.money;
    let told = (due, currency.as_str());
    let fits = same(
        Some(told),
        Some((money.amount.minor(), money.currency.code())),
        Mismatch::Bill,
    );
    let on_chain = seen.bills.get(&bill_id).copied();
    let found = bill_digest(c, bill_id)?;
    Ok(fits.and_then(|()| same(on_chain, found, Mismatch::Bill)))
}

/// Names a payment, and says what does not fit.
pub(in crate::journal) fn told(
    c: &dyn Read,
    seq: PaymentId,
    mismatch: Mismatch,
) -> Result<String, Error> {
    told_of(c, (seq.get(), seq.get()), mismatch)
}

/// The same of rows among which something does not fit.
pub(in crate::journal) fn told_of(
    c: &dyn Read,
    (first, last): Span,
    mismatch: Mismatch,
) -> Result<String, Error> {
    let (mut top, mut bottom): (Option<i64>, Option<i64>) = (None, None);
    let (mut loads, mut identifier, mut count) = (BTreeSet::new(), None, 0);
    let rows = Scan::of(&instruction::TABLE).from(&first).up_to(&last);
    c.each(&rows, |row: Placed| {
        top = Some(top.map_or(row.line, |line| line.min(row.line)));
        bottom = Some(bottom.map_or(row.line, |line| line.max(row.line)));
        loads.insert(row.load_id);
        count += 1;
        identifier = (count == 1).then_some(row.identifier);
        Ok::<_, Error>(())
    })?;
    let mut source: Option<String> = None;
    for load_id in loads {
        source = source.max(c.value(&Scan::of(&load::TABLE).at(&load_id), load::source)?);
    }
    let source = source.unwrap_or_else(|| "its file".to_owned());
    let lines = match (top, bottom) {
        (Some(top), Some(bottom)) if top != bottom => format!("lines {top} to {bottom}"),
        (Some(line), _) => format!("line {line}"),
        _ => "missing lines".to_owned(),
    };
    Ok(match identifier {
        Some(id) => format!("payment {id}, {lines} of {source}: {mismatch}"),
        None => format!("a payment of {lines} of {source}: {mismatch}"),
    })
}
