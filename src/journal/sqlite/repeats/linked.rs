//! Rows of one debt in two loads, of which one had failed when the other was loaded or ordered: each is told of the other, and
//! both when the two are paid.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension};

use crate::domain::{BatchId, PaymentId};
use crate::journal::sqlite::codec::catalog::id_of;
use crate::journal::sqlite::session::members::{Member, named, of_row, states};
use crate::journal::{Error, Linked, PAID_TWICE_SHOWN};
use crate::ledger::generations::{self, PaidTwice, Twice, stands_for};
use crate::lifecycle::State;

/// The side of a pair that is looked for.
#[derive(Clone, Copy)]
pub(in crate::journal::sqlite) enum Side {
    /// Rows that were loaded although this one had the debt.
    Newer,
    /// Rows that had failed when this one was loaded.
    Older,
}

/// Returns the rows that have the debt of a payment's row on that side.
pub(in crate::journal::sqlite) fn linked(
    c: &Connection,
    seq: PaymentId,
    side: Side,
) -> Result<Vec<Linked>, Error> {
    let mut own: Vec<PaymentId> = of_begun(c, seq)?.iter().map(|own| own.seq).collect();
    if own.is_empty() {
        own.push(seq);
    }
    let mut pairs = c.prepare_cached(match side {
        Side::Newer => "select seq from watched indexed by watched_other where other = ?1",
        Side::Older => "select other from watched where seq = ?1",
    })?;
    let mut found = BTreeSet::new();
    for seq in own {
        let mut rows = pairs.query([seq])?;
        while let Some(row) = rows.next()? {
            let seq: PaymentId = row.get(0)?;
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
fn of_begun(c: &Connection, seq: PaymentId) -> Result<Vec<Member>, Error> {
    let begun: bool = c
        .prepare_cached("select exists (select 1 from life where seq = ?1)")?
        .query_row([seq], |row| row.get(0))?;
    match begun {
        true => of_row(c, seq),
        false => Ok(Vec::new()),
    }
}

fn batch_of(c: &Connection, seq: PaymentId) -> Result<String, Error> {
    let name: Option<String> = c
        .prepare_cached(
            "select b.name from instruction i join batch b on b.batch_id = i.batch_id where i.seq = ?1",
        )?
        .query_row([seq], |row| row.get(0))
        .optional()?;
    Ok(name.unwrap_or_default())
}

/// Returns by batch how many failures of a batch have a row there that was loaded since.
pub(in crate::journal::sqlite) fn loaded_anew(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Vec<(String, u64)>, Error> {
    const _: () = assert!(State::Failed as i64 == 6);
    let mut statement = c.prepare_cached(
        "select b.name, count(distinct w.other) from watched w
             cross join life l on l.seq = w.other cross join instruction n on n.seq = w.seq cross join batch b on b.batch_id = n.batch_id
         where l.batch_id = ?1 and l.state = 6 and l.replaced_by is null and n.batch_id <> ?1 group by b.batch_id order by b.batch_id",
    )?;
    let rows = statement.query_map([batch_id], |row| {
        Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the debts that a batch and another load have paid both, although one of the two had been called failed: those that
/// are named first, up to `room`, and how many they are.
pub(in crate::journal::sqlite) fn paid_beside(
    c: &Connection,
    batch_id: BatchId,
    rows: &mut Vec<PaidTwice>,
) -> Result<u64, Error> {
    // Only what has begun, and may be paid in one of its generations, is read in full.
    let mut statement = c.prepare_cached(
        "select w.seq, w.other, a.batch_id = ?1 from watched w cross join life a on a.seq = w.seq cross join life b on b.seq = w.other
         where (a.batch_id = ?1 or b.batch_id = ?1)
             and (a.state in (5, 8) or a.replaced_by is not null) and (b.state in (5, 8) or b.replaced_by is not null)
         order by w.seq, w.other",
    )?;
    let mut pairs = statement.query([batch_id])?;
    let (mut seen, mut count) = (BTreeSet::new(), 0);
    while let Some(pair) = pairs.next()? {
        let (seq, other): (PaymentId, PaymentId) = (pair.get(0)?, pair.get(1)?);
        let (own, other) = match pair.get(2)? {
            true => (of_row(c, seq)?, of_row(c, other)?),
            false => (of_row(c, other)?, of_row(c, seq)?),
        };
        let (first, last) = (own[0].seq, other[0].seq);
        if !seen.insert((first.min(last), first.max(last))) {
            continue;
        }
        let may_be_paid =
            |member: &&Member| matches!(member.life.state, State::Paid | State::Conflict);
        let own: Vec<&Member> = own.iter().filter(may_be_paid).collect();
        let others: Vec<&Member> = other.iter().filter(may_be_paid).collect();
        if own.is_empty() || others.is_empty() {
            continue;
        }
        let members: Vec<&Member> = own.iter().chain(&others).copied().collect();
        let all: Vec<State> = members.iter().map(|member| member.life.state).collect();
        let Some(twice) = generations::paid_twice(&all) else {
            continue;
        };
        count += 1;
        if rows.len() < PAID_TWICE_SHOWN {
            let mut row = named(c, &members, matches!(twice, Twice::Paid(_)))?;
            for member in &members {
                row.batches.push(batch_of(c, member.seq)?);
            }
            rows.push(row);
        }
    }
    Ok(count)
}
