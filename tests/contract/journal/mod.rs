//! The contract of the journal: every verb, and what holds whatever was called before.

mod bills;
mod blocks;
mod callback;
mod claim;
mod documents;
mod faults;
mod groups;
mod identity;
mod load;
mod migration;
mod networks;
mod opening;
mod operator;
mod record;
mod reload;
mod sequences;
mod waits;
