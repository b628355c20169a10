//! What must hold for every seed: the gateway's ledger against the journal, and the journal against its evidence.

pub(super) mod fold;
pub(super) mod oracle;
