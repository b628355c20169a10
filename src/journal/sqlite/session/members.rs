//! The generations of a row, as they are stored.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::tallies::Counted;
use crate::domain::{BatchId, Currency, LaneId, PaymentId};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{
    LIFE_COLUMNS, PAYMENT_COLUMNS, add_to_tally, corrupt, currency_of, life_of, payment_of,
};
use crate::ledger::generations::{PaidTwice, stands_for};
use crate::lifecycle::{PaymentState, State};

/// One generation of a row.
#[derive(Clone, Copy, Debug)]
pub(in crate::journal::sqlite) struct Member {
    pub(in crate::journal::sqlite) seq: PaymentId,
    pub(in crate::journal::sqlite) life: PaymentState,
}

/// Reads every generation of the row that a payment belongs to, the oldest first.
pub(in crate::journal::sqlite) fn of_row(
    c: &Connection,
    seq: PaymentId,
) -> Result<Vec<Member>, Error> {
    let mut before =
        c.prepare_cached("select seq from life indexed by predecessor where replaced_by = ?1")?;
    let mut first = seq;
    while let Some(earlier) = before.query_row([first], |row| row.get(0)).optional()? {
        // A retry is younger than what it replaces. Whatever else is stored would never come to an end.
        if earlier >= first {
            return Err(corrupt("a retry that is older than what it replaces"));
        }
        first = earlier;
    }
    let mut read = c.prepare_cached(&format!(
        "select {LIFE_COLUMNS}, l.replaced_by from life l where l.seq = ?1"
    ))?;
    let mut row = Vec::new();
    let mut next = Some(first);
    while let Some(seq) = next {
        let (life, later) = read
            .query_row([seq], |row| {
                Ok((life_of(row, 0), row.get::<_, Option<PaymentId>>(10)?))
            })
            .optional()?
            .ok_or_else(|| corrupt("a retry that is missing"))?;
        row.push(Member { seq, life: life? });
        if later.is_some_and(|later| later <= seq) {
            return Err(corrupt("a retry that is older than what it replaces"));
        }
        next = later;
    }
    Ok(row)
}

pub(in crate::journal::sqlite) fn states(row: &[Member]) -> Vec<State> {
    row.iter().map(|member| member.life.state).collect()
}

/// Returns the generation that stands for the row of a payment.
pub(in crate::journal::sqlite) fn standing_for(
    c: &Connection,
    seq: PaymentId,
) -> Result<PaymentId, Error> {
    let row = of_row(c, seq)?;
    Ok(row[stands_for(&states(&row))].seq)
}

/// Returns where the row of a payment was counted until now, and where it is: the payment stood at `from`.
pub(in crate::journal::sqlite) fn counted(
    c: &Connection,
    seq: PaymentId,
    from: State,
) -> Result<(Counted, Counted), Error> {
    let row = of_row(c, seq)?;
    let mut states = states(&row);
    let mut amount = c.prepare_cached("select amount from instruction where seq = ?1")?;
    let mut at = |states: &[State]| -> Result<Counted, Error> {
        let place = stands_for(states);
        let minor = amount.query_row([row[place].seq], |row| row.get(0))?;
        Ok((states[place], minor))
    };
    let after = at(&states)?;
    if let Some(place) = row.iter().position(|member| member.seq == seq) {
        states[place] = from;
    }
    Ok((at(&states)?, after))
}

/// Returns what the corrected rows of a batch come to beyond what they came to when they were loaded first, by service and
/// currency: a row counts with the amount of the generation that stands for it.
pub(in crate::journal::sqlite) fn corrected(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Vec<(LaneId, Currency, i128)>, Error> {
    let mut statement = c.prepare_cached(
        "select l.seq, o.service_id, o.currency from life l indexed by replaced
             cross join instruction o on o.seq = l.seq cross join instruction n on n.seq = l.replaced_by
         where l.batch_id = ?1 and l.replaced_by is not null and n.amount <> o.amount",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut first_seen = BTreeSet::new();
    let mut corrected = Vec::new();
    while let Some(row) = rows.next()? {
        let members = of_row(c, row.get(0)?)?;
        let first = members[0].seq;
        if !first_seen.insert(first) {
            continue;
        }
        let stands = members[stands_for(&states(&members))].seq;
        let mut amount = c.prepare_cached("select amount from instruction where seq = ?1")?;
        let was: i64 = amount.query_row([first], |row| row.get(0))?;
        let is: i64 = amount.query_row([stands], |row| row.get(0))?;
        let currency = currency_of(&row.get::<_, String>(2)?)?;
        corrected.push((row.get(1)?, currency, i128::from(is) - i128::from(was)));
    }
    Ok(corrected)
}

pub(in crate::journal::sqlite) fn split(row: &[Member]) -> Result<(&Member, &[Member]), Error> {
    row.split_last()
        .ok_or_else(|| corrupt("a row without a payment"))
}

/// Counts the rows with a retry anew that an earlier release counted by their newest generation.
pub(in crate::journal::sqlite) fn recount(c: &Connection) -> Result<(), Error> {
    let mut rows = c.prepare(
        "select l.seq, l.batch_id, l.service_id, i.currency, i.amount from life l join instruction i using (seq)
         where l.replaced_by is not null and i.generation = 0 order by l.seq",
    )?;
    let rows: Vec<(PaymentId, BatchId, LaneId, String, i64)> = rows
        .query_map(params![], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
            ))
        })?
        .collect::<Result<_, _>>()?;
    for (seq, batch_id, lane, currency, minor) in rows {
        let states = states(&of_row(c, seq)?);
        let counted = states[states.len() - 1];
        let stands = states[stands_for(&states)];
        if counted != stands {
            add_to_tally(c, batch_id, lane, &currency, counted, -1, -minor)?;
            add_to_tally(c, batch_id, lane, &currency, stands, 1, minor)?;
        }
    }
    Ok(())
}

pub(in crate::journal::sqlite) fn named(
    c: &Connection,
    members: &[&Member],
    certain: bool,
) -> Result<PaidTwice, Error> {
    let mut ids = Vec::with_capacity(members.len());
    let mut amounts = Vec::with_capacity(members.len());
    let mut first = None;
    for member in members {
        let mut statement = c.prepare_cached(&format!(
            "select {PAYMENT_COLUMNS} from instruction i join service s using (service_id) where i.seq = ?1"
        ))?;
        let payment = statement.query_row([member.seq], |row| Ok(payment_of(row, 0)))??;
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
