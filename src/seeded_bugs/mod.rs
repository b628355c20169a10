//! Planted mistakes: the simulation, or the table of tests of a rule, must find each of them, or it would not find a real one.
//!
//! They are compiled into tests only, and none is awake unless a test wakes it on its own thread. `list` names them; beside it stands,
//! by layers, what each makes of what a rule has found. The program knows them by the macros of `planted` alone.

pub(crate) mod callback;
pub(crate) mod domain;
pub(crate) mod engine;
pub(crate) mod gateway;
pub(crate) mod journal;
pub(crate) mod ledger;
pub(crate) mod lifecycle;
mod list;
pub(crate) mod report;
pub(crate) mod server;

pub(crate) use list::SeededBug;
