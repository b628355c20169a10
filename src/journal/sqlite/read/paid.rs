//! The payments of a batch that are paid: each of them moved money, those that a retry had replaced as well.

use super::reader::Snapshot;
use crate::domain::{Payment, Timestamp};
use crate::journal::Error;
use crate::journal::sqlite::codec::values::{
    PAYMENT_COLUMNS, PAYMENT_WIDTH, payment_of, state_number,
};
use crate::lifecycle::State;

/// A payment that is paid.
#[derive(Debug)]
pub struct PaidPayment {
    /// The payment.
    pub payment: Payment,
    /// When it reached its end; where an earlier release kept no time, that of its last post.
    pub paid_at: Timestamp,
    /// `gatewayTransactionID`; empty: there is none.
    pub gateway_transaction_id: String,
    /// `receiptNumber`; empty: there is none.
    pub receipt_number: String,
}

impl Snapshot<'_> {
    /// Tells every payment that is paid, in the order of the files.
    ///
    /// # Errors
    /// Faults of the journal, and whatever the visitor says: it ends the pass.
    pub fn each_paid<E: From<Error>>(
        &self,
        mut visit: impl FnMut(&PaidPayment) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut statement = self
            .c
            .prepare(&format!(
                "select {PAYMENT_COLUMNS}, coalesce(l.settled_at, l.posted_at, i.received_at),
                        coalesce(l.gateway_transaction_id, ''), coalesce(l.receipt_number, '')
                 from instruction i cross join service s on s.service_id = i.service_id join life l on l.seq = i.seq
                 where i.batch_id = ?1 and l.state = ?2 order by i.seq"
            ))
            .map_err(Error::from)?;
        let mut rows = statement
            .query((self.batch_id, state_number(State::Paid)))
            .map_err(Error::from)?;
        while let Some(row) = rows.next().map_err(Error::from)? {
            let text = |at| {
                row.get::<_, String>(PAYMENT_WIDTH + at)
                    .map_err(Error::from)
            };
            visit(&PaidPayment {
                payment: payment_of(row, 0)?,
                paid_at: Timestamp::from_millis(row.get(PAYMENT_WIDTH).map_err(Error::from)?),
                gateway_transaction_id: text(1)?,
                receipt_number: text(2)?,
            })?;
        }
        Ok(())
    }
}
