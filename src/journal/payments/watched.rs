//! Payments that are looked at once more before they leave: rows of their debts had failed when they were loaded, or ordered, and
//! the gateway may take that back.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::inquiries::doubt;
use crate::domain::{BatchId, BatchName, LoadId, PayerTransactionId, PaymentId, Timestamp};
use crate::journal::codec::catalog::{batch_of, of_batch, reading};
use crate::journal::codec::events::WATCHED;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::recovery::noticed::was_there_when_noticed;
use crate::journal::repeats::found::Found;
use crate::journal::repeats::on_record::day;
use crate::journal::repeats::on_record::{Other, other};
use crate::journal::repeats::vouched::Vouched;
use crate::journal::session::expected::in_turn;
use crate::journal::session::members::{of_row, split};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{DebtElsewhere, Error};
use crate::ledger::intact::{Mismatch, watches};
use crate::ledger::pin::READ_AS_DOCUMENT;
use crate::ledger::repeats::Standing;
use crate::lifecycle::{Policy, State, StepContext};
use crate::store::tables::{batch, evidence, instruction, life, load, watched};
use crate::store::{self, Read, Reads, Scan, Test, Writes, shape};

shape! {
    /// A payment that is held against another one.
    struct Against of watched { seq: PaymentId, other: i64, by_word: bool }
}
shape! {
    /// Where a row came from.
    struct Place of instruction { identifier: PayerTransactionId, line: i64, load_id: LoadId, batch_id: BatchId }
}
shape! {
    /// The file of a load, and when it was loaded.
    struct LoadedFile of load { source: String, loaded_at: Timestamp }
}

/// A row that a payment is held against, and whether a person's word alone said that it had failed.
type Pair = (i64, bool);

/// Has a payment looked at again before it leaves, because of rows of its debt that had failed when it was loaded or ordered.
pub(in crate::journal) fn watch(
    c: &WriteSession,
    seq: PaymentId,
    failed: &[PaymentId],
    now: Timestamp,
) -> Result<(), Error> {
    let pairs: Vec<Pair> = failed.iter().map(|other| (other.get(), false)).collect();
    watch_pairs(c, seq, &pairs, now)
}

/// The same for the rows of a load, as its comparison with other loads found them.
pub(in crate::journal) fn watch_found(c: &WriteSession, now: Timestamp) -> Result<(), Error> {
    let (mut current, mut pairs) = (PaymentId::NONE, Vec::new());
    Found::kept(c.scratch()?).each_watched(|seq, other, by_word| {
        if seq != current {
            watch_loaded(c, current, &pairs, now)?;
            current = seq;
            pairs.clear();
        }
        pairs.push((other.get(), by_word));
        Ok(())
    })?;
    watch_loaded(c, current, &pairs, now)
}

/// The same of a row of the load, unless it was set aside since.
fn watch_loaded(
    c: &WriteSession,
    seq: PaymentId,
    pairs: &[Pair],
    now: Timestamp,
) -> Result<(), Error> {
    match c.any(&Scan::of(&instruction::TABLE).at(&seq))? {
        true => watch_pairs(c, seq, pairs, now),
        false => Ok(()),
    }
}

fn watch_pairs(
    c: &WriteSession,
    seq: PaymentId,
    pairs: &[Pair],
    now: Timestamp,
) -> Result<(), Error> {
    let mut new: Vec<Pair> = Vec::new();
    for (other, by_word) in pairs.iter().copied() {
        if c.insert_new(&Against {
            seq,
            other,
            by_word,
        })? {
            new.push((other, by_word));
        }
    }
    if new.is_empty() {
        return Ok(());
    }
    c.append(&Evidence {
        batch_id: batch_of(c, seq)?,
        seq,
        at: now,
        kind: (WATCHED, None, None),
        detail: Some(&json!({"failed": new}).to_string()),
        ..Evidence::default()
    })
}

/// Reads the pairs of one row of evidence.
pub(in crate::journal) fn recorded_pairs(detail: &str) -> Result<Vec<Pair>, Error> {
    let odd = || corrupt("an unreadable list of failed rows");
    let detail: Value = serde_json::from_str(detail).map_err(|_| odd())?;
    serde_json::from_value(detail["failed"].clone()).map_err(|_| odd())
}

