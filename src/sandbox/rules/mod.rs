//! Facts that follow from a rule and are stored nowhere: which meters and bills exist, whose phone numbers, and what a PDF looks like.
//! The same number always gets the same answer.

pub(super) mod accounts;
pub(super) mod networks;
pub(super) mod pdf;
