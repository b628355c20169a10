//! What the report is made from, row by row: the entries of a batch with its head, and the deeds of people.
//! An entry is packed on its way to the writer's thread, and becomes a row of every file there.

pub(super) mod entry;
pub(super) mod packed;
pub(super) mod people;
pub(super) mod row;
