//! How the files write texts, numbers and instants.
//! Nothing here knows a file or an entry.

pub(super) mod figures;
pub(super) mod text;
