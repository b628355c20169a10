//! The payments of a batch that are paid: each of them moved money, those that a retry had replaced as well.

use std::ops::ControlFlow;

use super::reader::{Snapshot, Visited};
use crate::domain::{Payment, PaymentId, Timestamp};
use crate::journal::Error;
use crate::journal::codec::instructions::{COLUMNS, Instructions, SEQ};
use crate::journal::codec::values::state_number;
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Beside, Reads, Scan, Test};

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
        let instructions = Instructions::of(self.c);
        let columns = [
            life::state,
            life::settled_at.or(life::posted_at),
            life::gateway_transaction_id,
            life::receipt_number,
        ];
        let mut lives = Beside::of(self.c, &life::TABLE, &columns);
        let rows =
            Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&self.batch_id));
        let pass = self.c.each_row(&rows, &COLUMNS, |row| {
            let seq: PaymentId = row.get(SEQ)?;
            let Some(life) = lives.find(seq.get())? else {
                return Ok(ControlFlow::Continue(()));
            };
            if life.get::<i64>(0)? != state_number(State::Paid) {
                return Ok(ControlFlow::Continue(()));
            }
            let payment = instructions.read(row)?.payment()?;
            let paid_at: Option<Timestamp> = life.get(1)?;
            let text = |at| life.get(at).map(Option::unwrap_or_default);
            let paid = PaidPayment {
                paid_at: paid_at.unwrap_or(payment.received_at),
                gateway_transaction_id: text(2)?,
                receipt_number: text(3)?,
                payment,
            };
            visit(&paid).map_err(Visited)?;
            Ok(ControlFlow::Continue(()))
        });
        pass.map_err(|Visited(error)| error)
    }
}
