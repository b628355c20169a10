//! How one piece of evidence changes one payment: [`apply`] returns all that is to be written.
//!
//! [`crate::lifecycle::step`] decides the new state. This module decides which texts are kept, whether they are about our payment at all,
//! what is recorded, and what else follows. [`Standing`] replays the recorded evidence, and keeps texts by the same rule ([`keeping`]).

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
