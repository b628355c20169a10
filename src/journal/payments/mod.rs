//! What evidence makes of a payment: replies, answers, callbacks, and the generations of its row. The rules are in the ledger and the lifecycle.

pub(super) mod agreed;
pub(super) mod answered;
pub(super) mod apply;
pub(super) mod ask_stale;
pub(super) mod callbacks;
pub(super) mod event;
pub(super) mod first_claims;
pub(super) mod generations;
pub(super) mod inquiries;
pub(super) mod paid_again;
pub(super) mod posted_elsewhere;
pub(super) mod record;
pub(super) mod shown;
pub(super) mod stale;
pub(super) mod stood;
pub(super) mod unstarted;
pub(super) mod watched;
