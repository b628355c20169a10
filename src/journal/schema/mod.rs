//! Tables and their versions: how a journal is made, opened and migrated to this release.

pub(super) mod names;
pub(super) mod open;
