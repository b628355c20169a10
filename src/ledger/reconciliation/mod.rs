//! What the money really did: the lines of a gateway's or a bank's statement, held against our payments.
//!
//! A line that names a payment by its identifier, the gateway's, or its receipt, with our amount and nobody else's number, is
//! proof that it was paid. One that has its amount and recipient alone may be another payment: a person says which. A
//! statement that shows nothing proves nothing.

mod entry;
mod finding;
mod pairing;
mod recipient;
mod view;

#[cfg(test)]
mod tests;

pub use entry::{Flow, Standing, StatementEntry};
pub use finding::{Bearing, FindingKind, Settle, Shown, bearing, holds, is_to, kind, settle};
pub use pairing::{Candidate, Line, pair};
pub use recipient::recipient_key;
pub use view::{DAYS_AFTER, DAYS_BEFORE, MatchedBy, PaymentView, Period};
