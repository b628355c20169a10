//! Texts made safe for spreadsheets and pages, and numbers made readable.

use std::borrow::Cow;

use crate::domain::{Currency, Totals};
pub(in crate::report) use crate::domain::{decimal, grouped};

/// Returns a cell that no spreadsheet takes for a formula, without terminal escapes. Line breaks and tabs stay.
pub(in crate::report) fn for_spreadsheet(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let kept = text
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r'));
    let kept = split_elsewhere(kept.collect());
    defused(kept)
}

/// Shields what would begin a cell where a program splits lines at another sign than the comma.
///
/// Quotes do not help there: a cell that begins in the middle of a field has none of its own.
fn split_elsewhere(text: String) -> String {
    const SPLITS: [char; 5] = [';', '\t', '|', '\n', '\r'];
    if !text.contains(SPLITS) {
        return text;
    }
    let mut shielded = String::with_capacity(text.len() + 4);
    for part in text.split_inclusive(SPLITS) {
        let begins =
            part.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
        if !shielded.is_empty() && begins.starts_with(begins_a_formula) {
            shielded.push('\'');
        }
        shielded.push_str(part);
    }
    shielded
}

/// Returns a cell that a spreadsheet shows as it was written, and takes for no formula: an identifier, or free text.
///
/// A spreadsheet takes `00123` for 123, rounds `9007199254742977` to fifteen digits, and makes a date of `1/2`.
pub(in crate::report) fn verbatim(text: &str) -> Cow<'_, str> {
    if becomes_another_number(text) {
        return Cow::Owned(format!("'{text}"));
    }
    for_spreadsheet(text)
}

// Signs in front are a formula's, and shielded as such.
fn becomes_another_number(text: &str) -> bool {
    let number = text.starts_with(|c: char| c.is_ascii_digit() || " .,$".contains(c))
        && text.contains(|c: char| c.is_ascii_digit())
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || b" .,:/-%eE+$".contains(&b));
    number && !is_whole_number(text)
}

// What a spreadsheet keeps digit for digit.
fn is_whole_number(text: &str) -> bool {
    text.len() <= 15
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text.len() == 1 || !text.starts_with('0'))
}

/// Returns a text for the page: one line, no control characters, nothing that reverses the reading direction, no formula.
pub(in crate::report) fn for_page(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter(|c| {
        (!c.is_control() || matches!(c, '\t' | '\n' | '\r')) && !overrides_direction(*c)
    });
    let line = defused(kept.collect()).replace(['\t', '\n', '\r'], " ");
    Cow::Owned(line)
}

// The usual case, decided on bytes: printable ASCII that begins with a letter, a digit or anything else harmless.
fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|b| (0x20..0x7f).contains(&b) && !matches!(b, b';' | b'|'))
        && !text.trim_start().starts_with(begins_a_formula)
}

// Leading blanks are looked through: a page's cell loses them when it is copied into a sheet. The check comes after the
// control characters are gone, or one of them could shield the sign behind it.
fn defused(text: String) -> Cow<'static, str> {
    let shielded =
        text.starts_with(['\t', '\r']) || text.trim_start().starts_with(begins_a_formula);
    Cow::Owned(if shielded { format!("'{text}") } else { text })
}

// The full-width forms are read as operators by spreadsheets in East Asian locales.
fn begins_a_formula(c: char) -> bool {
    matches!(
        c,
        '=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}'
    )
}

fn overrides_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns minor units for reading: `1,234,567.50`.
pub(in crate::report) fn amount(minor: i128, currency: Currency) -> String {
    grouped(&decimal(minor, currency))
}

/// Returns the amounts of every currency for reading: `KES 1,234.50`.
pub(in crate::report) fn amounts(totals: &Totals) -> Vec<String> {
    totals
        .iter()
        .map(|(currency, minor)| format!("{currency} {}", amount(minor, currency)))
        .collect()
}

