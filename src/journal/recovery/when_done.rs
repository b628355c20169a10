//! What waits until a recovery is declared done, and what becomes of it then.

use super::lost_batches::batches_lost;
use super::noticed::{batches_missing, open_ones, open_recovery};
use super::until_done::waits;
use crate::domain::{BatchId, LaneId, PaymentId, Timestamp};
use crate::journal::codec::values::NEVER;
use crate::journal::operator::pages::PAGE;
use crate::journal::payments::watched::watch;
use crate::journal::repeats::found::{Found, Table};
use crate::journal::session::members::{of_row, split};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, RepeatPlan};
use crate::store::tables::{instruction, life, recovery};
use crate::store::{Reads, Scan, Shape, Test, Write, Writes, shape};

shape! {
    /// A row that was loaded while a recovery was open, and repeats another one.
    struct Repeat of repeat_in_recovery { seq: PaymentId }
}

shape! {
    /// A payment that is put off, as the queue has it.
    struct PutOff of life { batch_id: BatchId, service_id: LaneId, due_at: i64, seq: PaymentId }
}

/// Lets rows that are loaded now, and were allowed to have the debts of others, wait until the recovery is done; and has others
/// that wait held against them: the batch is here again that may have paid them.
// What the load found is in a table of its own: see `crate::journal::repeats::judge`.
pub(in crate::journal) fn watch_repeats(
    c: &WriteSession,
    plan: &RepeatPlan,
    now: Timestamp,
) -> Result<(), Error> {
    // The numbers of another journal say nothing here, and nothing is loaded from a look into it.
    if plan.record.is_some() || open_recovery(c)?.is_none() {
        return Ok(());
    }
    Found::kept(c.scratch()?).each_pair(Table::Repeat, |seq, other| {
        c.insert_new(&Repeat { seq })?;
        if !c.any(&Scan::of(&life::TABLE).at(&other))? {
            return Ok(());
        }
        let members = of_row(c, other)?;
        let (newest, _) = split(&members)?;
        if !newest.life.state.is_finished() && waits(c, newest.seq)? {
            watch(c, newest.seq, &[seq], now)?;
        }
        Ok(())
    })
}

/// Judges anew whether batches are missing that were posted in the place of the journal; what waited for them alone is let go once
/// they are here. Returns whether that has changed: the chains are told then.
// Kept beside the recovery, as every claim asks for it: it changes with a load, and with nothing else.
pub(in crate::journal) fn judge_anew(c: &WriteSession) -> Result<bool, Error> {
    let Some(before) = batches_missing(c)? else {
        return Ok(false);
    };
    let missing = batches_lost(c)?.holds();
    if missing == before {
        return Ok(false);
    }
    c.set(&open_ones(), recovery::batches_missing, &missing)?;
    if !missing {
        let_go(c)?;
        c.forget_recent();
    }
    Ok(true)
}

/// Lets first generations be claimed again that waited: nothing else of them is ever put off for ever.
pub(in crate::journal) fn let_go(c: &dyn Write) -> Result<(), Error> {
    let mut page: Vec<PutOff> = Vec::new();
    loop {
        let mut put_off = Scan::by(&life::post_queue)
            .only(life::due_at, Test::is(&NEVER))
            .limit(PAGE);
        if let Some(last) = page.last() {
            put_off = put_off.after_all(last.values());
        }
        let next = c.list(&put_off)?;
        page = next;
        if page.is_empty() {
            return Ok(());
        }
        for put_off in &page {
            let row = Scan::of(&instruction::TABLE).at(&put_off.seq);
            if c.value(&row, instruction::generation)? == Some(0_i64) {
                let own = Scan::of(&life::TABLE).at(&put_off.seq);
                c.set(&own, life::due_at, &0_i64)?;
            }
        }
    }
}
