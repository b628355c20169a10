//! Rows without an amount: how many, and how they end without one; what their files were declared to come to.

use std::ops::ControlFlow;

use crate::domain::{
    Amount, BatchId, BatchName, Currency, LaneId, LoadId, Money, PaymentId, Timestamp, Totals,
};
use crate::journal::codec::catalog::id_of;
use crate::journal::codec::catalog::known_batch;
use crate::journal::codec::events::event_numbers;
use crate::journal::codec::values::NEVER;
use crate::journal::codec::values::{UNPRICED, add_to_tally, corrupt};
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::ordered::SignedContent;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::handle::Journal;
use crate::journal::{Error, TotalDifference};
use crate::lifecycle::{Event, State, StepContext};
use crate::store::tables::{instruction, life, load, rejected, tally};
use crate::store::{Read, Reads, Row, Scan, Test, Write, Writes, shape};

/// Rows that are withdrawn between two looks at the table.
const WITHDRAWN_AT_ONCE: usize = 1000;

impl Journal {
    /// Compares the declared totals of files that had rows without an amount, as far as something of them can be posted.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn declared_totals(&self, batch: BatchName) -> Result<Vec<TotalDifference>, Error> {
        self.read(move |c| declared_totals(c, &batch)).await
    }
}

/// Adds to (or takes from) the count of rows without an amount.
pub(in crate::journal) fn add_unpriced(
    c: &dyn Write,
    batch_id: BatchId,
    service_id: LaneId,
    currency: &str,
    count: i64,
) -> Result<(), Error> {
    let one = Scan::of(&tally::TABLE)
        .at(&batch_id)
        .at(&service_id)
        .at(&currency)
        .at(&UNPRICED);
    if let Some(known) = c.value::<i64>(&one, tally::count)? {
        c.set(&one, tally::count, &(known + count))?;
    }
    Ok(())
}

/// Where a row without an amount stands; `None` for every other row.
pub(in crate::journal) fn without_amount(
    c: &dyn Read,
    seq: PaymentId,
) -> Result<Option<&'static str>, Error> {
    let own = Scan::of(&instruction::TABLE).at(&seq);
    if !c.any(&own.only(instruction::amount, Test::Absent))? {
        return Ok(None);
    }
    Ok(match c.any(&Scan::of(&life::TABLE).at(&seq))? {
        false => Some("unpriced"),
        true => Some("cancelled"),
    })
}

shape! {
    /// Where a row is counted.
    struct Counted of instruction { batch_id: BatchId, service_id: LaneId, currency: String }
}
shape! {
    /// The life of a row that was withdrawn.
    struct Ended of life {
        seq: PaymentId, batch_id: BatchId, service_id: LaneId, state: State, due_at: i64, settled_at: Timestamp,
    }
}

/// Withdraws a row that has no amount: it is cancelled as it is, and keeps its identifier, so that no load brings it back.
pub(in crate::journal) fn withdraw(
    c: &WriteSession,
    seq: PaymentId,
    moment: StepContext,
) -> Result<(), Error> {
    let found: Option<Counted> = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    let found = found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))?;
    let (batch, service, currency) = (found.batch_id, found.service_id, found.currency);
    c.insert(&Ended {
        seq,
        batch_id: batch,
        service_id: service,
        state: State::Cancelled,
        due_at: NEVER,
        settled_at: moment.now,
    })?;
    c.append(&Evidence {
        batch_id: batch,
        seq,
        at: moment.now,
        kind: event_numbers(Event::Withdrawn),
        ..Evidence::default()
    })?;
    add_unpriced(c, batch, service, &currency, -1)?;
    add_to_tally(c, batch, service, &currency, State::Cancelled, 1, 0)
}

/// Withdraws every row of a batch that has no amount; returns how many.
pub(in crate::journal) fn withdraw_all(
    c: &WriteSession,
    batch_id: BatchId,
    moment: StepContext,
    signed: &mut SignedContent,
) -> Result<u64, Error> {
    let (mut after, mut withdrawn) = (PaymentId::NONE, 0);
    loop {
        let seqs = next_unpriced(c, batch_id, after)?;
        let Some(last) = seqs.last() else {
            return Ok(withdrawn);
        };
        after = *last;
        for seq in &seqs {
            withdraw(c, *seq, moment)?;
            signed.add(id_of(c, *seq)?.as_str());
            withdrawn += 1;
        }
    }
}

