//! Cells of files that go to a spreadsheet and come back: what it would take for a formula, or for another number, is shielded, and the shield comes
//! off again.

use std::borrow::Cow;

/// What stands in front of a shielded cell. Spreadsheets show what follows as text.
const SHIELD: char = '\'';

/// Returns a cell that no spreadsheet takes for a formula, nor for a number of other digits. [`unshielded`] returns what it was, whatever it was.
#[must_use]
pub fn shielded(cell: &str) -> Cow<'_, str> {
    match needs_shield(cell) {
        true => Cow::Owned(format!("{SHIELD}{cell}")),
        false => Cow::Borrowed(cell),
    }
}

/// Returns a cell without the shield that it may have.
#[must_use]
pub fn unshielded(cell: &str) -> &str {
    match cell.strip_prefix(SHIELD) {
        Some(inner) if needs_shield(inner) => inner,
        _ => cell,
    }
}

// A genuine apostrophe is shielded as well, or it could not be told from a shield.
fn needs_shield(cell: &str) -> bool {
    cell.starts_with(['\t', '\r', SHIELD])
        || cell.trim_start().starts_with([
            '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
        ])
        || loses_digits(cell)
}

/// Digits that a spreadsheet keeps of a number.
const KEPT: usize = 15;

fn loses_digits(cell: &str) -> bool {
    let is_number = !cell.is_empty() && cell.bytes().all(|b| b.is_ascii_digit());
    is_number && (cell.len() > KEPT || cell.len() > 1 && cell.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_shield_comes_off_again(any in ".{0,12}", odd in "[ '\\t\\r=+@a0-]{0,8}") {
            for cell in [any, odd] {
                let there = shielded(&cell);
                prop_assert_eq!(unshielded(&there), &cell);
                let first = there.trim_start().chars().next();
                prop_assert!(!matches!(first, Some('=' | '+' | '-' | '@')), "{:?}", there);
            }
        }
    }

    #[test]
    fn what_a_person_writes_stays() {
        for cell in ["0712000001", "'tis", "O'Hara", "", "'", "'712000001"] {
            assert_eq!(unshielded(cell), cell);
        }
        assert_eq!(shielded("0099427588438"), "'0099427588438");
        assert_eq!(shielded("1234567890123456"), "'1234567890123456");
        assert_eq!(shielded("=1+1"), "'=1+1");
        assert_eq!(shielded("-5"), "'-5");
        assert_eq!(shielded("'=1"), "''=1");
        assert_eq!(shielded("712"), "712");
        assert_eq!(shielded("0"), "0");
    }
}
