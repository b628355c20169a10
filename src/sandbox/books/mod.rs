//! What the gateway knows: float accounts, payments, documents and tokens, the events that change them, and the file of events.
//! The ledger is pure; a change is written to the file before it counts.

pub(super) mod account;
pub(super) mod book;
pub(super) mod documents;
pub(super) mod event;
pub(super) mod ledger;
pub(super) mod store;
pub(super) mod tokens;
pub(super) mod verdict;
