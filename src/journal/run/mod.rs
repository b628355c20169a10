//! The verbs of a run: take a batch, claim payments, fetch those to ask about, hold lanes, and record when the run rests.

pub(super) mod answers;
pub(super) mod belongs;
pub(super) mod claim_started;
pub(super) mod claim_unstarted;
pub(super) mod confirmed;
pub(super) mod dates;
pub(super) mod destination;
pub(super) mod due;
pub(super) mod due_questions;
mod expected;
pub(super) mod gateway_moved;
pub(super) mod lanes;
mod open_lanes;
pub(super) mod pin;
pub(super) mod pinned;
mod posting_terms;
pub(super) mod probed;
mod question;
mod redirect;
pub(super) mod reread;
pub(super) mod reschedule;
pub(super) mod rest;
pub(super) mod restart;
mod session_claims;
pub(super) mod sessions;
pub(super) mod slots;
pub(super) mod verbs;
