//! Payments that are looked at once more before they leave: rows of their debts had failed when they were loaded, or ordered, and
//! the gateway may take that back.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use crate::domain::{BatchName, PaymentId, Timestamp};
use crate::journal::sqlite::codec::catalog::batch_of;
use crate::journal::sqlite::codec::events::WATCHED;
use crate::journal::sqlite::codec::values::{corrupt, identifier_of, state_number};
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::repeats::on_record::day;
use crate::journal::sqlite::repeats::on_record::{Other, other};
use crate::journal::sqlite::repeats::vouched::Vouched;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{DebtElsewhere, Error};
use crate::ledger::intact::{Mismatch, watches};
use crate::ledger::repeats::Standing;
use crate::lifecycle::State;

/// A row that a payment is held against, and whether a person's word alone said that it had failed.
type Pair = (i64, bool);

/// Has a payment looked at again before it leaves, because of rows of its debt that had failed when it was loaded or ordered.
pub(in crate::journal::sqlite) fn watch(
    c: &WriteSession,
    seq: PaymentId,
    failed: &[PaymentId],
    now: Timestamp,
) -> Result<(), Error> {
    let pairs: Vec<Pair> = failed.iter().map(|other| (other.get(), false)).collect();
    watch_pairs(c, seq, &pairs, now)
}

/// The same for the rows of a load, as its comparison with other loads found them.
pub(in crate::journal::sqlite) fn watch_found(
    c: &WriteSession,
    now: Timestamp,
) -> Result<(), Error> {
    let mut statement = c.prepare(
        "select seq, other, 0 from temp.watched_found where seq in (select seq from instruction)
         union all select seq, other, 1 from temp.by_word where seq in (select seq from instruction) order by 1, 2, 3",
    )?;
    let mut rows = statement.query([])?;
    let (mut current, mut pairs) = (PaymentId::NONE, Vec::new());
    while let Some(row) = rows.next()? {
        let seq: PaymentId = row.get(0)?;
        if seq != current {
            watch_pairs(c, current, &pairs, now)?;
            (current, pairs) = (seq, Vec::new());
        }
        pairs.push((row.get(1)?, row.get(2)?));
    }
    watch_pairs(c, current, &pairs, now)
}

