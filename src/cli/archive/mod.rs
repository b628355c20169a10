//! The file of an archive: one ZIP for a batch, with its evidence, its report and what people signed.
//!
//! Made aside, read back and verified before it gets its name; read with bounds, as it may come from anybody.

pub(super) mod checked;
pub(super) mod encryption;
pub(super) mod manifest;
pub(super) mod names;
pub(super) mod pack;
pub(super) mod people_signed;
pub(super) mod readme;
pub(super) mod receipt;
pub(super) mod unpack;
