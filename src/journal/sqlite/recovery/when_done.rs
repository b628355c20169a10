//! What waits until a recovery is declared done, and what becomes of it then.

use super::lost_batches::batches_lost;
use super::noticed::open_recovery;
use super::until_done::waits;
use crate::domain::{PaymentId, Timestamp};
use crate::journal::sqlite::codec::values::NEVER;
use crate::journal::sqlite::payments::watched::watch;
use crate::journal::sqlite::session::members::{of_row, split};
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{Error, RepeatPlan};
use rusqlite::Connection;

/// Lets rows that are loaded now, and were allowed to have the debts of others, wait until the recovery is done; and has others
/// that wait held against them: the batch is here again that may have paid them.
// What the load found is in a table of its own: see `crate::journal::sqlite::repeats::judge`.
pub(in crate::journal::sqlite) fn watch_repeats(
    c: &WriteSession,
    plan: &RepeatPlan,
    now: Timestamp,
) -> Result<(), Error> {
    // The numbers of another journal say nothing here, and nothing is loaded from a look into it.
    if plan.record.is_some() || open_recovery(c)?.is_none() {
        return Ok(());
    }
    let mut found = c.prepare("select seq, other from temp.repeat order by seq, other")?;
    let mut rows = found.query([])?;
    while let Some(row) = rows.next()? {
        let (seq, other): (PaymentId, PaymentId) = (row.get(0)?, row.get(1)?);
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
pub(in crate::journal::sqlite) fn judge_anew(c: &WriteSession) -> Result<bool, Error> {
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
pub(in crate::journal::sqlite) fn let_go(c: &Connection) -> Result<(), Error> {
    c.prepare_cached(
        "update life set due_at = 0 where state = 0 and due_at = ?1
             and (select generation from instruction i where i.seq = life.seq) = 0",
    )?
    .execute([NEVER])?;
    Ok(())
}
