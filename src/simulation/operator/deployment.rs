//! What an operator writes into the configuration.

use fastrand::Rng;

use crate::ledger::codes::{self, Heard};
use crate::lifecycle::{Class, CodeTable};

/// Entries that contradict the interface, as they have been seen or feared.
const CONTRADICTIONS: [(Heard, i32, Class); 10] = [
    (Heard::Post, 183, Class::NoFloat),
    (Heard::Post, 139, Class::NoFloat),
    (Heard::Post, 140, Class::Refused),
    (Heard::Post, 229, Class::Refused),
    (Heard::Post, 180, Class::Paid),
    (Heard::Status, 140, Class::Failed),
    (Heard::Status, 143, Class::Failed),
    (Heard::Status, 139, Class::NotFound),
    (Heard::Status, 141, Class::NotFound),
    (Heard::Status, 180, Class::Paid),
];

/// The code table of a deployment whose operator tries one of these.
pub(in crate::simulation) fn codes(seed: u64) -> CodeTable {
    let mut table = CodeTable::default();
    // Of its own, so that what a seed plays otherwise stays what it was.
    let mut rng = Rng::with_seed(!seed);
    let (heard, code, class) = CONTRADICTIONS[rng.usize(0..CONTRADICTIONS.len())];
    if codes::allows(heard, code, class) {
        match heard {
            Heard::Post => table.set_post(code, class),
            Heard::Status => table.set_status(code, class),
        }
    }
    table
}
