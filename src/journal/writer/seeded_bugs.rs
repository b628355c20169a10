//! Mistakes that the simulation must find.

use crate::domain::{PayerTransactionId, Payment};
use crate::lifecycle::PaymentState;
use crate::seeded_bugs::SeededBug;

/// What a planted mistake makes of a payment that is sent again.
pub(in crate::journal) fn mistaken(mut payment: Payment, life: &PaymentState) -> Payment {
    if life.attempts > 0 && SeededBug::NewIdentifierOnRepost.is_active() {
        let text = payment.id.as_str().replace('0', "1");
        payment.id = PayerTransactionId::parse(&text).unwrap_or(payment.id);
    }
    if life.attempts > 0 && SeededBug::OtherBytesOnRepost.is_active() {
        payment.received_at = payment.received_at.after(std::time::Duration::from_secs(5));
    }
    payment
}
