//! The only writer: a thread that owns the connection, executes the verbs in order and commits them in groups.

pub(super) mod commit;
#[cfg(test)]
pub(super) mod disk;
pub(super) mod file_id;
#[cfg(test)]
pub(super) mod fuse;
pub(super) mod handle;
pub(super) mod queue;
#[cfg(test)]
pub(crate) mod remote;
#[cfg(test)]
pub(crate) mod simulated;
#[cfg(all(test, feature = "postgres"))]
mod tests;
#[cfg(test)]
pub(crate) mod weather;
