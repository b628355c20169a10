//! Since when nothing leaves: what a run notes at its end, so that the next one need not wait for the rate.

use rusqlite::{Connection, OptionalExtension, params};

use super::run::assert_current;
use crate::domain::Uptime;
use crate::journal::{Error, RunToken};

/// Notes since when no post has left.
pub(super) fn rest(c: &Connection, token: RunToken, since: Uptime) -> Result<(), Error> {
    assert_current(c, token)?;
    let (boot, millis) = since.parts();
    c.prepare_cached(
        "insert into rest (batch_id, boot, since) values (?1, ?2, ?3)
         on conflict do update set boot = excluded.boot, since = excluded.since",
    )?
    .execute(params![
        token.batch_id,
        format!("{boot:032x}"),
        i64::try_from(millis).unwrap_or(i64::MAX)
    ])?;
    Ok(())
}

/// Forgets it: from the commit on, posts may leave.
pub(super) fn disturb(c: &Connection, batch_id: i64) -> Result<(), Error> {
    c.prepare_cached("delete from rest where batch_id = ?1")?
        .execute([batch_id])?;
    Ok(())
}

/// Returns since when no post has left; `None` when one may have left at any time.
pub(super) fn resting(c: &Connection, batch_id: i64) -> Result<Option<Uptime>, Error> {
    let found: Option<(String, i64)> = c
        .prepare_cached("select boot, since from rest where batch_id = ?1")?
        .query_row([batch_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // What cannot be read is no proof.
    Ok(found.and_then(|(boot, since)| {
        let boot = u128::from_str_radix(&boot, 16).ok()?;
        Some(Uptime::from_parts(boot, u64::try_from(since).ok()?))
    }))
}
