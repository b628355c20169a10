//! What a batch comes to.

use crate::domain::{BatchName, Tally};
use crate::journal::sqlite::codec::catalog::known_batch;
use crate::journal::sqlite::codec::values::{UNPRICED, currency_of, service_of, state_of};
use crate::journal::sqlite::load::aside::count_set_aside;
use crate::journal::sqlite::payments::generations::paid_twice;
use crate::journal::sqlite::payments::inquiries::tell_waiting;
use crate::journal::sqlite::preflight::unpriced::unpriced;
use crate::journal::sqlite::repeats::linked::loaded_anew;
use crate::journal::sqlite::run::dates::dates;
use crate::journal::sqlite::run::lanes::held_lanes;
use crate::journal::{Error, Standing, StandingRow};
use rusqlite::Connection;

/// Returns counts and amounts of a batch per state.
pub(in crate::journal::sqlite) fn standing(
    c: &Connection,
    batch: &BatchName,
) -> Result<Standing, Error> {
    let batch_id = known_batch(c, batch)?;
    let (gateway, account) = c
        .prepare_cached("select gateway, account from batch where batch_id = ?1")?
        .query_row([batch_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut standing = Standing {
        dates: dates(c, batch_id)?,
        gateway,
        account,
        evidence: crate::journal::sqlite::evidence::chain::head(c, batch_id)?,
        purpose: crate::journal::sqlite::codec::catalog::purpose(c, batch_id)?,
        ..Standing::default()
    };
    let mut statement = c.prepare_cached(
        "select code, state, currency, count, amount from tally join service using (service_id)
         where batch_id = ?1 and count > 0 and state <> ?2 order by code, currency, state",
    )?;
    let mut rows = statement.query((batch_id, UNPRICED))?;
    while let Some(row) = rows.next()? {
        let currency = currency_of(&row.get::<_, String>(2)?)?;
        let mut tally = Tally::default();
        tally.add_many(
            row.get::<_, i64>(3)?.unsigned_abs(),
            currency,
            i128::from(row.get::<_, i64>(4)?),
        );
        standing.rows.push(StandingRow {
            service: service_of(&row.get::<_, String>(0)?)?,
            state: state_of(row.get(1)?)?,
            currency,
            tally,
        });
    }
    count_set_aside(c, batch_id, &mut standing)?;
    standing.held = held_lanes(c, batch_id)?;
    standing.unpriced = unpriced(c, batch_id)?;
    standing.named_otherwise = c
        .prepare_cached("select count(*) from named_otherwise where batch_id = ?1")?
        .query_row([batch_id], |row| row.get::<_, i64>(0))?
        .unsigned_abs();
    (standing.paid_twice, standing.paid_twice_count) = paid_twice(c, batch_id)?;
    standing.loaded_anew = loaded_anew(c, batch_id)?;
    tell_waiting(c, batch_id, &mut standing)?;
    Ok(standing)
}