/// What was recorded of payments from one to another.
pub(in crate::journal) fn watches_between<'s>(
    first: &'s PaymentId,
    last: &'s PaymentId,
) -> Scan<'s> {
    Scan::by(&evidence::watches).from(first).up_to(last)
}

/// What payments from one to another are held against.
pub(in crate::journal) fn watched_between<'s>(
    first: &'s PaymentId,
    last: &'s PaymentId,
) -> Scan<'s> {
    Scan::of(&watched::TABLE).from(first).up_to(last)
}

/// Compares the pairs of payments with those that were recorded; returns what does not fit, in words.
fn altered(c: &WriteSession, seqs: &[PaymentId]) -> Result<Option<String>, Error> {
    let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else {
        return Ok(None);
    };
    // What is recorded came with a load or an order, which was a transaction of its own: nothing of it waits to be written.
    let mut recorded: BTreeMap<PaymentId, BTreeSet<Pair>> = BTreeMap::new();
    c.each_row(
        &watches_between(first, last),
        &[evidence::seq, evidence::detail],
        |row| {
            let pairs = match row.value(1)? {
                store::Value::Text(detail) => recorded_pairs(&detail)?,
                _ => recorded_pairs("")?,
            };
            recorded.entry(row.get(0)?).or_default().extend(pairs);
            Ok::<_, Error>(ControlFlow::Continue(()))
        },
    )?;
    for (seq, recorded) in recorded {
        if seqs.binary_search(&seq).is_err() {
            continue;
        }
        let found: Vec<Against> = c.list(&Scan::of(&watched::TABLE).at(&seq))?;
        let pairs = found.iter().map(|pair| (pair.other, pair.by_word));
        let found: BTreeSet<Pair> = pairs.collect();
        if watches(&recorded, &found).is_err() {
            return crate::journal::verify::one_payment::told(c, seq, Mismatch::Watched).map(Some);
        }
    }
    Ok(None)
}

/// What is known of payments that are about to be claimed, or to leave, because of rows of their debts that had failed when they
/// were loaded.
#[derive(Debug, Default)]
pub(in crate::journal) struct Watched {
    /// Those that are held against such a row, in their order.
    pub(in crate::journal) seqs: Vec<PaymentId>,
    /// Which of them such a row has paid by now, or may have.
    pub(in crate::journal) paid: Option<DebtElsewhere>,
    /// What of them is not as it was recorded, in words.
    pub(in crate::journal) altered: Option<String>,
}

