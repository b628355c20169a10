//! Two pairs of eyes: who signs that a batch is paid, beside whoever loaded it.
//!
//! A batch above a threshold is posted as far as other people than its loaders have signed for it. What is signed is a text over
//! the digests of its rows; nothing that came later is covered.

pub mod judge;
pub mod orders;
pub mod rule;
pub mod signers;
pub mod ssh;
pub mod text;
