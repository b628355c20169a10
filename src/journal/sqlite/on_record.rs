//! Rows on record that a row may be compared with, and where they stand.

use rusqlite::Connection;

use super::generations::{of_row, states};
use super::inquiries::is_taken_back;
use super::row::{PAYMENT_COLUMNS, PAYMENT_WIDTH, Stored, stored_of};
use crate::domain::{Instruction, Timestamp};
use crate::journal::{Error, RepeatPlan};
use crate::ledger::generations::stands_for;
use crate::ledger::repeats::{Standing, Terms, counts};
use crate::lifecycle::{Life, State};

/// States of which there is something to come, as a tally numbers them: `ready` to `delivered`, `conflict`, without an amount.
const UNFINISHED: &str = "(0, 1, 2, 3, 4, 8, 9)";

/// A row on record.
pub(super) struct Other {
    pub(super) seq: i64,
    pub(super) row: Instruction<Stored>,
    pub(super) standing: Standing,
    /// In the word of a report.
    pub(super) state: &'static str,
    /// When it was loaded, or retried last.
    pub(super) newest: Timestamp,
}

impl Other {
    pub(super) fn reference(&self) -> Option<&str> {
        self.row
            .reference
            .as_ref()
            .map(|reference| reference.as_str())
    }

    pub(super) fn counts(&self, now: Timestamp, terms: &Terms) -> bool {
        counts(self.standing, now.since(self.newest), terms)
    }
}

/// Reads a row on record; `None` when there is none: it was set aside in its load.
pub(super) fn other(c: &Connection, seq: i64) -> Result<Option<Other>, Error> {
    let mut statement = c.prepare_cached(&format!(
        "select {PAYMENT_COLUMNS}, exists (select 1 from life l where l.seq = i.seq)
         from instruction i join service s using (service_id) where i.seq = ?1"
    ))?;
    let mut rows = statement.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let stored = stored_of(row, 0)?;
    let mut newest = stored.received_at;
    let (standing, state) = match row.get(PAYMENT_WIDTH)? {
        false if stored.instruction.money.amount.is_none() => (Standing::Unfinished, "unpriced"),
        false => (Standing::Unfinished, "ready"),
        true => {
            let members = of_row(c, seq)?;
            let mut loaded =
                c.prepare_cached("select received_at from instruction where seq = ?1")?;
            for member in &members {
                let at = loaded.query_row([member.seq], |row| row.get(0))?;
                newest = newest.max(Timestamp::from_millis(at));
            }
            let standings: Vec<Standing> = members
                .iter()
                .map(|member| {
                    let Life {
                        state,
                        code,
                        attempts,
                        ..
                    } = member.life;
                    Ok(match is_taken_back(c, member)? {
                        true => Standing::Unfinished,
                        // It has left, and that it was not paid is the gateway's word, which may change.
                        false if state == State::Cancelled && attempts > 0 => Standing::Failed,
                        false => Standing::of(state, code.is_some()),
                    })
                })
                .collect::<Result<_, Error>>()?;
            let states = states(&members);
            (
                Standing::of_row(standings),
                states[stands_for(&states)].name(),
            )
        }
    };
    Ok(Some(Other {
        seq,
        row: stored.instruction,
        standing,
        state,
        newest,
    }))
}

/// A load that a new row is compared with.
#[derive(Clone, Copy)]
pub(super) struct OnRecord {
    pub(super) load_id: i64,
    /// It came within the longest window.
    is_recent: bool,
}

impl OnRecord {
    /// Reads a row of the load, unless it says nothing any more.
    // Of an old load that something is left of, most rows ended long ago.
    pub(super) fn other(self, c: &Connection, seq: i64) -> Result<Option<Other>, Error> {
        if !self.is_recent {
            let is_over: bool = c
                .prepare_cached(
                    "select exists (select 1 from life where seq = ?1 and state in (5, 7) and replaced_by is null)",
                )?
                .query_row([seq], |row| row.get(0))?;
            if is_over {
                return Ok(None);
            }
        }
        other(c, seq)
    }
}

/// Loads that a new row is compared with: what may be unfinished, and what came or was retried within the longest window. A
/// rehearsal is none.
pub(super) fn loads_on_record(
    c: &Connection,
    plan: &RepeatPlan,
    now: Timestamp,
) -> Result<Vec<OnRecord>, Error> {
    let window = i64::try_from(plan.terms.longest().as_millis()).unwrap_or(i64::MAX);
    let since = now.as_millis().saturating_sub(window);
    let mut statement = c.prepare_cached(&format!(
        "select l.load_id, l.loaded_at > ?1 from load l cross join batch b on b.batch_id = l.batch_id
         where l.accepted > 0 and coalesce(b.rehearsal, b.gateway like 'sandbox %', 0) = 0 and (
             l.loaded_at > ?1
             or exists (select 1 from tally t where t.batch_id = l.batch_id and t.count > 0 and t.state in {UNFINISHED})
             or exists (select 1 from life r indexed by replaced cross join instruction i on i.seq = r.replaced_by
                 where r.batch_id = l.batch_id and r.replaced_by is not null and i.received_at > ?1))
         order by l.load_id desc"
    ))?;
    let loads = statement.query_map([since], |row| {
        Ok(OnRecord {
            load_id: row.get(0)?,
            is_recent: row.get(1)?,
        })
    })?;
    Ok(loads.collect::<Result<_, _>>()?)
}
