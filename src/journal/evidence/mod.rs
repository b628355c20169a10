//! Rows of evidence and their hash chain: how they are encoded, hashed and appended. Nothing here knows what they mean for a payment.

pub(super) mod acts;
pub(super) mod append;
pub(super) mod body_digest;
pub(super) mod chain;
pub(super) mod digests;
pub(super) mod encoding;
pub(super) mod instruction_blocks;
pub(super) mod phrases;
pub(super) mod salt;
