//! A question about a payment: what the gateway is asked by.

use crate::domain::{Country, PayerTransactionId, PaymentId, Timestamp};
use crate::journal::{Error, Question};
use crate::store::tables::{instruction, life};
use crate::store::{Read, Reads, Scan, shape};

shape! {
    /// By what the gateway is asked about a payment.
    struct AskedBy of instruction { identifier: PayerTransactionId, country: Country }
}

/// Returns the question, which nobody puts off yet, about a payment whose life is read already; `None` where the payment is not there.
pub(super) fn question(
    c: &dyn Read,
    seq: PaymentId,
    gateway_transaction_id: Option<String>,
) -> Result<Option<Question>, Error> {
    let found: Option<AskedBy> = c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
    Ok(found.map(|asked| Question {
        seq,
        id: asked.identifier,
        gateway_transaction_id,
        country: asked.country,
        until: Timestamp::from_millis(0),
    }))
}

/// Returns the question about a payment; `None` where it is not there, or its life has not begun.
pub(super) fn question_about(c: &dyn Read, seq: PaymentId) -> Result<Option<Question>, Error> {
    let own = Scan::of(&life::TABLE).at(&seq);
    match c.value(&own, life::gateway_transaction_id)? {
        Some(named) => question(c, seq, named),
        None => Ok(None),
    }
}
