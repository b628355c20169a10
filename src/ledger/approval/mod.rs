//! The four-eyes principle: who must sign for a batch before it is posted, besides the person who loaded it.
//!
//! A batch above a threshold is posted only as far as people other than its loaders have signed for it. They sign a text with
//! the digests of its rows, which covers no later row.

pub mod judge;
pub mod orders;
pub mod rule;
pub mod signers;
pub mod ssh;
pub mod text;
