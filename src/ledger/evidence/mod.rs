//! What one piece of evidence makes of one payment: [`apply`] says all that is to be written of it.
//!
//! Where the payment goes, [`crate::lifecycle::step`] says. What is kept of the words, whether they are about us at all, what is recorded, and
//! what else comes of it, is said here. [`Standing`] adds up again what is on record, and keeps words by the same rule ([`keeping`]).

mod apply;
mod change;
mod covered;
mod standing;
mod words;

#[cfg(test)]
mod tests;

pub use apply::{NewEvidence, apply};
pub use change::{Change, Heard, Kind, Row, Told};
pub use covered::{AsidePlace, Counts, Covered, Covers, Digest};
pub use standing::{Standing, WORDS, misfits_without_amount};
pub use words::{Keeping, Words, keeping};
