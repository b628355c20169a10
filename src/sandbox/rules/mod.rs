//! What is so by rule, and kept nowhere: which meters and bills there are, whose phone numbers, and what a PDF looks like.
//! The same number always gets the same answer.

pub(super) mod accounts;
pub(super) mod networks;
pub(super) mod pdf;
