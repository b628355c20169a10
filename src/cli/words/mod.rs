//! What a person reads: states, refusals, hints and histories in words. Nothing here decides.

pub(super) mod approvals;
pub(super) mod at_work;
pub(super) mod behind;
pub(super) mod corrected;
pub(super) mod ended;
pub(super) mod found;
pub(super) mod held_back;
pub(super) mod hints;
pub(super) mod history;
pub(super) mod hours;
pub(super) mod let_go;
pub(super) mod limits;
pub(super) mod mistakes;
pub(super) mod next;
pub(super) mod no_entry;
pub(super) mod people;
pub(super) mod probe;
pub(super) mod refused;
pub(super) mod repeats;
pub(super) mod rows;
pub(super) mod summary;
pub(super) mod told;
pub(super) mod unpaid;
pub(super) mod unpriced;
pub(super) mod waiting;
pub(super) mod warnings;
