//! Orders of people, as they are stored.

use crate::domain::{OrderId, RecoveryId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::facts::fact;
use crate::ledger::recovery::{ORDERS_MAX, Order, OrdersLost};
use crate::store::tables::{given_order, recovery};
use crate::store::{Read, Reads, Scan, Test, Write, Writes, shape};

shape! {
    /// An order that a copy must not forget.
    struct Given of given_order {
        number: u64, at: Timestamp, act: String, batch: String, payments: u64, digest: String, by: String,
    }
}
shape! {
    /// An order that the journal has missed.
    struct Missed of lost_order { recovery_id: RecoveryId, after_order: OrderId, line: String }
}
shape! {
    /// How many orders a recovery has found lost.
    struct Lost of recovery { orders_lost: i64, orders_unknown: bool }
}

/// Returns the last orders that are on record one by one, after this one.
pub(in crate::journal) fn given_orders(c: &dyn Read, after: OrderId) -> Result<Vec<Order>, Error> {
    // More than a mark holds, as one that is given again may be among many that are not lost.
    let last = Scan::of(&given_order::TABLE)
        .after(&after)
        .descending()
        .limit(ORDERS_MAX * 32);
    let given: Vec<Given> = c.list(&last)?;
    let orders = given.into_iter().rev().map(|given| Order {
        number: given.number,
        at: given.at,
        act: given.act,
        batch: given.batch,
        payments: given.payments,
        digest: given.digest,
        user: given.by,
    });
    Ok(orders.collect())
}

/// Keeps an order for the mark.
pub(in crate::journal) fn keep_order(c: &dyn Write, order: &Order) -> Result<(), Error> {
    c.append(&Given {
        number: order.number,
        at: order.at,
        act: order.act.clone(),
        batch: order.batch.clone(),
        payments: order.payments,
        digest: order.digest.clone(),
        by: order.user.clone(),
    })?;
    Ok(())
}

/// Returns how many orders of people are on record that a copy must not forget.
pub(in crate::journal) fn orders(c: &dyn Read) -> Result<u64, Error> {
    let found: Option<i64> = fact(c, "orders")?;
    Ok(found.unwrap_or(0).unsigned_abs())
}

/// Keeps what was lost, as it is noticed.
pub(in crate::journal) fn note_lost(
    c: &dyn Write,
    recovery_id: RecoveryId,
    lost: &[Order],
) -> Result<(), Error> {
    let last = Scan::of(&given_order::TABLE).descending();
    let after_order = c
        .value(&last, given_order::order_id)?
        .unwrap_or(OrderId::NONE);
    for order in lost {
        c.append(&Missed {
            recovery_id,
            after_order,
            line: order.to_line(),
        })?;
    }
    Ok(())
}

/// Returns the orders of people that are lost, of which nobody has said that they were given again.
pub(in crate::journal) fn lost_orders(c: &dyn Read) -> Result<OrdersLost, Error> {
    let unsaid = Scan::of(&recovery::TABLE).only(recovery::orders_reason, Test::Absent);
    let mut found = OrdersLost {
        count: 0,
        unknown: false,
    };
    c.each(&unsaid, |lost: Lost| {
        found.count = found.count.saturating_add(lost.orders_lost.unsigned_abs());
        found.unknown |= lost.orders_unknown;
        Ok::<_, Error>(())
    })?;
    Ok(found)
}
