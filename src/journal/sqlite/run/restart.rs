//! What begins anew when a run takes a batch: doubts and waits.

use rusqlite::params;

use crate::domain::{BatchId, Timestamp};
use crate::journal::sqlite::codec::events::event_numbers;
use crate::journal::sqlite::codec::values::NEVER;
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{Error, RunTerms};
use crate::lifecycle::{Event, Policy};

/// Payments in doubt.
pub(in crate::journal::sqlite) const DOUBTS: &str = "select seq from life indexed by ask_queue where batch_id = ?1 and state = 2 and state >= 2 and state <= 4 and queued = 1 order by due_at, seq";

/// Appends evidence that the doubts of an earlier run begin anew; [`restart_waits`] moves them accordingly.
// Without it the evidence would add up to a payment that is nearer to a second post than it is.
pub(in crate::journal::sqlite) fn doubt_anew(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
    policy: &Policy,
) -> Result<(), Error> {
    let mut statement = c.prepare_cached(DOUBTS)?;
    let mut rows = statement.query([batch_id])?;
    while let Some(row) = rows.next()? {
        c.append(&Evidence {
            batch_id,
            seq: row.get(0)?,
            at: now,
            kind: event_numbers(Event::Abandoned),
            policy: Some(policy),
            ..Evidence::default()
        })?;
    }
    Ok(())
}

/// Payments of one state that are not asked about any more.
pub(in crate::journal::sqlite) const GIVEN_UP: &str = "update life indexed by ask_queue set due_at = ?4, queries = 0 where batch_id = ?1 and state = ?2 and state >= 2 and state <= 4 and queued = 1 and due_at = ?3";

/// Payments of one state that are asked about later than any wait of a run reaches.
pub(in crate::journal::sqlite) const PUT_OFF: &str = "update life indexed by ask_queue set due_at = ?5 where batch_id = ?1 and state = ?2 and state >= 2 and state <= 4 and queued = 1 and due_at > ?3 and due_at < ?4";

/// Brings back the questions that a process beside the run has put off by a clock of its own, which is ahead of the run's:
/// nobody waits for a time that no wait of this run reaches. A clock that is behind makes a question due at once.
pub(in crate::journal::sqlite) fn bring_back(
    c: &WriteSession,
    batch_id: BatchId,
    now: Timestamp,
) -> Result<(), Error> {
    let Some((latest, soon)) = c.waits(batch_id, |waits| waits.reach(now)) else {
        return Ok(());
    };
    let mut changed = 0;
    for state in ASKED_ABOUT {
        // The index knows at once that there are none.
        changed += c.prepare_cached(PUT_OFF)?.execute(params![
            batch_id,
            state,
            latest.as_millis(),
            NEVER,
            soon.as_millis()
        ])?;
    }
    if changed > 0 {
        c.forget_recent();
    }
    Ok(())
}

/// Makes the posts that were put off due at once, or at the time that their rows name.
pub(in crate::journal::sqlite) const RESTART_POSTS: &str = "update life indexed by post_queue
     set due_at = max(coalesce((select i.not_before from instruction i where i.seq = life.seq), 0), 0)
     where batch_id = ?1 and service_id in (select service_id from service) and state = 0 and due_at > 0 and due_at < ?2";

/// Makes the first generations due at once that are never due: nobody wrote that but by an edit, as retries alone wait for a word.
pub(in crate::journal::sqlite) const NEVER_DUE: &str = "update life indexed by post_queue set due_at = 0
     where batch_id = ?1 and service_id in (select service_id from service) and state = 0 and due_at = ?2
     and (select generation from instruction i where i.seq = life.seq) = 0";

/// Begins the waits anew that rest on the wall clock of an earlier process: a clock that jumped must neither end a
/// quarantine early nor put off a question for ever.
pub(in crate::journal::sqlite) fn restart_waits(
    c: &WriteSession,
    batch_id: BatchId,
    terms: &RunTerms,
    policy: &Policy,
) -> Result<(), Error> {
    c.forget_recent();
    let now = terms.now.as_millis();
    let latest = terms.now.after(terms.longest_wait).as_millis();
    let soon = terms.now.after(terms.first_query_after).as_millis();
    c.execute(
        "update life indexed by ask_queue set quarantine_from = ?2, not_found = 0 where batch_id = ?1 and state = 2 and state >= 2 and state <= 4 and queued = 1",
        params![batch_id, now],
    )?;
    for state in ASKED_ABOUT {
        // What an earlier run had given up is asked about once more, where the gateway can be asked.
        if policy.status_query {
            c.prepare_cached(GIVEN_UP)?
                .execute(params![batch_id, state, NEVER, soon])?;
        }
        c.prepare_cached(PUT_OFF)?
            .execute(params![batch_id, state, latest, NEVER, soon])?;
    }
    c.execute(RESTART_POSTS, params![batch_id, NEVER])?;
    c.execute(NEVER_DUE, params![batch_id, NEVER])?;
    Ok(())
}

/// States that are asked about: in doubt, acknowledged, delivered.
pub(in crate::journal::sqlite) const ASKED_ABOUT: [i64; 3] = [2, 3, 4];
