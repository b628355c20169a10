//! Whom a lost order is about, where this journal has the payment: beside a journal, orders keep a digest and no names.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::lost_orders::Touched;
use crate::domain::BatchId;
use crate::journal::Error;
use crate::journal::Reader;
use crate::ledger::payer::key;
use crate::ledger::recovery::Order;
use crate::store::tables::{batch, instruction};
use crate::store::{Reads, Scan, Test, shape};

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

shape! {
    struct Batch of batch { batch_id: BatchId, name: String }
}
shape! {
    /// What a payment is named by.
    struct Row of instruction { identifier: String, reference: Option<String>, line: i64 }
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
        let c = self.store();
        c.each(&Scan::of(&batch::TABLE), |batch: Batch| {
            let Some(mut left) = wanted.remove(key(&batch.name).as_str()) else {
                return Ok(());
            };
            let rows = Scan::of(&instruction::TABLE)
                .only(instruction::batch_id, Test::is(&batch.batch_id));
            c.each_until(&rows, |row: Row| {
                for decided in ORDERED {
                    let digest = Touched::one(&row.identifier, decided).digest();
                    if let Some(at) = left.remove(digest.as_str()) {
                        let reference = row.reference.as_ref();
                        found[at] = Some(OrderedPayment {
                            name: reference.unwrap_or(&row.identifier).clone(),
                            line: row.line.unsigned_abs(),
                            decided,
                        });
                    }
                }
                Ok::<_, Error>(match left.is_empty() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                })
            })
        })?;
        Ok(found)
    }
}
