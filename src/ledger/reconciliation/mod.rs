//! Whether the money moved: the lines of a gateway's or a bank's statement, compared with our payments.
//!
//! A line that names a payment by its identifier, the gateway's, or its receipt, with our amount and no other recipient's number,
//! proves that it was paid. A line with only its amount and recipient may be another payment: a person decides. A payment that is
//! missing from a statement is not proven unpaid.

mod before;
mod entry;
mod finding;
mod marks;
mod movement;
mod paid_before;
mod pairing;
mod recipient;
mod source;
mod view;

#[cfg(test)]
mod tests;

pub use before::ShownBefore;
pub use entry::{Flow, Reference, Standing, StatementEntry};
pub use finding::{
    Bearing, FindingKind, Settle, Shown, bearing, is_to, kind, moved_otherwise, settle,
    stands_unpaid,
};
pub use marks::Marks;
pub use movement::{Kinship, MOVEMENTS_MAX, Moved, Movement, matched, not_among, take_statement};
pub use paid_before::PaidBefore;
pub use pairing::{Candidate, Line, Pair, pair};
pub use recipient::recipient_key;
pub use source::{Source, is_apart};
pub use view::{DAYS_AFTER, DAYS_BEFORE, MatchedBy, PaymentView, Period};
