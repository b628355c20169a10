//! One file for every command but `run` and `pay`. Each reads its arguments, asks the journal or the gateway, and prints.

pub(super) mod account;
pub(super) mod backup;
pub(super) mod bill;
pub(super) mod bills;
pub(super) mod check;
pub(super) mod dialect;
pub(super) mod explain;
pub(super) mod float;
pub(super) mod listen;
pub(super) mod load;
pub(super) mod lookup;
pub(super) mod networks;
pub(super) mod operation;
pub(super) mod orders;
pub(super) mod probe;
pub(super) mod recover;
pub(super) mod report;
pub(super) mod resolve;
pub(super) mod sandbox;
pub(super) mod shell;
pub(super) mod show_config;
pub(super) mod status;
pub(super) mod token;
pub(super) mod upload;
pub(super) mod verify;
pub(super) mod withdraw;
