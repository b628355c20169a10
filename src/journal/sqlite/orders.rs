//! Orders of people that a journal has lost with the time that it missed: while they are, it posts nothing.

use rusqlite::{Connection, OptionalExtension};
use serde_json::json;

use super::recovery::{batches, look, note};
use super::row::ORDERS_GIVEN_AGAIN;
use super::turns::Manner;
use super::{Journal, Reader};
use crate::domain::Timestamp;
use crate::journal::Error;
use crate::ledger::recovery::{OrdersLost, orders_lost};

impl Journal {
    /// Returns the orders of people that are lost, of which nobody has said that they were given again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn orders_lost(&self) -> Result<OrdersLost, Error> {
        self.ask(Manner::Shared, |c| lost_orders(c)).await
    }

    /// Takes a person's word that the orders which are lost were given again: from now on runs post. Returns what was lost.
    ///
    /// # Errors
    /// [`Error::NoOrdersLost`].
    pub async fn orders_given_again(
        &self,
        reason: String,
        now: Timestamp,
    ) -> Result<OrdersLost, Error> {
        self.ask(Manner::Alone, move |c| {
            let lost = lost_orders(c)?;
            if lost.is_none() {
                return Err(Error::NoOrdersLost);
            }
            let detail = json!({"reason": reason, "orders": lost.count}).to_string();
            for batch_id in batches(c)? {
                c.mark(batch_id);
                c.acted_because(batch_id, now, "recover --orders-given-again", &reason)?;
                note(c, batch_id, ORDERS_GIVEN_AGAIN, Some(&detail), now)?;
            }
            c.execute(
                "update recovery set orders_reason = ?1 where (orders_lost > 0 or orders_unknown = 1) and orders_reason is null",
                [&reason],
            )?;
            Ok(lost)
        })
        .await
    }
}

impl Reader {
    /// Returns the orders of people that are lost, of which nobody has said that they were given again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn orders_lost(&self) -> Result<OrdersLost, Error> {
        let (_, found) = look(&self.connection, &self.traces, self.born)?;
        // What nobody has opened for writing yet is noticed by whoever does.
        let (known, new) = (
            lost_orders(&self.connection)?,
            orders_lost(&self.traces, &found),
        );
        Ok(OrdersLost {
            count: known.count + new.count,
            unknown: known.unknown || new.unknown,
        })
    }
}

/// Returns how many orders of people are on record that a copy must not forget.
pub(super) fn orders(c: &Connection) -> Result<u64, Error> {
    let found: Option<i64> = c
        .prepare_cached("select value from meta where key = 'orders'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0).unsigned_abs())
}

/// Returns the orders of people that are lost, of which nobody has said that they were given again.
pub(super) fn lost_orders(c: &Connection) -> Result<OrdersLost, Error> {
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
