//! What an operator orders: pay failed payments again, decide, cancel, withdraw.

pub(super) mod chosen;
pub(super) mod decided;
pub(super) mod failures;
pub(super) mod names;
pub(super) mod on_record;
pub(super) mod orders;
pub(super) mod pages;
pub(super) mod recorded;
pub(super) mod retriable;
pub(super) mod retry;
pub(super) mod to_retry;
pub(super) mod unretried;
pub(super) mod withdrawal;
pub(super) mod withdrawn;
