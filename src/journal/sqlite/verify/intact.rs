//! Whether what is about to be claimed is what the chain of evidence says: read from it once in a run, a block at a time.
//!
//! What was checked stays checked as long as nobody else writes; SQLite tells whether another connection did.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::domain::{BatchId, EvidenceId, LaneId, Payment, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::events::{
    BILLED, CLAIMED_TOGETHER, REPLACED, ROWS_LOADED, UPLOADED, WATCHED, fact_of,
};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::evidence::digests::bill_digest;
use crate::journal::sqlite::evidence::encoding::{Digest, Terms};
use crate::journal::sqlite::evidence::instruction_blocks::{
    BlockPayment, instruction_digest, stored, with_payments,
};
use crate::journal::sqlite::payments::first_claims::ClaimRange;
use crate::journal::sqlite::session::members::of_row;
use crate::ledger::intact::{Mismatch, Span, generation, place, same};
use crate::lifecycle::{Event, PaymentState, Policy, RecordedEvent, fold};

/// What a run knows of the chain of its batch.
pub(in crate::journal::sqlite) struct Intact {
    /// Evidence up to this number is taken in.
    read_to: EvidenceId,
    /// Blocks of instructions, in order.
    blocks: Vec<Block>,
    /// First claims that share a row of evidence, by their lanes, in order.
    pub(in crate::journal::sqlite) claims: BTreeMap<LaneId, Vec<Claims>>,
    policies: BTreeMap<i64, Policy>,
    /// The payments of the block that was compared last for a claim.
    compared: Option<Compared>,
}

/// The payments of a block, as they were when it was compared with the chain.
pub(in crate::journal::sqlite) struct Compared {
    pub(in crate::journal::sqlite) span: Span,
    pub(in crate::journal::sqlite) payments: Vec<BlockPayment>,
}

struct Block {
    span: Span,
    digest: Option<Digest>,
    checked: bool,
}

/// The first claims of one row of evidence.
pub(in crate::journal::sqlite) struct Claims {
    evidence_id: EvidenceId,
    at: i64,
    policy_id: Option<i64>,
    pub(in crate::journal::sqlite) span: Span,
}

/// What about the whole batch says of rows of it.
const ABOUT_ROWS: &str = "select evidence_id, event, at, policy_id, digest, detail from evidence indexed by evidence_by_payment
     where seq = 0 and evidence_id > ?2 and batch_id = ?1 and event in (25, 30) order by evidence_id";
const _: () = assert!(ROWS_LOADED == 25 && CLAIMED_TOGETHER == 30);

impl Default for Intact {
    fn default() -> Self {
        Self {
            read_to: EvidenceId::NONE,
            blocks: Vec::new(),
            claims: BTreeMap::new(),
            policies: BTreeMap::new(),
            compared: None,
        }
    }
}

impl Intact {
    /// Another connection has written: what was checked is to be checked again.
    pub(in crate::journal::sqlite) fn doubt(&mut self) {
        for block in &mut self.blocks {
            block.checked = false;
        }
        self.compared = None;
    }

    /// Takes in what came onto the chain since.
    pub(in crate::journal::sqlite) fn refresh(
        &mut self,
        c: &Connection,
        batch_id: BatchId,
    ) -> Result<(), Error> {
        let mut statement = c.prepare_cached(ABOUT_ROWS)?;
        let mut rows = statement.query((batch_id, self.read_to))?;
        while let Some(row) = rows.next()? {
            let (evidence_id, event): (EvidenceId, i64) = (row.get(0)?, row.get(1)?);
            let detail = row.get_ref(5)?.as_str_or_null().unwrap_or_default();
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
                    _ => continue,
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
        }
        Ok(())
    }

