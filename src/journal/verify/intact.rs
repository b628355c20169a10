//! Whether what is about to be claimed is what the chain of evidence says: read from it once in a run, a block at a time.
//!
//! What was checked stays checked as long as nobody else writes to the file; SQLite tells whether another connection did. On a server
//! every run writes all the time, none of them changes an instruction, and whoever would do so by hand takes no turn that could be seen:
//! there a run compares a block once, and posts what it has compared.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::places::Places;
use crate::domain::{BatchId, EvidenceId, LaneId, PaymentId, PolicyId};
use crate::journal::Error;
use crate::journal::codec::events::{BILLED, CLAIMED_TOGETHER, ROWS_LOADED, WATCHED};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::encoding::{Digest, Terms};
use crate::journal::evidence::instruction_blocks::{BlockPayment, stored, with_payments};
use crate::journal::payments::first_claims::ClaimRange;
use crate::ledger::intact::{Mismatch, Span, place, same};
use crate::lifecycle::Policy;
use crate::store::tables::{evidence, policy};
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
    /// The payments of the blocks that were compared last for claims.
    compared: Vec<Compared>,
    /// Where this run claims, by lanes.
    places: BTreeMap<LaneId, Places>,
}

/// So many blocks have their payments kept: the one that is claimed from, and the one that comes next.
const KEPT: usize = 2;

/// The payments of a block, as they were when it was compared with the chain.
pub(in crate::journal) struct Compared {
    pub(in crate::journal) span: Span,
    pub(in crate::journal) payments: Vec<BlockPayment>,
    /// Something was claimed from it, or looked for.
    is_used: bool,
}

#[derive(Clone, Copy)]
struct Block {
    span: Span,
    digest: Option<Digest>,
    checked: bool,
}

/// The first claims of one row of evidence.
pub(in crate::journal) struct Claims {
    pub(super) evidence_id: EvidenceId,
    pub(super) at: i64,
    pub(super) policy_id: Option<PolicyId>,
    pub(in crate::journal) span: Span,
}

shape! {
    /// What of a policy decides how evidence adds up.
    struct StoredTerms of policy { not_found_quarantine: i64, exposures_max: i64, settle_on: i64, status_query: i64 }
}

/// Rows of evidence about other payments that are passed before the next of those that are meant is looked for anew.
const PASSED_MAX: usize = 16;

impl Default for Intact {
    fn default() -> Self {
        Self {
            read_to: EvidenceId::NONE,
            is_current: false,
            written: 0,
            blocks: Vec::new(),
            claims: BTreeMap::new(),
            policies: BTreeMap::new(),
            compared: Vec::new(),
            places: BTreeMap::new(),
        }
    }
}

impl Intact {
    /// Another connection has written to the chain.
    pub(in crate::journal) fn read_on(&mut self) {
        self.is_current = false;
    }

    /// Another connection has written to the file: what was checked is to be checked again.
    pub(in crate::journal) fn doubt(&mut self) {
        self.read_on();
        for block in &mut self.blocks {
            block.checked = false;
        }
        self.compared.clear();
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
        let Ok(at) = self.block_at(seq.get()) else {
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
    /// otherwise: it is in no block, its block was compared before and others since, or has rows without an amount of their own.
    // A row is read once for both, as a run spends a tenth of its time on each.
    pub(in crate::journal) fn compare(
        &mut self,
        c: &dyn Read,
        batch_id: BatchId,
        seq: PaymentId,
    ) -> Result<Result<Option<&Compared>, (Span, Mismatch)>, Error> {
        let Ok(at) = self.block_at(seq.get()) else {
            return Ok(Ok(None));
        };
        if let Err(mismatch) = self.compare_block(c, batch_id, at)? {
            return Ok(Err((self.blocks[at].span, mismatch)));
        }
        let is_in = |compared: &&mut Compared| place(compared.span, seq.get()) == Ordering::Equal;
        let compared = self.compared.iter_mut().find(is_in);
        Ok(Ok(compared.map(|compared| {
            compared.is_used = true;
            &*compared
        })))
    }

    /// Compares a block with the chain, unless that was done before, and keeps its payments.
    fn compare_block(
        &mut self,
        c: &dyn Read,
        batch_id: BatchId,
        at: usize,
    ) -> Result<Result<(), Mismatch>, Error> {
        let Block {
            span,
            digest,
            checked,
        } = self.blocks[at];
        if checked {
            return Ok(Ok(()));
        }
        let (found, payments) = with_payments(c, batch_id, span)?;
        let found = found.map(|block| block.digest);
        if let Err(mismatch) = same(digest, found, Mismatch::Instruction) {
            return Ok(Err(mismatch));
        }
        self.blocks[at].checked = true;
        let Some(payments) = payments else {
            return Ok(Ok(()));
        };
        if self.compared.len() >= KEPT {
            let oldest = self.compared.remove(0);
            // What nobody came to is to be had again.
            if !oldest.is_used
                && let Ok(at) = self.block_at(oldest.span.0)
            {
                self.blocks[at].checked = false;
            }
        }
        self.compared.push(Compared {
            span,
            payments,
            is_used: false,
        });
        Ok(Ok(()))
    }

    /// Returns the place of the block that a number is in; where it is in none, that of the next block.
    fn block_at(&self, number: i64) -> Result<usize, usize> {
        self.blocks
            .binary_search_by(|block| place(block.span, number))
    }

    /// Notes that a claim of this run from a lane begins with a number, and ends before another one.
    pub(in crate::journal) fn note_claim(&mut self, lane: LaneId, (first, behind): (i64, i64)) {
        let at = |number| self.block_at(number).unwrap_or_else(|next| next);
        let (begin, end) = (at(first), at(behind));
        let places = self.places.entry(lane).or_default();
        places.begin(begin);
        places.end(end);
    }

    /// Compares a block from which this run is likely to claim next. What does not fit the chain is told by its claim.
    pub(in crate::journal) fn compare_ahead(
        &mut self,
        c: &dyn Read,
        batch_id: BatchId,
    ) -> Result<(), Error> {
        let mut next = self.places.values().filter_map(Places::next);
        let is_new = |at: &usize| self.blocks.get(*at).is_some_and(|block| !block.checked);
        if let Some(at) = next.find(is_new) {
            let _ = self.compare_block(c, batch_id, at)?;
        }
        Ok(())
    }

    pub(super) fn policy(
        &mut self,
        c: &dyn Read,
        policy_id: Option<PolicyId>,
    ) -> Result<Policy, Error> {
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
    pub(super) fn first_claim(
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
