//! The client of the payment functions: posts and status queries, and what else is asked at the same address.
//! Balances, bills and accounts move no money.

pub(super) mod accounts;
pub(super) mod float;
pub(super) mod http;
