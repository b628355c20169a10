//! Rows of one debt in two loads, of which one had failed when the other was loaded or ordered: each is told of the other, and
//! both when the two are paid.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::domain::{BatchId, PaymentId};
use crate::journal::codec::catalog::id_of;
use crate::journal::session::members::{Member, named, of_row, states};
use crate::journal::{Error, Linked, PAID_TWICE_SHOWN};
use crate::ledger::generations::{self, PaidTwice, Twice, stands_for};
use crate::lifecycle::State;
use crate::store::tables::{batch, instruction, life, watched};
use crate::store::{Read, Reads, Scan, shape};

/// The side of a pair that is looked for.
#[derive(Clone, Copy)]
pub(in crate::journal) enum Side {
    /// Rows that were loaded although this one had the debt.
    Newer,
    /// Rows that had failed when this one was loaded.
    Older,
}

/// Returns the rows that have the debt of a payment's row on that side.
pub(in crate::journal) fn linked(
    c: &dyn Read,
    seq: PaymentId,
    side: Side,
) -> Result<Vec<Linked>, Error> {
    let mut own: Vec<PaymentId> = of_begun(c, seq)?.iter().map(|own| own.seq).collect();
    if own.is_empty() {
        own.push(seq);
    }
    let mut found = BTreeSet::new();
    for own in own {
        let (pairs, column) = match side {
            Side::Newer => (Scan::by(&watched::watched_other).at(&own), watched::seq),
            Side::Older => (Scan::of(&watched::TABLE).at(&own), watched::other),
        };
        for seq in c.values(&pairs, column)? {
            let members = of_begun(c, seq)?;
            let place = stands_for(&states(&members));
            let stands = members.get(place);
            found.insert(stands.map_or((seq, State::Ready.name()), |member| {
                (member.seq, member.life.state.name())
            }));
        }
    }
    found
        .into_iter()
        .map(|(seq, state)| {
            Ok(Linked {
                id: id_of(c, seq)?,
                batch: batch_of(c, seq)?,
                state,
            })
        })
        .collect()
}

/// Every generation of a row; none where nothing is known of it yet.
fn of_begun(c: &dyn Read, seq: PaymentId) -> Result<Vec<Member>, Error> {
    match c.any(&Scan::of(&life::TABLE).at(&seq))? {
        true => of_row(c, seq),
        false => Ok(Vec::new()),
    }
}

/// Returns the name of the batch of a row; nothing where that is not here.
fn batch_of(c: &dyn Read, seq: PaymentId) -> Result<String, Error> {
    let name = match batch_id_of(c, seq)? {
        Some(batch_id) => c.value(&Scan::of(&batch::TABLE).at(&batch_id), batch::name)?,
        None => None,
    };
    Ok(name.unwrap_or_default())
}

fn batch_id_of(c: &dyn Read, seq: PaymentId) -> Result<Option<BatchId>, Error> {
    let own = Scan::of(&instruction::TABLE).at(&seq);
    Ok(c.value(&own, instruction::batch_id)?)
}

shape! {
    /// Where a row of a pair stands.
    struct Stands of life { batch_id: BatchId, state: State, replaced_by: Option<PaymentId> }
}

impl Stands {
    /// Returns whether it may be paid in one of its generations.
    fn may_be_paid(&self) -> bool {
        matches!(self.state, State::Paid | State::Conflict) || self.replaced_by.is_some()
    }
}

fn stands(c: &dyn Read, seq: PaymentId) -> Result<Option<Stands>, Error> {
    Ok(c.first(&Scan::of(&life::TABLE).at(&seq))?)
}

/// Returns by batch how many failures of a batch have a row there that was loaded since.
pub(in crate::journal) fn loaded_anew(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Vec<(String, u64)>, Error> {
    /// A failure that rows are watched for, and the batches of these.
    struct Failure {
        seq: PaymentId,
        counts: bool,
        batches: BTreeSet<BatchId>,
    }
    let mut failures: BTreeMap<BatchId, u64> = BTreeMap::new();
    let mut current: Option<Failure> = None;
    // The pairs of one failure follow one another, so that it is counted once in each batch.
    let pairs = Scan::by(&watched::watched_other);
    c.each_row(&pairs, &[watched::other, watched::seq], |row| {
        let (other, seq): (PaymentId, PaymentId) = (row.get(0)?, row.get(1)?);
        let failure = match &mut current {
            Some(known) if known.seq == other => known,
            current => current.insert(Failure {
                seq: other,
                counts: stands(c, other)?.is_some_and(|failed| {
                    failed.batch_id == batch_id
                        && failed.state == State::Failed
                        && failed.replaced_by.is_none()
                }),
                batches: BTreeSet::new(),
            }),
        };
        if failure.counts
            && let Some(elsewhere) = batch_id_of(c, seq)?
            && elsewhere != batch_id
            && failure.batches.insert(elsewhere)
        {
            *failures.entry(elsewhere).or_default() += 1;
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    let mut named = Vec::with_capacity(failures.len());
    for (elsewhere, count) in failures {
        let name = c.value(&Scan::of(&batch::TABLE).at(&elsewhere), batch::name)?;
        named.extend(name.map(|name| (name, count)));
    }
    Ok(named)
}

/// Returns the debts that a batch and another load have paid both, although one of the two had been called failed: those that
/// are named first, up to `room`, and how many they are.
pub(in crate::journal) fn paid_beside(
    c: &dyn Read,
    batch_id: BatchId,
    rows: &mut Vec<PaidTwice>,
) -> Result<u64, Error> {
    shape! {
        struct Pair of watched { seq: PaymentId, other: PaymentId }
    }
    let (mut seen, mut count) = (BTreeSet::new(), 0);
    c.each(&Scan::of(&watched::TABLE), |Pair { seq, other }| {
        // Only what has begun, and may be paid in one of its generations, is read in full.
        let Some(own) = stands(c, seq)?.filter(Stands::may_be_paid) else {
            return Ok(());
        };
        let Some(theirs) = stands(c, other)?.filter(Stands::may_be_paid) else {
            return Ok(());
        };
        let (own, other) = match (own.batch_id == batch_id, theirs.batch_id == batch_id) {
            (true, _) => (of_row(c, seq)?, of_row(c, other)?),
            (false, true) => (of_row(c, other)?, of_row(c, seq)?),
            (false, false) => return Ok(()),
        };
        let (first, last) = (own[0].seq, other[0].seq);
        if !seen.insert((first.min(last), first.max(last))) {
            return Ok(());
        }
        let may_be_paid =
            |member: &&Member| matches!(member.life.state, State::Paid | State::Conflict);
        let own: Vec<&Member> = own.iter().filter(may_be_paid).collect();
        let others: Vec<&Member> = other.iter().filter(may_be_paid).collect();
        if own.is_empty() || others.is_empty() {
            return Ok(());
        }
        let members: Vec<&Member> = own.iter().chain(&others).copied().collect();
        let all: Vec<State> = members.iter().map(|member| member.life.state).collect();
        let Some(twice) = generations::paid_twice(&all) else {
            return Ok(());
        };
        count += 1;
        if rows.len() < PAID_TWICE_SHOWN {
            let mut row = named(c, &members, matches!(twice, Twice::Paid(_)))?;
            for member in &members {
                row.batches.push(batch_of(c, member.seq)?);
            }
            rows.push(row);
        }
        Ok::<_, Error>(())
    })?;
    Ok(count)
}
