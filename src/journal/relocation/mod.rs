//! A journal that is moved to another place: from a file to a server, or back. All of it arrives, proven, or it stays where it was;
//! and from then on nothing is written to the place that it left.

pub(super) mod facts;
pub(super) mod relocate;
pub(super) mod rows;
#[cfg(test)]
mod tests;
