//! One transaction that writes: what it has read, remembered and summed up while it lasts.

pub(super) mod deferred_queries;
pub(super) mod expected;
pub(super) mod fence;
pub(super) mod following;
pub(super) mod keeper;
pub(super) mod limiter;
pub(super) mod members;
pub(super) mod ordered;
pub(super) mod payment_cache;
pub(super) mod payments;
pub(super) mod subject;
pub(super) mod tallies;
pub(super) mod transaction;
pub(super) mod watched_clock;
