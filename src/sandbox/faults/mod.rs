//! What goes wrong on purpose: the faults by name, how often each happens, and the draw of one for an attempt.
//! A plan is read from a preset or a file, and what it did is counted.

pub(super) mod chances;
pub(super) mod fault;
pub(super) mod file;
pub(super) mod plan;
pub(super) mod tally;
