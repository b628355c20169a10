//! Moves a journal to another place: from a file to a server, or back. Either all of it arrives, which is verified, or it stays where
//! it was. After the move, nothing is written to the old place.

pub(super) mod facts;
pub(super) mod notice;
pub(super) mod relocate;
pub(super) mod rows;
#[cfg(test)]
mod tests;
