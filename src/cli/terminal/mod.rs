//! What draws and asks: standard output and error, the bar of a run, and the questions before money moves.

pub(super) mod ask;
pub(super) mod output;
pub(super) mod progress;
pub(super) mod screen;
