//! Payments that a limit keeps from leaving.

use rusqlite::{Connection, params};

use super::recorded::of_last_run;
use super::sums::exposure;
use crate::domain::{BatchId, LaneId, PaymentId, Tally, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{currency_of, service_of};
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{LimitedRows, RunToken};
use crate::ledger::limits::judge::is_over;
use crate::ledger::limits::{Ceiling, Reason};

/// A payment that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal::sqlite) struct Limited {
    pub(in crate::journal::sqlite) seq: PaymentId,
    pub(in crate::journal::sqlite) reason: Reason,
    pub(in crate::journal::sqlite) until: Timestamp,
}

/// Forgets what an earlier run found: its limits may have been others, and its waits begin anew.
pub(in crate::journal::sqlite) fn forget(c: &Connection, batch_id: BatchId) -> Result<(), Error> {
    c.prepare_cached("delete from limited where batch_id = ?1")?
        .execute([batch_id])?;
    Ok(())
}

/// Notes that payments wait.
pub(in crate::journal::sqlite) fn note(
    c: &Connection,
    (batch_id, lane): (BatchId, LaneId),
    rows: &[Limited],
) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut insert = c.prepare_cached(
        "insert into limited (batch_id, seq, service_id, reason, until) values (?1, ?2, ?3, ?4, ?5)
         on conflict do update set reason = excluded.reason, until = excluded.until",
    )?;
    for Limited { seq, reason, until } in rows {
        insert.execute(params![
            batch_id,
            seq,
            lane,
            reason.name(),
            until.as_millis()
        ])?;
    }
    Ok(())
}

/// Notes that a payment waits no longer.
pub(in crate::journal::sqlite) fn leaves(
    c: &Connection,
    batch_id: BatchId,
    seq: PaymentId,
) -> Result<(), Error> {
    c.prepare_cached("delete from limited where batch_id = ?1 and seq = ?2")?
        .execute((batch_id, seq))?;
    Ok(())
}

/// Returns whether a lane waits until less is under way, at this moment.
pub(in crate::journal::sqlite) fn is_full(
    c: &WriteSession,
    token: RunToken,
    lane: LaneId,
) -> Result<bool, Error> {
    let waits = c.limiter(token.batch_id, |limiter| {
        let money = limiter.waits(lane)?;
        let ceiling = limiter.limits.exposure.get(&money.currency).copied();
        Some((money, ceiling))
    });
    let Some((money, ceiling)) = waits.flatten() else {
        return Ok(false);
    };
    c.write_tallies()?;
    let used = exposure(c, token.batch_id)?.minor(money.currency);
    Ok(is_over(ceiling, used, money.amount))
}

/// Returns what waits in a batch, by the limit.
pub(in crate::journal::sqlite) fn limited(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Vec<LimitedRows>, Error> {
    let mut statement = c.prepare_cached(
        "select w.reason, i.currency, count(*), sum(i.amount), min(w.until), s.code from limited w
             cross join life l on l.seq = w.seq cross join instruction i on i.seq = w.seq
             cross join service s on s.service_id = i.service_id
         where w.batch_id = ?1 and l.state = 0 group by w.reason, i.currency, s.code order by w.reason, i.currency, s.code",
    )?;
    let mut rows = statement.query([batch_id])?;
    let mut found: Vec<LimitedRows> = Vec::new();
    let limits = of_last_run(c, batch_id)?;
    while let Some(row) = rows.next()? {
        let Some(reason) = Reason::of_name(&row.get::<_, String>(0)?) else {
            continue;
        };
        let currency = currency_of(&row.get::<_, String>(1)?)?;
        let (count, minor): (i64, i64) = (row.get(2)?, row.get(3)?);
        let until = Timestamp::from_millis(row.get(4)?);
        let mut tally = Tally::default();
        tally.add_many(count.unsigned_abs(), currency, i128::from(minor));
        let service = service_of(&row.get::<_, String>(5)?)?;
        let limits = limits.as_ref();
        let ceiling = limits.and_then(|limits| limits.ceiling(reason, &service, currency));
        match found.last_mut().filter(|last| last.reason == reason) {
            Some(last) => {
                last.tally.add_all(&tally);
                last.until = last.until.min(until);
                let is_new = |of: &Ceiling| !last.ceilings.contains(of);
                last.ceilings.extend(ceiling.filter(is_new));
            }
            None => found.push(LimitedRows {
                reason,
                tally,
                until,
                ceilings: ceiling.into_iter().collect(),
            }),
        }
    }
    Ok(found)
}
