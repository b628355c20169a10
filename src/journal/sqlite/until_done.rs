//! Payments that wait until a recovery is declared done. The rule is in [`crate::ledger::recovery::waits_until_done`].

use rusqlite::{Connection, OptionalExtension};

use super::members::{of_row, split};
use super::noticed::open_recovery;
use super::payers::batches_lost;
use super::row::NEVER;
use super::session::Chained;
use super::watched::watch;
use crate::domain::Timestamp;
use crate::journal::{Error, RepeatPlan};
use crate::ledger::recovery::{Arrival, waits_until_done};

/// Whether payment ?1 came after instruction ?2, and is paid in place of what had ended: a retry or a corrected row, a mended row, one
/// of a debt that had failed in another load, or that was allowed beside another row.
const ARRIVAL: &str = "select i.seq > ?2,
         i.generation > 0
         or exists (select 1 from watched w where w.seq = i.seq)
         or exists (select 1 from repeat_in_recovery a where a.seq = i.seq)
         or exists (select 1 from rejected r where r.batch_id = i.batch_id and r.replaced_by = i.seq),
         coalesce(b.rehearsal, b.gateway like 'sandbox %', 0)
     from instruction i join batch b using (batch_id) where i.seq = ?1";

/// Returns whether a payment waits until the recovery is declared done.
// Of most journals no recovery is open: then this is a look at an empty table.
pub(super) fn waits(c: &Connection, seq: i64) -> Result<bool, Error> {
    let (newest, missing): (Option<i64>, Option<bool>) = c
        .prepare_cached(
            "select min(newest_seq), max(batches_missing) from recovery where done_at is null",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(newest), Some(missing)) = (newest, missing) else {
        return Ok(false);
    };
    let arrival = c
        .prepare_cached(ARRIVAL)?
        .query_row([seq, newest], |row| {
            Ok(Arrival {
                since_noticed: row.get(0)?,
                in_place_of_ended: row.get(1)?,
                is_rehearsal: row.get(2)?,
            })
        })
        .optional()?;
    Ok(arrival.is_some_and(|arrival| waits_until_done(true, missing, arrival)))
}

/// Lets rows that are loaded now, and were allowed to have the debts of others, wait until the recovery is done; and has others
/// that wait held against them: the batch is here again that may have paid them.
// What the load found is in a table of its own: see `super::repeats`.
pub(super) fn watch_repeats(c: &Chained, plan: &RepeatPlan, now: Timestamp) -> Result<(), Error> {
    // The numbers of another journal say nothing here, and nothing is loaded from a look into it.
    if plan.record.is_some() || open_recovery(c)?.is_none() {
        return Ok(());
    }
    let mut found = c.prepare("select seq, other from temp.repeat order by seq, other")?;
    let mut rows = found.query([])?;
    while let Some(row) = rows.next()? {
        let (seq, other): (i64, i64) = (row.get(0)?, row.get(1)?);
        c.prepare_cached("insert or ignore into repeat_in_recovery (seq) values (?1)")?
            .execute([seq])?;
        let has_begun: bool = c
            .prepare_cached("select exists (select 1 from life where seq = ?1)")?
            .query_row([other], |row| row.get(0))?;
        if !has_begun {
            continue;
        }
        let members = of_row(c, other)?;
        let (newest, _) = split(&members)?;
        if !newest.life.state.is_finished() && waits(c, newest.seq)? {
            watch(c, newest.seq, &[seq], now)?;
        }
    }
    Ok(())
}

/// Judges anew whether batches are missing that were posted in the place of the journal; what waited for them alone is let go once
/// they are here. Returns whether that has changed: the chains are told then.
// Kept beside the recovery, as every claim asks for it: it changes with a load, and with nothing else.
pub(super) fn judge_anew(c: &Chained) -> Result<bool, Error> {
    let before: Option<bool> = c
        .prepare_cached("select max(batches_missing) from recovery where done_at is null")?
        .query_row([], |row| row.get(0))?;
    let Some(before) = before else {
        return Ok(false);
    };
    let missing = batches_lost(c)?.holds();
    if missing == before {
        return Ok(false);
    }
    c.execute(
        "update recovery set batches_missing = ?1 where done_at is null",
        [missing],
    )?;
    if !missing {
        let_go(c)?;
        c.forget_recent();
    }
    Ok(true)
}

/// Lets first generations be claimed again that waited: nothing else of them is ever put off for ever.
pub(super) fn let_go(c: &Connection) -> Result<(), Error> {
    c.prepare_cached(
        "update life set due_at = 0 where state = 0 and due_at = ?1
             and (select generation from instruction i where i.seq = life.seq) = 0",
    )?
    .execute([NEVER])?;
    Ok(())
}
