//! Tables and their versions: how a journal is made, opened and brought up.

pub(super) mod open;
