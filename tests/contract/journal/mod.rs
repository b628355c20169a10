//! The contract of the journal: every verb, and what holds whatever was called before.

mod acts;
mod bills;
mod blocks;
mod callback;
mod claim;
mod confirmed;
mod documents;
mod faults;
mod generations;
mod groups;
mod identity;
mod intact;
mod load;
mod mark;
mod migration;
mod networks;
mod opening;
mod operator;
mod record;
mod reload;
mod repeats;
mod sequences;
mod stale;
mod taken_back;
mod waits;