/// Returns the first rows without an amount beyond a row.
fn next_unpriced(
    c: &dyn Read,
    batch_id: BatchId,
    after: PaymentId,
) -> Result<Vec<PaymentId>, Error> {
    let mut seqs = Vec::new();
    let rows = Scan::by(&instruction::unpriced).at(&batch_id).after(&after);
    c.each_row(&rows, &[instruction::seq], |row| {
        let seq: PaymentId = row.get(0)?;
        if !c.any(&Scan::of(&life::TABLE).at(&seq))? {
            seqs.push(seq);
        }
        Ok::<_, Error>(match seqs.len() < WITHDRAWN_AT_ONCE {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(seqs)
}

/// Returns how many rows of a batch have no amount yet.
pub(in crate::journal) fn unpriced(c: &dyn Read, batch_id: BatchId) -> Result<u64, Error> {
    let unpriced = Scan::of(&tally::TABLE).at(&batch_id);
    let unpriced = unpriced.only(tally::state, Test::is(&UNPRICED));
    let counts: Vec<i64> = c.values(&unpriced, tally::count)?;
    Ok(counts.iter().sum::<i64>().unsigned_abs())
}

shape! {
    /// A load whose file was declared to come to a total.
    struct Declared of load { load_id: LoadId, source: String, total: i64, total_currency: Currency }
}

fn declared_totals(c: &dyn Read, batch: &BatchName) -> Result<Vec<TotalDifference>, Error> {
    let batch_id = known_batch(c, batch)?;
    let loads = Scan::by(&load::load_by_batch).at(&batch_id);
    let loads: Vec<Declared> = c.list(&loads.only(load::total, Test::Present))?;
    let mut differences = Vec::new();
    for load in loads {
        let (load_id, currency, minor) = (load.load_id, load.total_currency, load.total);
        let amount = Amount::from_minor(minor).ok_or_else(|| corrupt("a total of zero"))?;
        let found = total_of(c, batch_id, load_id)?;
        let others = found.iter().any(|(other, _)| other != currency);
        if found.minor(currency) == i128::from(minor) && !others {
            continue;
        }
        // What cannot be posted any more needs no total: the rest of the batch must not wait for it.
        if can_be_posted(c, batch_id, load_id)? {
            differences.push(TotalDifference {
                source: load.source,
                expected: format!("{currency} {}", Money { amount, currency }),
                found: found.to_string(),
            });
        }
    }
    Ok(differences)
}

/// Returns whether something of a load can be posted, or may be: it has not begun, or nothing is known of a post.
fn can_be_posted(c: &dyn Read, batch_id: BatchId, load_id: LoadId) -> Result<bool, Error> {
    let rows = Scan::of(&instruction::TABLE)
        .only(instruction::batch_id, Test::is(&batch_id))
        .only(instruction::load_id, Test::is(&load_id))
        .only(instruction::amount, Test::Present);
    let mut found = false;
    c.each_row(&rows, &[instruction::seq], |row| {
        let seq: PaymentId = row.get(0)?;
        found = may_be_posted(c, seq)?;
        Ok::<_, Error>(match found {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}

/// Returns whether a row with an amount was never posted, and can be.
pub(super) fn may_be_posted(c: &dyn Read, seq: PaymentId) -> Result<bool, Error> {
    shape! {
        struct Stands of life { state: State, exposures: u32 }
    }
    let found: Option<Stands> = c.first(&Scan::of(&life::TABLE).at(&seq))?;
    Ok(found.is_none_or(|life| life.state == State::Ready && life.exposures == 0))
}

/// What the rows of one load add up to, those set aside included.
fn total_of(c: &dyn Read, batch_id: BatchId, load_id: LoadId) -> Result<Totals, Error> {
    let mut total = Totals::default();
    let mut add = |row: &dyn Row| {
        total.add_minor(row.get(0)?, i128::from(row.get::<i64>(1)?));
        Ok::<_, Error>(ControlFlow::Continue(()))
    };
    let rows = Scan::of(&instruction::TABLE)
        .only(instruction::batch_id, Test::is(&batch_id))
        .only(instruction::load_id, Test::is(&load_id))
        .only(instruction::generation, Test::is(&0_i64))
        .only(instruction::amount, Test::Present);
    let columns = [instruction::currency, instruction::amount];
    c.each_row(&rows, &columns, &mut add)?;
    let set_aside = Scan::of(&rejected::TABLE)
        .at(&load_id)
        .only(rejected::batch_id, Test::is(&batch_id))
        .only(rejected::amount, Test::Present);
    c.each_row(&set_aside, &[rejected::currency, rejected::amount], add)?;
    Ok(total)
}
