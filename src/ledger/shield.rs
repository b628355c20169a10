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

/// Returns a cell of a column as [`shielded`] does; where the column is no amount, a spreadsheet must not take it for a number with
/// decimals either, whose zeros at the end it drops: `1.10` is another reference than `1.1`.
#[must_use]
pub fn shielded_in<'a>(column: &str, cell: &'a str) -> Cow<'a, str> {
    match column != AMOUNT && is_decimal(cell) {
        true => Cow::Owned(format!("{SHIELD}{cell}")),
        false => shielded(cell),
    }
}

/// The column whose cells are numbers, which a person mends as such.
const AMOUNT: &str = "amount";

/// Returns a cell without the shield that it may have.
#[must_use]
pub fn unshielded(cell: &str) -> &str {
    match cell.strip_prefix(SHIELD) {
        Some(inner) if needs_shield(inner) || is_decimal(inner) => inner,
        _ => exported(cell).unwrap_or(cell),
    }
}

/// Returns what stands in a cell that an exporter has made a formula of, `="0011"`, so that a spreadsheet keeps its zeros.
fn exported(cell: &str) -> Option<&str> {
    let inner = cell.strip_prefix("=\"")?.strip_suffix('"')?;
    (!inner.contains('"')).then_some(inner)
}

/// Returns whether the cell is a number with a point or a comma in it.
fn is_decimal(cell: &str) -> bool {
    let cell = cell.trim();
    let is_separator = |c| matches!(c, '.' | ',');
    cell.contains(is_separator)
        && cell.contains(|c: char| c.is_ascii_digit())
        && cell.chars().all(|c| c.is_ascii_digit() || is_separator(c))
}

// A genuine apostrophe is shielded as well, or it could not be told from a shield.
fn needs_shield(cell: &str) -> bool {
    cell.starts_with(['\t', '\r', SHIELD])
        || cell.trim_start().starts_with([
            '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
        ])
        || loses_digits(cell)
        || is_exponent(cell)
        || is_date(cell)
}

/// Digits that a spreadsheet keeps of a number.
const KEPT: usize = 15;

fn loses_digits(cell: &str) -> bool {
    let is_number = !cell.is_empty() && cell.bytes().all(|b| b.is_ascii_digit());
    is_number && (cell.len() > KEPT || cell.len() > 1 && cell.starts_with('0'))
}

/// Returns whether a spreadsheet takes the cell for a number with an exponent, as in `1E5` or `12e03`.
fn is_exponent(cell: &str) -> bool {
    let Some((number, exponent)) = cell.split_once(['e', 'E']) else {
        return false;
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    is_digits(whole) && is_digits(fraction) && is_digits(exponent)
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Returns whether a spreadsheet may take the cell for a date, a time or a fraction: two numbers or more with signs of dates between
/// them, or numbers beside the name of a month.
// Which of them it takes depends on its country: what may be one is shielded. A decimal has one point, and stays as it is.
fn is_date(cell: &str) -> bool {
    let cell = cell.trim();
    let parts: Vec<&str> = cell.split([' ', '-', '/', ':', '.', ',']).collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_month = |part: &&str| {
        let start = part.get(..3).map(str::to_ascii_lowercase);
        start.is_some_and(|start| MONTHS.contains(&start.as_str()))
            && part.bytes().all(|b| b.is_ascii_alphabetic())
    };
    let is_suffix = |part: &&str| part.is_empty() || matches!(*part, "AM" | "PM" | "am" | "pm");
    let (mut numbers, mut months) = (0, 0);
    for part in &parts {
        match part {
            part if is_number(part) => numbers += 1,
            part if is_month(part) => months += 1,
            // `2026-11-30T10:00:00Z`
            part if part.contains(['T', 'Z'])
                && part
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b == b'T' || b == b'Z') =>
            {
                numbers += 1;
            }
            part if is_suffix(part) => {}
            _ => return false,
        }
    }
    let is_decimal = numbers == 2 && cell.matches(['.', ',']).count() == 1 && parts.len() == 2;
    // Separators of thousands stand in amounts, which a person mends.
    let has_comma = cell.contains(',');
    months == 1 && numbers >= 1
        || months == 0 && (2..=7).contains(&numbers) && !is_decimal && !has_comma
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_an_exporter_protects_is_the_text_within() {
        for (cell, expected) in [
            ("=\"0011223344\"", "0011223344"),
            ("=\"\"", ""),
            ("=\"a\"\"b\"", "=\"a\"\"b\""),
            ("=\"open", "=\"open"),
            ("=", "="),
            ("=\"", "=\""),
            ("=A1", "=A1"),
        ] {
            assert_eq!(unshielded(cell), expected);
        }
    }

    proptest! {
    #[test]
            fn the_shield_comes_off_again(any in ".{0,12}", odd in "[ '\\t\\r=+@a0-]{0,8}") {
                for cell in [any, odd] {
                    for column in ["amount", "reference"] {
                        let there = shielded_in(column, &cell);
                        prop_assert_eq!(unshielded(&there), &cell);
                    }
                    let there = shielded(&cell);
                    prop_assert_eq!(unshielded(&there), &cell);
                    let first = there.trim_start().chars().next();
                    prop_assert!(!matches!(first, Some('=' | '+' | '-' | '@')), "{:?}", there);
                }
            }
        }

    #[test]
    fn what_a_spreadsheet_takes_for_a_date_or_a_power_is_shielded() {
        for cell in [
            "1-2",
            "12/11",
            "2026-11-01",
            "01.11.2026",
            "1E5",
            "2.5e+11",
            "10:30",
            "1/2",
            "Nov 2026",
            "11 November 2026",
            "1-Nov",
            "2026-11-01T10:00:00Z",
            "3:15 PM",
        ] {
            assert_eq!(shielded(cell), format!("'{cell}"), "{cell}");
            assert_eq!(unshielded(&format!("'{cell}")), cell);
        }
        for cell in [
            "1500.50",
            "1,234.50",
            "0.10",
            "12",
            "EMP-1",
            "row-327271eca2d4b00d-of-b",
            "Salary November 2026",
            "E5",
            "may",
            "R-2026-11",
            "254712345678",
            "",
        ] {
            assert_eq!(shielded(cell), cell, "{cell}");
        }
    }

    #[test]
    fn a_number_with_decimals_is_shielded_where_it_is_no_amount() {
        for cell in ["1.10", "0.5", "12.0", ".50", "1,50", "1,234.50", "100."] {
            assert_eq!(shielded_in("amount", cell), cell);
            for column in ["reference", "account_number", "extra.floor"] {
                assert_eq!(shielded_in(column, cell), format!("'{cell}"), "{column}");
            }
            assert_eq!(unshielded(&format!("'{cell}")), cell);
        }
        for cell in ["12", "EMP-1.10", "v1.1", ".", "a,b", ""] {
            assert_eq!(shielded_in("reference", cell), cell);
        }
        assert_eq!(shielded_in("amount", "=1+1"), "'=1+1");
        assert_eq!(shielded_in("amount", "'1.10"), "''1.10");
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
