//! Domain values and the columns that hold them. The names and numbers of the kinds of evidence are defined here alone.

pub(super) mod catalog;
pub(super) mod detail;
pub(super) mod events;
pub(super) mod facts;
mod ids;
pub(super) mod insert;
pub(super) mod instructions;
pub(super) mod lives;
pub(super) mod values;
