//! What the journal, the callback listener and the engine promise, tried from outside through their public verbs.
//!
//! The tests of the journal know it only by [`support::World`]: a second backend is tried by making another `World`.
#![allow(
    clippy::unwrap_used,
    reason = "what is unwrapped here is part of what is tried"
)]
#![allow(clippy::too_many_lines, reason = "a story or a table may be long")]

mod bills;
mod callback_dialects;
mod callbacks;
mod engine;
#[path = "../../src/store/postgres/fixture.rs"]
#[allow(
    dead_code,
    clippy::print_stderr,
    reason = "other tests need more of it, and it says where there is no server"
)]
mod fixture;
mod fold;
mod journal;
mod listed;
mod on_servers;
mod preflight;
mod proof;
mod support;
