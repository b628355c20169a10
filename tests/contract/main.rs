//! What the journal, the callback listener and the engine promise, tried from outside through their public verbs.
//!
//! The tests of the journal know it only by [`support::World`]: a second backend is tried by making another `World`.

mod callbacks;
mod engine;
mod fold;
mod journal;
mod support;