/// Looks at payments that are about to be claimed, or to leave, in their order.
// Of most journals nothing is watched: then this is a look at an empty table.
//
// The pairs are on the chain of evidence with the payment that is held back: one that somebody takes out of the table, or makes to
// rest on a person's word, ends the run as any other edit does. One that is added asks one question more.
pub(in crate::journal) fn watched(c: &WriteSession, seqs: &[PaymentId]) -> Result<Watched, Error> {
    planted_instead!(journal::not_looked_at_again());
    let mut watched = Watched::default();
    let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else {
        return Ok(watched);
    };
    watched.altered = altered(c, seqs)?;
    if watched.altered.is_some() {
        return Ok(watched);
    }
    let against_others = watched_between(first, last);
    let mut vouched: Option<Vouched> = None;
    c.each_until(&against_others, |pair: Against| {
        // What was learned in this transaction is read as well.
        c.flush()?;
        if seqs.binary_search(&pair.seq).is_err() {
            return Ok(ControlFlow::Continue(()));
        }
        watched.seqs.push(pair.seq);
        let vouched = match &vouched {
            Some(known) => known,
            None => vouched.insert(read_as_by_the_run(c, pair.seq)?),
        };
        let Some(other) = other(c, vouched, PaymentId::new(pair.other))? else {
            return Ok(ControlFlow::Continue(()));
        };
        // That a payment is made although a person's word alone denies the other one was allowed; nothing was said of it since.
        let is_as_allowed = pair.by_word && other.by_word;
        if !matches!(other.standing, Standing::Failed | Standing::Cancelled) && !is_as_allowed {
            watched.paid = Some(told(c, pair.seq, &other)?);
            return Ok(ControlFlow::Break(()));
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(watched)
}

/// Reads as the run does that is about to post a payment: it has said so when it took the batch.
fn read_as_by_the_run(c: &WriteSession, seq: PaymentId) -> Result<Vouched, Error> {
    let read_as = reading(c, batch_of(c, seq)?)?;
    Ok(Vouched::read_as(Some(
        read_as.as_deref().unwrap_or(READ_AS_DOCUMENT),
    )))
}

/// Puts failures of a batch on the list that the gateway is to be asked about, of which the journal may have missed something, and
/// which hold back payments of other loads: these wait for the answer, and no retry asks for it.
pub(in crate::journal) fn ask_for_others(
    c: &WriteSession,
    batch_id: BatchId,
    moment: StepContext,
    policy: &Policy,
) -> Result<(), Error> {
    let failures = holding_back(&**c, batch_id)?;
    for seq in in_turn(&**c, &failures) {
        let row = of_row(c, seq?)?;
        let (newest, _) = split(&row)?;
        if newest.life.state.is_finished() {
            doubt(c, batch_id, &row, moment, Some(policy))?;
        }
    }
    Ok(())
}

/// Returns the failures of a batch that may have become something else unnoticed, and that payments are held against which have not
/// ended, in their order.
fn holding_back(c: &dyn Read, batch_id: BatchId) -> Result<Vec<PaymentId>, Error> {
    let mut found: Vec<PaymentId> = Vec::new();
    // Most journals have missed nothing.
    if !was_there_when_noticed(c, PaymentId::NONE)? {
        return Ok(found);
    }
    let pairs = Scan::by(&watched::watched_other);
    c.each_row(&pairs, &[watched::other, watched::seq], |row| {
        let (other, held): (PaymentId, PaymentId) = (row.get(0)?, row.get(1)?);
        let failed = Scan::of(&life::TABLE)
            .at(&other)
            .only(life::batch_id, Test::is(&batch_id))
            .only(life::state, Test::is(&State::Failed));
        let state: Option<State> = c.value(&Scan::of(&life::TABLE).at(&held), life::state)?;
        if found.last() != Some(&other)
            && !state.is_some_and(State::is_finished)
            && c.any(&failed)?
            && was_there_when_noticed(c, other)?
        {
            found.push(other);
        }
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Returns whether a person is to decide about a row: no run brings it to its end.
fn is_in_conflict(c: &dyn Read, other: &Other) -> Result<bool, Error> {
    for seq in &other.generations {
        let own = Scan::of(&life::TABLE).at(seq);
        if c.value(&own, life::state)? == Some(State::Conflict) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns where a row came from, and the load that brought it.
fn place(c: &dyn Read, seq: PaymentId) -> Result<(Place, LoadedFile), Error> {
    let place: Option<Place> = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    let place = place.ok_or_else(|| corrupt(format!("payment {seq} is missing")))?;
    let load: Option<LoadedFile> = c.first(&Scan::of(&load::TABLE).at(&place.load_id))?;
    let load = load.ok_or_else(|| corrupt(format!("the load of payment {seq} is missing")))?;
    Ok((place, load))
}

fn told(c: &dyn Read, seq: PaymentId, other: &Other) -> Result<DebtElsewhere, Error> {
    let (own, own_load) = place(c, seq)?;
    let (of, load) = place(c, other.seq)?;
    let batch: BatchName = of_batch(c, of.batch_id, batch::name)?;
    let day = day(load.loaded_at);
    let since = match other.seq > seq {
        true => "after this one, while a journal that may have missed something was made up for",
        false => "which had failed, or was cancelled, when this one was loaded",
    };
    let what = format!(
        "payment {}, line {} of {}, is of the same debt as {}, line {} of {} of batch {batch}, loaded {day}, {since}, and now is {}",
        own.identifier, own.line, own_load.source, of.identifier, of.line, load.source, other.state
    );
    Ok(DebtElsewhere {
        what,
        id: own.identifier,
        other: batch,
        other_id: of.identifier,
        needs_decision: is_in_conflict(c, other)?,
    })
}
