//! What begins anew when a run takes a batch: doubts and waits.

use rusqlite::{Connection, params};

use super::NEVER;
use super::chain::{Chained, Evidence};
use super::row::event_numbers;
use crate::domain::Timestamp;
use crate::journal::{Error, RunTerms};
use crate::lifecycle::{Event, Policy};

/// Payments in doubt.
pub(super) const DOUBTS: &str =
    "select seq from life indexed by doubts where batch_id = ?1 and state = 2 order by seq";

/// Appends evidence that the doubts of an earlier run begin anew; [`restart_waits`] moves them accordingly.
// Without it the evidence would add up to a payment that is nearer to a second post than it is.
pub(super) fn doubt_anew(
    c: &Chained,
    batch_id: i64,
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

/// Makes the posts that were put off due at once.
pub(super) const RESTART_POSTS: &str = "update life indexed by post_queue set due_at = 0
     where batch_id = ?1 and service_id in (select service_id from service) and state = 0 and due_at > 0 and due_at < ?2";

/// Begins the waits anew that rest on the wall clock of an earlier process: a clock that jumped must neither end a
/// quarantine early nor put off a question for ever.
pub(super) fn restart_waits(c: &Connection, batch_id: i64, terms: &RunTerms) -> Result<(), Error> {
    let now = terms.now.as_millis();
    let latest = terms.now.after(terms.longest_wait).as_millis();
    let soon = terms.now.after(terms.first_query_after).as_millis();
    c.execute(
        "update life indexed by doubts set quarantine_from = ?2, not_found = 0 where batch_id = ?1 and state = 2",
        params![batch_id, now],
    )?;
    // What an earlier run had given up is asked about once more.
    c.execute(
        "update life indexed by ask_queue set due_at = ?4, queries = 0 where batch_id = ?1 and state >= 2 and state <= 4 and due_at = ?2 and ?3 >= 0",
        params![batch_id, NEVER, latest, soon],
    )?;
    c.execute(
        "update life indexed by ask_queue set due_at = ?3 where batch_id = ?1 and state >= 2 and state <= 4 and due_at > ?2",
        params![batch_id, latest, soon],
    )?;
    c.execute(RESTART_POSTS, params![batch_id, NEVER])?;
    Ok(())
}
