//! The end of a table: the row with the sum, and what stands behind it or below the last payment.

use super::super::definition::{Condition, Place};
use super::super::total::is_marker;
use super::columns::Columns;
use super::forms::{is_amount, is_phone};

/// Rows from the end in which the one with the sum is looked for.
const END_ROWS: usize = 20;

/// The row with the sum.
pub(super) struct Sum {
    /// Its place among the rows.
    pub(super) row: usize,
    /// The column that shows it.
    pub(super) column: usize,
    /// What stands there.
    pub(super) marker: String,
}

/// Finds the row with the sum: behind it nobody is paid.
pub(super) fn sum_of(columns: &Columns<'_>) -> Option<Sum> {
    let rows = columns.body.iter().enumerate().rev().take(END_ROWS);
    for (at, (_, row)) in rows {
        let has_amount = row.iter().any(|cell| is_amount(cell));
        if let Some(column) = row.iter().position(|cell| is_marker(cell))
            && has_amount
            && at > 0
        {
            return Some(Sum {
                row: at,
                column,
                marker: row[column].clone(),
            });
        }
        if row.iter().any(|cell| is_amount(cell) || is_phone(cell)) {
            return None;
        }
    }
    None
}

/// Returns what says of a row that it is no payment: its one text, where that has a colon, as `Prepared by: J. Mwangi` has.
// Any other text may be somebody's number or name next month.
pub(super) fn remark(row: &[String]) -> Option<(usize, String)> {
    let mut texts = row.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
    let (at, text) = texts.next().filter(|_| texts.next().is_none())?;
    let (before, _) = text.split_once(':')?;
    let is_text = before.chars().any(char::is_alphabetic) && !before.contains('*');
    (is_text && !before.trim().is_empty()).then(|| (at, format!("{before}:*")))
}

/// Adds a value that says of a row that it is no payment.
pub(super) fn add(skip: &mut Vec<Condition>, column: Place, value: String) {
    match skip.iter_mut().find(|known| known.column == column) {
        Some(known) if known.values.contains(&value) => {}
        Some(known) => known.values.push(value),
        None => skip.push(Condition {
            column,
            values: vec![value],
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_with_one_text_and_a_colon_in_it_is_a_remark() {
        for (row, expected) in [
            (
                &["Prepared by: J. Mwangi", "", ""][..],
                Some((0, "Prepared by:*")),
            ),
            (&["", "Approved by:", ""], Some((1, "Approved by:*"))),
            (&["E009", "", ""], None),
            (&["Date: 1", "E009", ""], None),
            (&[":", "", ""], None),
            (&["12:30", "", ""], None),
            (&["* x: 1", "", ""], None),
            (&["", "", ""], None),
        ] {
            let cells: Vec<String> = row.iter().map(|cell| (*cell).to_owned()).collect();
            let expected = expected.map(|(at, text)| (at, text.to_owned()));
            assert_eq!(remark(&cells), expected, "{row:?}");
        }
    }
}
