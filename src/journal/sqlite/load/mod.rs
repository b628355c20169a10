//! The one transaction that loads a file, and what makes its rows sound: duplicates, corrections, amendments.

pub(super) mod already_loaded;
pub(super) mod aside;
pub(super) mod begin;
pub(super) mod changed;
pub(super) mod checked;
pub(super) mod corrections;
pub(super) mod documents;
pub(super) mod duplicates;
pub(super) mod equal_rows;
pub(super) mod external_sort;
pub(super) mod instead;
pub(super) mod job;
pub(super) mod link;
pub(super) mod loading;
pub(super) mod mend;
pub(super) mod mended;
pub(super) mod nameless;
pub(super) mod prepare;
pub(super) mod replacements;
pub(super) mod set_aside;
pub(super) mod sorted;
pub(super) mod totals;
pub(super) mod was_repeat;
pub(super) mod withdrawn_rows;