fn watch_pairs(
    c: &WriteSession,
    seq: PaymentId,
    pairs: &[Pair],
    now: Timestamp,
) -> Result<(), Error> {
    let mut insert = c.prepare_cached(
        "insert or ignore into watched (seq, other, by_word) values (?1, ?2, ?3)",
    )?;
    let mut new: Vec<Pair> = Vec::new();
    for (other, by_word) in pairs {
        if insert.execute(params![seq, other, by_word])? > 0 {
            new.push((*other, *by_word));
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
pub(in crate::journal::sqlite) fn recorded_pairs(detail: &str) -> Result<Vec<Pair>, Error> {
    let odd = || corrupt("failed rows that are none");
    let detail: Value = serde_json::from_str(detail).map_err(|_| odd())?;
    serde_json::from_value(detail["failed"].clone()).map_err(|_| odd())
}

/// Compares the pairs of payments with those that were recorded; returns what does not fit, in words.
fn altered(c: &WriteSession, seqs: &[PaymentId]) -> Result<Option<String>, Error> {
    let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else {
        return Ok(None);
    };
    // What is recorded came with a load or an order, which was a transaction of its own: nothing of it waits to be written.
    let mut recorded: BTreeMap<PaymentId, BTreeSet<Pair>> = BTreeMap::new();
    let mut statement = c.prepare_cached(
        "select seq, detail from evidence indexed by watches where event = 87 and seq between ?1 and ?2",
    )?;
    let mut rows = statement.query([first, last])?;
    while let Some(row) = rows.next()? {
        let pairs = recorded_pairs(row.get_ref(1)?.as_str().unwrap_or_default())?;
        recorded.entry(row.get(0)?).or_default().extend(pairs);
    }
    let mut statement =
        c.prepare_cached("select other, by_word from watched where seq = ?1 order by other")?;
    for (seq, recorded) in recorded {
        if seqs.binary_search(&seq).is_err() {
            continue;
        }
        let found = statement.query_map([seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let found: BTreeSet<Pair> = found.collect::<Result<_, _>>()?;
        if watches(&recorded, &found).is_err() {
            return crate::journal::sqlite::verify::intact::told(c, seq, Mismatch::Watched)
                .map(Some);
        }
    }
    Ok(None)
}

/// What is known of payments that are about to be claimed, or to leave, because of rows of their debts that had failed when they
/// were loaded.
#[derive(Debug, Default)]
pub(in crate::journal::sqlite) struct Watched {
    /// Those that are held against such a row, in their order.
    pub(in crate::journal::sqlite) seqs: Vec<PaymentId>,
    /// Which of them such a row has paid by now, or may have.
    pub(in crate::journal::sqlite) paid: Option<DebtElsewhere>,
    /// What of them is not as it was recorded, in words.
    pub(in crate::journal::sqlite) altered: Option<String>,
}

/// Looks at payments that are about to be claimed, or to leave, in their order.
// Of most journals nothing is watched: then this is a look at an empty table.
//
// The pairs are on the chain of evidence with the payment that is held back: one that somebody takes out of the table, or makes to
// rest on a person's word, ends the run as any other edit does. One that is added asks one question more.
pub(in crate::journal::sqlite) fn watched(
    c: &WriteSession,
    seqs: &[PaymentId],
) -> Result<Watched, Error> {
    let mut watched = Watched::default();
    #[cfg(test)]
    if crate::seeded_bugs::SeededBug::RepeatJudgedOnce.is_active() {
        return Ok(watched);
    }
    let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else {
        return Ok(watched);
    };
    watched.altered = altered(c, seqs)?;
    if watched.altered.is_some() {
        return Ok(watched);
    }
    let mut statement = c.prepare_cached(
        "select seq, other, by_word from watched where seq between ?1 and ?2 order by seq, other",
    )?;
    let mut rows = statement.query(params![first, last])?;
    let vouched = Vouched::default();
    while let Some(row) = rows.next()? {
        // What was learned in this transaction is read as well.
        c.flush()?;
        let (seq, seq_of_other): (PaymentId, PaymentId) = (row.get(0)?, row.get(1)?);
        if seqs.binary_search(&seq).is_err() {
            continue;
        }
        watched.seqs.push(seq);
        let Some(other) = other(c, &vouched, seq_of_other)? else {
            continue;
        };
        // That a payment is made although a person's word alone denies the other one was allowed; nothing was said of it since.
        let is_as_allowed = row.get(2)? && other.by_word;
        if !matches!(other.standing, Standing::Failed | Standing::Cancelled) && !is_as_allowed {
            watched.paid = Some(told(c, seq, &other)?);
            break;
        }
    }
    Ok(watched)
}

/// Returns whether a person is to decide about a row: no run brings it to its end.
fn is_in_conflict(c: &Connection, other: &Other) -> Result<bool, Error> {
    for seq in &other.generations {
        let state: Option<i64> = c
            .prepare_cached("select state from life where seq = ?1")?
            .query_row([seq], |row| row.get(0))
            .optional()?;
        if state == Some(state_number(State::Conflict)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn told(c: &Connection, seq: PaymentId, other: &Other) -> Result<DebtElsewhere, Error> {
    let place = |seq: PaymentId| -> Result<(String, i64, String, String, i64), Error> {
        Ok(c.prepare_cached(
            "select i.identifier, i.line, l.source, b.name, l.loaded_at from instruction i
             join load l on l.load_id = i.load_id join batch b on b.batch_id = i.batch_id where i.seq = ?1",
        )?
        .query_row([seq], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?)
    };
    let (id, line, source, ..) = place(seq)?;
    let (of, other_line, other_source, batch, loaded_at) = place(other.seq)?;
    let day = day(Timestamp::from_millis(loaded_at));
    let since = match other.seq > seq {
        true => "after this one, while a journal that may have missed something was made up for",
        false => "which had failed, or was cancelled, when this one was loaded",
    };
    let what = format!(
        "payment {id}, line {line} of {source}, is of the same debt as {of}, line {other_line} of {other_source} of batch {batch}, \
         loaded {day}, {since}, and now is {}",
        other.state
    );
    Ok(DebtElsewhere {
        what,
        id: identifier_of(&id)?,
        other: BatchName::parse(&batch).map_err(|_| corrupt("the name of a batch"))?,
        other_id: identifier_of(&of)?,
        needs_decision: is_in_conflict(c, other)?,
    })
}
