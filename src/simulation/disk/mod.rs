//! What becomes of the journal's files: copies that are put back or run beside, places, and edits by whoever can write them.

pub(super) mod copies;
pub(super) mod places;
pub(super) mod rows;
pub(super) mod tampering;
