//! The configuration file: found, read with the place of everything in it, and laid under flags and environment. Each table of it is read by a file of its own.

pub(super) mod accounting;
pub(super) mod approval;
pub(super) mod archive;
pub(super) mod codes;
pub(super) mod columns;
pub(super) mod custody;
pub(super) mod dialect;
pub(super) mod document;
pub(super) mod entry;
pub(super) mod evidence;
pub(super) mod files;
pub(super) mod layers;
pub(super) mod layouts;
pub(super) mod limits;
pub(super) mod notices;
pub(super) mod origin;
pub(super) mod reading;
pub(super) mod recipients;
pub(super) mod service_table;
pub(super) mod source;
pub(super) mod statements;
pub(super) mod thresholds;
