//! The generations of a row, as they are stored.

use std::collections::BTreeSet;

use super::tallies::Counted;
use crate::domain::{BatchId, Currency, LaneId, PaymentId};
use crate::journal::Error;
use crate::journal::codec::catalog::{batches, of_payment};
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::lives::with;
use crate::journal::codec::values::{add_to_tally, corrupt};
use crate::ledger::generations::{self, PaidTwice, stands_for};
use crate::lifecycle::{PaymentState, State};
use crate::store::tables::{instruction, life};
use crate::store::{
    self, Column, Field, Read, Reads, Row, Scan, Shape, Table, Value, Write, shape,
};

/// One generation of a row.
#[derive(Clone, Copy, Debug)]
pub(in crate::journal) struct Member {
    pub(in crate::journal) seq: PaymentId,
    pub(in crate::journal) life: PaymentState,
}

/// Where a payment stands, and the retry that replaces it.
pub(super) struct Replaced {
    pub(super) life: PaymentState,
    pub(super) later: Option<PaymentId>,
}

impl Shape for Replaced {
    const TABLE: &'static Table = &life::TABLE;
    const COLUMNS: &'static [Column] = &with(life::replaced_by);

    fn read(row: &dyn Row) -> Result<Self, store::Error> {
        Ok(Self {
            life: PaymentState::read(row)?,
            later: row.get(PaymentState::COLUMNS.len())?,
        })
    }

    fn values(&self) -> Vec<Value<'_>> {
        let mut values = self.life.values();
        values.push(self.later.to_value());
        values
    }
}

/// Reads every generation of the row that a payment belongs to, the oldest first.
pub(in crate::journal) fn of_row(c: &dyn Read, seq: PaymentId) -> Result<Vec<Member>, Error> {
    let mut first = seq;
    while let Some(earlier) = c.value(&Scan::by(&life::predecessor).at(&first), life::seq)? {
        // A retry is younger than what it replaces. Whatever else is stored would never come to an end.
        if earlier >= first {
            return Err(corrupt("a retry that is older than what it replaces"));
        }
        first = earlier;
    }
    let mut row = Vec::new();
    let mut next = Some(first);
    while let Some(seq) = next {
        let own = Scan::of(&life::TABLE).at(&seq);
        let Replaced { life, later } = c
            .first(&own)?
            .ok_or_else(|| corrupt("a retry that is missing"))?;
        row.push(Member { seq, life });
        if later.is_some_and(|later| later <= seq) {
            return Err(corrupt("a retry that is older than what it replaces"));
        }
        next = later;
    }
    Ok(row)
}

pub(in crate::journal) fn states(row: &[Member]) -> Vec<State> {
    row.iter().map(|member| member.life.state).collect()
}

/// Returns the generation that stands for the row of a payment.
pub(in crate::journal) fn standing_for(c: &dyn Read, seq: PaymentId) -> Result<PaymentId, Error> {
    let row = of_row(c, seq)?;
    Ok(row[stands_for(&states(&row))].seq)
}

/// Returns where the row of a payment was counted until now, and where it is: the payment stood at `from`.
pub(in crate::journal) fn counted(
    c: &dyn Read,
    seq: PaymentId,
    from: State,
) -> Result<(Counted, Counted), Error> {
    let row = of_row(c, seq)?;
    let moved = row.iter().position(|member| member.seq == seq);
    let (before, after) = generations::counted(&states(&row), moved, from);
    let with_amount = |(place, state): generations::Counted| -> Result<Counted, Error> {
        let minor = of_payment(c, row[place].seq, instruction::amount)?;
        Ok((state, minor))
    };
    Ok((with_amount(before)?, with_amount(after)?))
}

/// Returns what the corrected rows of a batch come to beyond what they came to when they were loaded first, by service and
/// currency: a row counts with the amount of the generation that stands for it.
pub(in crate::journal) fn corrected(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Vec<(LaneId, Currency, i128)>, Error> {
    let replaced = Scan::by(&life::replaced).at(&batch_id);
    let mut first_seen = BTreeSet::new();
    let mut corrected = Vec::new();
    c.each(&replaced, |Retried { seq, replaced_by }| {
        let was = priced(c, seq)?;
        let Some(later) = replaced_by else {
            return Ok(());
        };
        if priced(c, later)?.amount == was.amount {
            return Ok(());
        }
        let members = of_row(c, seq)?;
        let first = members[0].seq;
        if !first_seen.insert(first) {
            return Ok(());
        }
        let stands = members[stands_for(&states(&members))].seq;
        let was_first: i64 = of_payment(c, first, instruction::amount)?;
        let is: i64 = of_payment(c, stands, instruction::amount)?;
        let by = i128::from(is) - i128::from(was_first);
        corrected.push((was.service_id, was.currency, by));
        Ok::<_, Error>(())
    })?;
    Ok(corrected)
}

shape! {
    /// A payment that a retry replaces.
    struct Retried of life { seq: PaymentId, replaced_by: Option<PaymentId> }
}
shape! {
    /// What is paid of an instruction, and how.
    struct Priced of instruction {
        batch_id: BatchId, service_id: LaneId, currency: Currency, amount: Option<i64>, generation: u32,
    }
}

fn priced(c: &dyn Read, seq: PaymentId) -> Result<Priced, Error> {
    let found = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))
}

pub(in crate::journal) fn split(row: &[Member]) -> Result<(&Member, &[Member]), Error> {
    row.split_last()
        .ok_or_else(|| corrupt("a row without a payment"))
}

/// Counts the rows with a retry anew that an earlier release counted by their newest generation.
pub(in crate::journal) fn recount(c: &dyn Write) -> Result<(), Error> {
    // Batch by batch, as the index has them.
    for batch_id in batches(c)? {
        let replaced = Scan::by(&life::replaced).at(&batch_id);
        for seq in c.values(&replaced, life::seq)? {
            let row = priced(c, seq)?;
            if row.generation > 0 {
                continue;
            }
            let states = states(&of_row(c, seq)?);
            let counted = states[states.len() - 1];
            let stands = states[stands_for(&states)];
            if counted != stands {
                let (lane, currency) = (row.service_id, row.currency.code());
                let minor = row.amount.unwrap_or(0);
                add_to_tally(c, batch_id, lane, currency, counted, -1, -minor)?;
                add_to_tally(c, batch_id, lane, currency, stands, 1, minor)?;
            }
        }
    }
    Ok(())
}

pub(in crate::journal) fn named(
    c: &dyn Read,
    members: &[&Member],
    certain: bool,
) -> Result<PaidTwice, Error> {
    let mut ids = Vec::with_capacity(members.len());
    let mut amounts = Vec::with_capacity(members.len());
    let mut first = None;
    let instructions = Instructions::of(c);
    for member in members {
        let payment = instructions.payment(member.seq)?;
        ids.push(payment.id);
        amounts.push(payment.instruction.money);
        first.get_or_insert(payment);
    }
    let row = first.ok_or_else(|| corrupt("a row without a payment"))?;
    Ok(PaidTwice {
        line: row.instruction.line,
        reference: row.instruction.reference,
        ids,
        money: row.instruction.money,
        amounts,
        batches: Vec::new(),
        certain,
    })
}
