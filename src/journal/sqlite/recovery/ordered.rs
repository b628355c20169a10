//! Whom a lost order is about, where this journal has the payment: beside a journal, orders keep a digest and no names.

use std::collections::HashMap;

use super::lost_orders::Touched;
use crate::domain::BatchId;
use crate::journal::Error;
use crate::journal::sqlite::Reader;
use crate::ledger::payer::key;
use crate::ledger::recovery::Order;

/// What can be ordered of one payment: what its command says, and both decisions.
const ORDERED: [&str; 3] = ["", "paid", "failed"];

/// The payment that an order is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderedPayment {
    /// Its reference; where its row has none, its identifier.
    pub name: String,
    /// Line of the batch file that its row begins at.
    pub line: u64,
    /// `paid` or `failed`: what was decided; empty of other orders.
    pub decided: &'static str,
}

impl Reader {
    /// Returns the payment of each of these orders that is about one, as far as this journal has it.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn payments_ordered(&self, orders: &[Order]) -> Result<Vec<Option<OrderedPayment>>, Error> {
        let mut found = vec![None; orders.len()];
        let mut wanted: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
        for (at, order) in orders.iter().enumerate() {
            if order.payments == 1 {
                let of_batch = wanted.entry(&order.batch).or_default();
                of_batch.insert(&order.digest, at);
            }
        }
        if wanted.is_empty() {
            return Ok(found);
        }
        let mut names = self
            .connection
            .prepare("select batch_id, name from batch order by batch_id")?;
        let mut payments = self.connection.prepare(
            "select identifier, reference, line from instruction where batch_id = ?1 order by seq",
        )?;
        let mut batches = names.query([])?;
        while let Some(batch) = batches.next()? {
            let (batch_id, name): (BatchId, String) = (batch.get(0)?, batch.get(1)?);
            let Some(mut left) = wanted.remove(key(&name).as_str()) else {
                continue;
            };
            let mut rows = payments.query([batch_id])?;
            while !left.is_empty()
                && let Some(row) = rows.next()?
            {
                let identifier: String = row.get(0)?;
                for decided in ORDERED {
                    let digest = Touched::one(&identifier, decided).digest();
                    if let Some(at) = left.remove(digest.as_str()) {
                        let reference: Option<String> = row.get(1)?;
                        found[at] = Some(OrderedPayment {
                            name: reference.unwrap_or_else(|| identifier.clone()),
                            line: row.get::<_, i64>(2)?.unsigned_abs(),
                            decided,
                        });
                    }
                }
            }
        }
        Ok(found)
    }
}
