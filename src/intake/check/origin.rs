//! What the message called a row that it came in: kept for the answer to it, and never sent.

use super::super::columns::{ColumnMap, Field};
use super::super::record::Record;
use super::findings::Findings;
use crate::domain::{ORIGIN, Origin};

const EXPECTED: &str = "expected what disburse wrote there, or nothing";

/// Returns the member that carries it, beside those of `extraData`.
pub(super) fn check(
    layout: &ColumnMap,
    record: &Record,
    found: &mut Findings,
) -> Option<(String, String)> {
    let cell = layout.cell(record, Field::Origin);
    if cell.is_empty() {
        return None;
    }
    match Origin::parse(cell) {
        Some(origin) => Some((ORIGIN.to_owned(), origin.to_string())),
        None => {
            found.cell(Field::Origin, EXPECTED, cell);
            None
        }
    }
}
