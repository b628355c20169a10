//! Since when nothing leaves: what a run notes at its end, so that the next one need not wait for the rate, of whichever
//! batch it is.

use rusqlite::{Connection, params};

use crate::domain::{BatchId, BootTime};
use crate::journal::sqlite::session::fence::assert_current;
use crate::journal::{Error, RunToken};
use crate::ledger::pace::Last;

/// What leaves; each has a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal::sqlite) enum What {
    Posts = 0,
    Questions = 1,
}

/// Notes since when no post and no question has left.
pub(in crate::journal::sqlite) fn rest(
    c: &Connection,
    token: RunToken,
    posts: BootTime,
    questions: BootTime,
) -> Result<(), Error> {
    assert_current(c, token)?;
    // Whatever ran before this run had ended when it began: its note speaks of that, too.
    c.prepare_cached(
        "delete from pace where account = '' and gateway = (select gateway from batch where batch_id = ?1)",
    )?
    .execute([token.batch_id])?;
    for (what, since) in [(What::Posts, posts), (What::Questions, questions)] {
        let (boot, millis) = since.parts();
        c.prepare_cached(
            "update pace set boot = ?3, since = ?4
             where (gateway, account) = (select gateway, account from batch where batch_id = ?1) and what = ?2",
        )?
        .execute(params![
            token.batch_id,
            what as i64,
            format!("{boot:032x}"),
            i64::try_from(millis).unwrap_or(i64::MAX)
        ])?;
    }
    Ok(())
}

/// Forgets it: from the commit on, something may leave.
pub(in crate::journal::sqlite) fn disturb(
    c: &Connection,
    batch_id: BatchId,
    what: What,
) -> Result<(), Error> {
    c.prepare_cached(
        "insert into pace (gateway, account, what) select gateway, account, ?2 from batch where batch_id = ?1
         on conflict do update set boot = null, since = null where boot is not null",
    )?
    .execute(params![batch_id, what as i64])?;
    Ok(())
}

/// Returns what is known of the last departure to the account of a batch.
pub(in crate::journal::sqlite) fn last(
    c: &Connection,
    batch_id: BatchId,
    what: What,
) -> Result<Last, Error> {
    let mut statement = c.prepare_cached(
        "select p.boot, p.since from batch b join pace p on p.gateway = b.gateway and p.account in (b.account, '')
         where b.batch_id = ?1 and p.what = ?2",
    )?;
    let mut rows = statement.query(params![batch_id, what as i64])?;
    let mut last = Last::Never;
    while let Some(row) = rows.next()? {
        let (boot, since): (Option<String>, Option<i64>) = (row.get(0)?, row.get(1)?);
        // What cannot be read is no proof.
        let noted = boot.zip(since).and_then(|(boot, since)| {
            let boot = u128::from_str_radix(&boot, 16).ok()?;
            Some(BootTime::from_parts(boot, u64::try_from(since).ok()?))
        });
        last = last.and(noted.map_or(Last::Unknown, Last::Since));
    }
    Ok(last)
}
