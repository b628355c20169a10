//! A journal that may have missed something: how it is noticed, what is presumed posted, who posted it, and how the recovery ends.

pub(super) mod backup;
pub(super) mod begun;
pub(super) mod copies;
pub(super) mod given_orders;
pub(super) mod inspect;
pub(super) mod lost_batches;
pub(super) mod lost_orders;
pub(super) mod marks;
pub(super) mod noticed;
pub(super) mod on_chain;
pub(super) mod ordered;
pub(super) mod payers;
pub(super) mod place;
pub(super) mod presume;
pub(super) mod presumed;
pub(super) mod server_copy;
pub(super) mod server_place;
pub(super) mod until_done;
pub(super) mod verbs;
pub(super) mod when_done;
