//! The world outside the program: the gateway with its ledger, the file service, the network between, and the time.

pub(super) mod broken_word;
pub(super) mod closed;
pub(super) mod departures;
pub(super) mod file_service;
pub(super) mod gateway;
mod limits;
pub(super) mod line;
pub(super) mod packet;
mod sessions;
pub(super) mod speech;
pub(super) mod world;
