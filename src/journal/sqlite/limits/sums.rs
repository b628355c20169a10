//! What was paid, and what is under way.

use rusqlite::{Connection, Rows, params};

use crate::domain::{BatchId, Currency, Totals};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::currency_of;
use crate::ledger::limits::Period;

/// Returns what of a batch is paid, or not proven unpaid.
pub(in crate::journal::sqlite) fn of_batch(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Totals, Error> {
    let mut statement = c.prepare_cached(
        "select currency, amount from tally where batch_id = ?1 and state in (1, 2, 3, 4, 5, 8) and count > 0",
    )?;
    totals(statement.query([batch_id])?)
}

fn totals(mut rows: Rows<'_>) -> Result<Totals, Error> {
    let mut totals = Totals::default();
    while let Some(row) = rows.next()? {
        let currency = currency_of(&row.get::<_, String>(0)?)?;
        totals.add_minor(currency, i128::from(row.get::<_, i64>(1)?));
    }
    Ok(totals)
}

/// Returns what somebody was paid, or a service has paid, on the day and in the month.
pub(in crate::journal::sqlite) fn used(
    c: &Connection,
    realm: i64,
    name: &str,
    currency: Currency,
    period: &Period,
) -> Result<(i128, i128), Error> {
    let mut statement = c.prepare_cached(
        "select day, amount from used where realm = ?1 and name = ?2 and currency = ?3 and day between ?4 and ?5",
    )?;
    let (from, to) = (period.month_from.number(), period.month_to.number());
    let mut rows = statement.query(params![realm, name, currency.code(), from, to])?;
    let (mut day, mut month) = (0, 0);
    while let Some(row) = rows.next()? {
        let amount = i128::from(row.get::<_, i64>(1)?);
        month += amount;
        if row.get::<_, i32>(0)? == period.day.number() {
            day += amount;
        }
    }
    Ok((day, month))
}

/// Returns whether somebody was paid before.
pub(in crate::journal::sqlite) fn is_known(
    c: &Connection,
    realm: i64,
    recipient: &str,
) -> Result<bool, Error> {
    Ok(c.prepare_cached(
        "select exists (select 1 from counted indexed by paid_recipient where realm = ?1 and recipient = ?2 and counts = 2)",
    )?
    .query_row(params![realm, recipient], |row| row.get(0))?)
}

/// Returns what is under way, in doubt or in conflict, over all batches of the account of a batch.
pub(in crate::journal::sqlite) fn exposure(
    c: &Connection,
    batch_id: BatchId,
) -> Result<Totals, Error> {
    exposure_at(c, batch_id, None)
}

/// Returns the same of a batch that no run has given a gateway and an account yet, at those that its first run would give it.
pub(in crate::journal::sqlite) fn exposure_at(
    c: &Connection,
    batch_id: BatchId,
    first: Option<(&str, &str)>,
) -> Result<Totals, Error> {
    let (gateway, account) = first.unzip();
    let mut statement = c.prepare_cached(
        "select t.currency, t.amount from batch own cross join batch b cross join tally t on t.batch_id = b.batch_id
         where own.batch_id = ?1 and b.account is coalesce(own.account, ?2) and b.gateway is coalesce(own.gateway, ?3)
             and coalesce(b.rehearsal, 0) = coalesce(own.rehearsal, 0)
             and t.state in (1, 2, 3, 4, 8) and t.count > 0",
    )?;
    totals(statement.query(params![batch_id, account, gateway])?)
}
