//! Orders of people, as they are stored.

use crate::domain::Timestamp;
use crate::journal::Error;
use crate::ledger::recovery::{ORDERS_MAX, Order, OrdersLost};
use rusqlite::{Connection, OptionalExtension, params};

/// Returns the last orders that are on record one by one, after this one.
pub(in crate::journal::sqlite) fn given_orders(
    c: &Connection,
    after: i64,
) -> Result<Vec<Order>, Error> {
    // More than a mark holds, as one that is given again may be among many that are not lost.
    let most = i64::try_from(ORDERS_MAX * 32).unwrap_or(i64::MAX);
    let mut statement = c.prepare_cached(
        "select number, at, act, batch, payments, digest, by from given_order where order_id > ?1 order by order_id desc limit ?2",
    )?;
    let found = statement.query_map([after, most], |row| {
        Ok(Order {
            number: row.get::<_, i64>(0)?.unsigned_abs(),
            at: Timestamp::from_millis(row.get(1)?),
            act: row.get(2)?,
            batch: row.get(3)?,
            payments: row.get::<_, i64>(4)?.unsigned_abs(),
            digest: row.get(5)?,
            user: row.get(6)?,
        })
    })?;
    let mut orders: Vec<Order> = found.collect::<Result<_, _>>()?;
    orders.reverse();
    Ok(orders)
}

/// Returns how many orders of people are on record that a copy must not forget.
pub(in crate::journal::sqlite) fn orders(c: &Connection) -> Result<u64, Error> {
    let found: Option<i64> = c
        .prepare_cached("select value from meta where key = 'orders'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0).unsigned_abs())
}

/// Keeps what was lost, as it is noticed.
pub(in crate::journal::sqlite) fn note_lost(
    c: &Connection,
    recovery_id: i64,
    lost: &[Order],
) -> Result<(), Error> {
    for order in lost {
        c.prepare_cached(
            "insert into lost_order (recovery_id, after_order, line)
             select ?1, coalesce(max(order_id), 0), ?2 from given_order",
        )?
        .execute(params![recovery_id, order.to_line()])?;
    }
    Ok(())
}

/// Returns the orders of people that are lost, of which nobody has said that they were given again.
pub(in crate::journal::sqlite) fn lost_orders(c: &Connection) -> Result<OrdersLost, Error> {
    let (count, unknown): (i64, bool) = c
        .prepare_cached(
            "select coalesce(sum(orders_lost), 0), coalesce(max(orders_unknown), 0) from recovery where orders_reason is null",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(OrdersLost {
        count: count.unsigned_abs(),
        unknown,
    })
}
