//! What is learned before a payment is posted: bills and amounts, networks of numbers, uploaded documents.

pub(super) mod bills;
pub(super) mod documents;
pub(super) mod networks;
pub(super) mod rivals;
pub(super) mod unpriced;