    /// Compares the block that an instruction is in with the chain, unless that was done before.
    pub(in crate::journal::sqlite) fn check_block(
        &mut self,
        c: &Connection,
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
    pub(in crate::journal::sqlite) fn compare(
        &mut self,
        c: &Connection,
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

    fn policy(&mut self, c: &Connection, policy_id: Option<i64>) -> Result<Policy, Error> {
        let Some(policy_id) = policy_id else {
            return Ok(Policy::default());
        };
        if let Some(policy) = self.policies.get(&policy_id) {
            return Ok(policy.clone());
        }
        let terms = c
            .prepare_cached(
                "select not_found_quarantine, exposures_max, settle_on, status_query from policy where policy_id = ?1",
            )?
            .query_row([policy_id], |row| {
                Ok(Terms([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))
            })?;
        let policy = terms
            .policy()
            .ok_or_else(|| corrupt("a policy that is none"))?;
        self.policies.insert(policy_id, policy.clone());
        Ok(policy)
    }

    /// Returns the evidence of the first claim of a payment, where it shared one.
    fn first_claim(
        &self,
        c: &Connection,
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
        let detail: Option<String> = c
            .prepare_cached("select detail from evidence where evidence_id = ?1")?
            .query_row([claims.evidence_id], |row| row.get(0))?;
        let runs = ClaimRange::parse(detail.as_deref())?.runs()?;
        let is_in = runs.binary_search_by(|run| place(*run, seq.get())).is_ok();
        Ok(is_in.then_some(claims))
    }
}

fn span_of(detail: Option<&str>) -> Result<Span, Error> {
    let odd = || corrupt("a block of rows that is none");
    let detail: serde_json::Value =
        serde_json::from_str(detail.ok_or_else(odd)?).map_err(|_| odd())?;
    let number = |name: &str| detail[name].as_i64().ok_or_else(odd);
    Ok((number("first")?, number("last")?))
}

/// The first of these payments that there is evidence about, beside what bills said, and what they are held against.
pub(in crate::journal::sqlite) fn first_with_evidence(
    c: &Connection,
    seqs: &[PaymentId],
) -> Result<Option<PaymentId>, Error> {
    let runs: Vec<(i64, i64)> = seqs
        .chunk_by(|a, b| a.get() + 1 == b.get())
        .filter_map(|run| Some((run.first()?.get(), run.last()?.get())))
        .collect();
    let runs = serde_json::to_string(&runs).map_err(|_| corrupt("numbers"))?;
    Ok(c.prepare_cached(
        "select e.seq from json_each(?1) r cross join evidence e indexed by evidence_by_payment
         where e.seq between r.value ->> 0 and r.value ->> 1 and e.event not in (?2, ?3) limit 1",
    )?
    .query_row(params![runs, BILLED, WATCHED], |row| row.get(0))
    .optional()?)
}

/// Returns the first generation of a payment's row that does not fit the chain, and what does not.
pub(in crate::journal::sqlite) fn misfit(
    intact: &mut Intact,
    c: &Connection,
    (batch_id, lane): (BatchId, LaneId),
    seq: PaymentId,
) -> Result<Option<(PaymentId, Mismatch)>, Error> {
    intact.refresh(c, batch_id)?;
    let mut number = c.prepare_cached("select generation from instruction where seq = ?1")?;
    for (place, member) in (0_i64..).zip(&of_row(c, seq)?) {
        let found: i64 = number.query_row([member.seq], |row| row.get(0))?;
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

pub(in crate::journal::sqlite) fn find_misfits(
    intact: &mut Intact,
    c: &Connection,
    batch_id: BatchId,
    limit: usize,
) -> Result<Vec<(PaymentId, Mismatch)>, Error> {
    intact.refresh(c, batch_id)?;
    // What its bill said, and what a row is held against, moves nothing: it may have no life yet.
    let mut heard_of = c.prepare_cached(
        "select exists (select 1 from evidence e indexed by evidence_by_payment where e.seq = ?1 and e.event not in (?2, ?3))",
    )?;
    // What waits for its amount has no life yet, and was never claimed; whatever else is said of it moves nothing.
    let mut statement = c.prepare_cached(
        "select seq, service_id from instruction i where batch_id = ?1
         and (amount is not null or exists (select 1 from evidence e indexed by evidence_by_payment where e.seq = i.seq and e.event = 0))",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let (seq, lane): (PaymentId, LaneId) = (row.get(0)?, row.get(1)?);
        let begun = intact.first_claim(c, lane, seq)?.is_some()
            || heard_of.query_row(params![seq, BILLED, WATCHED], |row| row.get(0))?;
        if begun {
            found.extend(misfit(intact, c, (batch_id, lane), seq)?);
        }
    }
    Ok(found)
}

/// A row of the file is in its block; a retry is on the chain by itself, unless it is older than the chain.
pub(in crate::journal::sqlite) fn check_instruction(
    intact: &mut Intact,
    c: &Connection,
    batch_id: BatchId,
    seq: PaymentId,
    payment: &Payment,
) -> Result<Option<String>, Error> {
    if payment.generation > 0 {
        let recorded: Option<Option<Digest>> = c
            .prepare_cached(
                "select e.digest from life p cross join evidence e indexed by evidence_by_payment on e.seq = p.seq
                 where p.batch_id = ?1 and p.replaced_by = ?2 and e.event = ?3 order by e.evidence_id desc limit 1",
            )?
            .query_row(params![batch_id, seq, REPLACED], |row| row.get(0))
            .optional()?;
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
pub(in crate::journal::sqlite) struct Evidence {
    pub(in crate::journal::sqlite) uploaded: Option<Digest>,
    /// By the numbers of the bills.
    bills: BTreeMap<i64, Digest>,
}

/// Folds the evidence of a payment again.
pub(in crate::journal::sqlite) fn replay(
    intact: &mut Intact,
    c: &Connection,
    lane: LaneId,
    seq: PaymentId,
    seen: &mut Evidence,
) -> Result<PaymentState, Error> {
    let first = intact
        .first_claim(c, lane, seq)?
        .map(|claims| (claims.evidence_id, claims.at, claims.policy_id));
    let mut facts: Vec<(EvidenceId, i64, RecordedEvent, Option<i64>)> = Vec::new();
    if let Some((evidence_id, at, policy_id)) = first {
        facts.push((
            evidence_id,
            at,
            RecordedEvent::Event(Event::Claimed),
            policy_id,
        ));
    }
    let mut statement = c.prepare_cached(
        "select evidence_id, at, event, class, code, detail, policy_id, digest
         from evidence indexed by evidence_by_payment where seq = ?1 order by evidence_id",
    )?;
    let mut rows = statement.query([seq])?;
    while let Some(row) = rows.next()? {
        let event: i64 = row.get(2)?;
        let detail = row.get_ref(5)?.as_str_or_null().unwrap_or_default();
        let digest: Option<Digest> = row.get(7).unwrap_or(None);
        match (event, digest) {
            (UPLOADED, digest) => seen.uploaded = digest,
            (BILLED, Some(digest)) => {
                let bill: Option<serde_json::Value> =
                    detail.and_then(|text| serde_json::from_str(text).ok());
                if let Some(bill) = bill.and_then(|detail| detail["bill"].as_i64()) {
                    seen.bills.insert(bill, digest);
                }
            }
            _ => {}
        }
        let fact = fact_of(event, row.get(3)?, row.get(4)?, detail)?;
        facts.push((row.get(0)?, row.get(1)?, fact, row.get(6)?));
    }
    facts.sort_by_key(|(evidence_id, ..)| *evidence_id);
    let mut life = PaymentState::NEW;
    for (_, at, fact, policy_id) in facts {
        let policy = intact.policy(c, policy_id)?;
        life = fold(&life, fact, Timestamp::from_millis(at), &policy);
    }
    Ok(life)
}

/// An amount that the file left open is that of the bill that decided it, which is as it was recorded.
pub(in crate::journal::sqlite) fn check_bill(
    c: &Connection,
    seq: PaymentId,
    payment: &Payment,
    seen: &Evidence,
) -> Result<Result<(), Mismatch>, Error> {
    let as_due: bool = c
        .prepare_cached("select as_due from instruction where seq = ?1")?
        .query_row([seq], |row| row.get(0))?;
    if !as_due {
        return Ok(Ok(()));
    }
    let decided: Option<(i64, i64, String)> = c
        .prepare_cached("select bill_id, due, currency from bill where seq = ?1 and outcome = 0")?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((bill_id, due, currency)) = decided else {
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
pub(in crate::journal::sqlite) fn told(
    c: &Connection,
    seq: PaymentId,
    mismatch: Mismatch,
) -> Result<String, Error> {
    told_of(c, (seq.get(), seq.get()), mismatch)
}

/// The same of rows among which something does not fit.
pub(in crate::journal::sqlite) fn told_of(
    c: &Connection,
    (first, last): Span,
    mismatch: Mismatch,
) -> Result<String, Error> {
    type Place = (Option<i64>, Option<i64>, Option<String>, Option<String>);
    let (top, bottom, source, identifier): Place = c.query_row(
        "select min(i.line), max(i.line), max(d.source), iif(count(*) = 1, max(i.identifier), null)
         from instruction i left join load d using (load_id) where i.seq between ?1 and ?2",
        [first, last],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    let source = source.unwrap_or_else(|| "its file".to_owned());
    let lines = match (top, bottom) {
        (Some(top), Some(bottom)) if top != bottom => format!("lines {top} to {bottom}"),
        (Some(line), _) => format!("line {line}"),
        _ => "lines that are gone".to_owned(),
    };
    Ok(match identifier {
        Some(id) => format!("payment {id}, {lines} of {source}: {mismatch}"),
        None => format!("a payment of {lines} of {source}: {mismatch}"),
    })
}
