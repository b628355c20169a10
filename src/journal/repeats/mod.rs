//! Rows that would pay the debt of another row again: fingerprints find the candidates, which are then compared in full. The rules are in the ledger.

pub(super) mod ahead;
mod alike;
pub(super) mod anew;
pub(super) mod fingerprints;
pub(super) mod found;
mod gathered;
pub(super) mod joins;
pub(super) mod judge;
pub(super) mod linked;
pub(super) mod namesakes;
mod near;
pub(super) mod on_record;
pub(super) mod sides;
mod since;
pub(super) mod vouched;
pub(super) mod withdrawn;
pub(super) mod within;
