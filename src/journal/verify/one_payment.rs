//! One payment beside the chain: its instruction, its evidence folded again, its bill; and what does not fit, in words.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::intact::{Intact, text_of};
use crate::domain::{
    BatchId, BillId, EvidenceId, LaneId, LoadId, Payment, PaymentId, PolicyId, Timestamp,
};
use crate::journal::Error;
use crate::journal::codec::catalog::of_payment;
use crate::journal::codec::events::{BILLED, REPLACED, UPLOADED, WATCHED, fact_of};
use crate::journal::evidence::digests::bill_digest;
use crate::journal::evidence::encoding::Digest;
use crate::journal::evidence::instruction_blocks::instruction_digest;
use crate::journal::session::expected::in_turn;
use crate::journal::session::members::of_row;
use crate::ledger::intact::{Mismatch, Span, generation, same};
use crate::lifecycle::{Event, PaymentState, RecordedEvent, fold};
use crate::store::tables::{bill, evidence, instruction, life, load};
use crate::store::{Read, Reads, Scan, Test, shape};

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

/// The kind of evidence that a payment was claimed.
const CLAIMED: i64 = 0;

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
    let mut page = Vec::with_capacity(PAGE);
    c.each_row(&rows, &columns, |row| {
        page.push(Looked {
            seq: row.get(0)?,
            lane: row.get(1)?,
            is_priced: row.get::<Option<i64>>(2)?.is_some(),
        });
        if page.len() >= PAGE {
            misfits_among(intact, c, batch_id, &mut page, &mut found)?;
        }
        Ok::<_, Error>(match found.len() < limit {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    if found.len() < limit {
        misfits_among(intact, c, batch_id, &mut page, &mut found)?;
    }
    found.truncate(limit);
    Ok(found)
}

/// Payments that are looked at together.
const PAGE: usize = 512;

/// A payment that is looked at.
struct Looked {
    seq: PaymentId,
    lane: LaneId,
    is_priced: bool,
}

/// Takes payments out of a page, and adds those that do not fit the chain.
fn misfits_among(
    intact: &mut Intact,
    c: &dyn Read,
    batch_id: BatchId,
    page: &mut Vec<Looked>,
    found: &mut Vec<(PaymentId, Mismatch)>,
) -> Result<(), Error> {
    let seqs: Vec<PaymentId> = page.iter().map(|looked| looked.seq).collect();
    for (looked, turn) in page.drain(..).zip(in_turn(c, &seqs)) {
        let (seq, lane) = (turn?, looked.lane);
        // What waits for its amount has no life yet, and was never claimed; whatever else is said of it moves nothing.
        if !looked.is_priced && !c.any(&about(&seq).only(evidence::event, Test::is(&CLAIMED)))? {
            continue;
        }
        // What its bill said, and what a row is held against, moves nothing: it may have no life yet.
        let heard = about(&seq)
            .only(evidence::event, Test::is_not(&BILLED))
            .only(evidence::event, Test::is_not(&WATCHED));
        if intact.first_claim(c, lane, seq)?.is_some() || c.any(&heard)? {
            found.extend(misfit(intact, c, (batch_id, lane), seq)?);
        }
    }
    Ok(())
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