/// Returns a count for reading: `1,000`.
pub(in crate::report) fn count(count: u64) -> String {
    grouped(&count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cells_that_a_spreadsheet_would_run_are_shielded() {
        for (raw, cell, page) in [
            ("", "", ""),
            ("plain text", "plain text", "plain text"),
            ("a=b", "a=b", "a=b"),
            ("a;=1+1", "a;'=1+1", "a;=1+1"),
            ("a; \"=1+1", "a;' \"=1+1", "a; \"=1+1"),
            ("a|-1", "a|'-1", "a|-1"),
            ("a\n@b", "a\n'@b", "a @b"),
            ("late; paid", "late; paid", "late; paid"),
            ("=1+1", "'=1+1", "'=1+1"),
            ("+254712345678", "'+254712345678", "'+254712345678"),
            ("-5", "'-5", "'-5"),
            ("@SUM(A1)", "'@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t'=1", "' =1"),
            ("\tx", "'\tx", "' x"),
            ("\rx", "'\rx", "' x"),
            ("  =1", "'  =1", "'  =1"),
            ("\n=1", "\n'=1", "' =1"),
            ("\u{1b}=1", "'=1", "'=1"),
            ("\u{0}-1", "'-1", "'-1"),
            ("\u{ff1d}1", "'\u{ff1d}1", "'\u{ff1d}1"),
            ("a\u{1b}[31mb\u{9b}c\u{7f}", "a[31mbc", "a[31mbc"),
            ("two\r\nlines", "two\r\nlines", "two  lines"),
            ("a\u{202e}b\u{2066}c", "a\u{202e}b\u{2066}c", "abc"),
            ("Wanjikũ", "Wanjikũ", "Wanjikũ"),
            ("'=1", "'=1", "'=1"),
        ] {
            assert_eq!(for_spreadsheet(raw), cell, "cell of {raw:?}");
            assert_eq!(for_page(raw), page, "page text of {raw:?}");
        }
    }

    #[test]
    fn cells_that_a_spreadsheet_would_take_for_another_number_are_shielded() {
        for kept in [
            "",
            "0",
            "7",
            "254712345678",
            "123456789012345",
            "EMP-00001",
            "R00001",
            "paid 100.00",
            "e",
            "D6XG76YFHSD4N4GSMC3R7K7EGS",
            "INV 2026-11",
        ] {
            assert_eq!(verbatim(kept), kept);
        }
        for shielded in [
            "00123",
            "00",
            "1234567890123456",
            "12345678901234567890",
            "1234-5678-9012-3456-7890",
            "1.10",
            ".5",
            "1e5",
            "12E10",
            "1,234",
            "1/2",
            "2026-11-01",
            "12:30",
            "5%",
            "$5",
            " 007",
        ] {
            assert_eq!(verbatim(shielded), format!("'{shielded}"));
        }
        assert_eq!(verbatim("-007"), "'-007", "once");
        assert_eq!(verbatim("=1+1"), "'=1+1");
    }

    #[test]
    fn amounts_are_grouped_by_three() {
        let kes = Currency::from_code("KES").unwrap();
        let ugx = Currency::from_code("UGX").unwrap();
        for (minor, currency, expected) in [
            (0, kes, "0.00"),
            (5, kes, "0.05"),
            (99_999, kes, "999.99"),
            (100_000, kes, "1,000.00"),
            (123_456_789_012, kes, "1,234,567,890.12"),
            (-123_456, kes, "-1,234.56"),
            (-5, kes, "-0.05"),
            (1_234_567, ugx, "1,234,567"),
        ] {
            assert_eq!(amount(minor, currency), expected);
        }
    }

    proptest! {
        #[test]
        fn no_cell_begins_with_an_operator(text in "[ \\t\\r\\n\\x00-\\x1f=+@a-]{0,6}") {
            for cell in [for_spreadsheet(&text), for_page(&text)] {
                prop_assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell:?}");
                prop_assert!(!cell.contains('\u{1b}'), "{cell:?}");
            }
            prop_assert!(!for_page(&text).contains(char::is_control));
        }
    }
}
