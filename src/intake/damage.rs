//! What spreadsheets and people do to numbers, named by cause.

use crate::domain::Currency;

/// What a cell holds after a formula failed.
const FORMULA_ERRORS: [&str; 8] = [
    "#N/A", "#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#NULL!", "#NUM!", "#SPILL!",
];
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const CURRENCY_SIGNS: [&str; 14] = [
    "$", "€", "£", "¥", "₦", "₵", "/=", "/-", "SH", "SHS", "KSH", "KSHS", "USH", "TSH",
];
const BLANKS: [char; 5] = [' ', '\u{a0}', '\u{202f}', '\u{2009}', '\''];

/// Names what happened to any cell, whatever its column.
pub(super) fn of_cell(cell: &str) -> Option<&'static str> {
    if !cell.starts_with('#') {
        return None;
    }
    if FORMULA_ERRORS.contains(&cell) {
        Some("a formula failed in the spreadsheet; write the value")
    } else if cell.len() > 1 && cell.bytes().all(|b| b == b'#') {
        Some("the spreadsheet's column was too narrow to show the value; widen it and export again")
    } else {
        None
    }
}

/// Names what happened to the digits of a phone number, an account or a reference.
pub(super) fn of_digits(cell: &str) -> Option<&'static str> {
    if is_scientific(cell) {
        return Some(
            "a spreadsheet turned this number into scientific notation and its last digits are lost; \
             export the column as text from the original",
        );
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if cell
        .strip_prefix('\'')
        .is_some_and(|rest| digits(rest.trim_start_matches('+')))
    {
        return Some("begins with the apostrophe that marks text in a spreadsheet; remove it");
    }
    let decimals = cell.split_once('.').is_some_and(|(whole, zeros)| {
        whole.len() > 5 && digits(whole) && !zeros.is_empty() && zeros.bytes().all(|b| b == b'0')
    });
    if decimals {
        return Some("was exported as a number with decimals; export the column as text");
    }
    None
}

/// Tells `2.54712E+11` from a code such as `12E5`, which nothing damaged.
fn is_scientific(cell: &str) -> bool {
    let Some((mantissa, exponent)) = cell.split_once(['E', 'e']) else {
        return false;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, "0"));
    let signed = exponent.strip_prefix('+');
    digits(whole)
        && digits(fraction)
        && digits(signed.unwrap_or(exponent))
        && (signed.is_some() || mantissa.len() > whole.len())
}

/// Names why a text is not an amount, when the cause can be told.
pub(super) fn of_amount(cell: &str) -> Option<String> {
    if cell.contains(['e', 'E'])
        && cell
            .replace('-', "+")
            .split_once(['e', 'E'])
            .is_some_and(|(m, e)| {
                m.bytes().any(|b| b.is_ascii_digit())
                    && m.bytes()
                        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'+'))
                    && e.trim_start_matches('+')
                        .bytes()
                        .all(|b| b.is_ascii_digit())
                    && e.bytes().any(|b| b.is_ascii_digit())
            })
    {
        return Some("is in scientific notation; write all digits".to_owned());
    }
    if is_date(cell) {
        return Some(
            "is a date; a spreadsheet may have turned an amount such as 1.12 into one".to_owned(),
        );
    }
    let has_digit = cell.bytes().any(|b| b.is_ascii_digit());
    if !has_digit {
        return None;
    }
    if cell.ends_with('%') {
        return Some("is a percentage; write the amount".to_owned());
    }
    if let Some(digits) = without_currency(cell) {
        return Some(match plain(digits) {
            Some(plain) => {
                format!("has a currency sign; write {plain}, the currency stands in currency_code")
            }
            None => "has a currency sign; write digits only, the currency stands in currency_code"
                .to_owned(),
        });
    }
    if cell.starts_with('(') && cell.ends_with(')') || cell.ends_with('-') {
        return Some("is negative as accountants write it".to_owned());
    }
    if let Some(unsigned) = cell.strip_prefix('+') {
        return plain(unsigned).map(|plain| format!("has a plus sign; write {plain}"));
    }
    separators(cell)
}

/// Strips a currency's sign, code or common abbreviation off either end.
fn without_currency(cell: &str) -> Option<&str> {
    let digit = |c: char| c.is_ascii_digit();
    let (start, end) = (cell.find(digit)?, cell.rfind(digit)? + 1);
    let sign = |text: &str| {
        let text = text.trim().trim_end_matches('.').to_ascii_uppercase();
        CURRENCY_SIGNS.contains(&text.as_str()) || Currency::from_code(&text).is_some()
    };
    let (before, after) = (&cell[..start], &cell[end..]);
    let blank = |text: &str| text.trim().is_empty();
    let stripped = sign(before) && (blank(after) || sign(after)) || blank(before) && sign(after);
    stripped.then(|| &cell[start..end])
}

fn is_date(cell: &str) -> bool {
    let parts: Vec<&str> = cell.split(['-', '/', '.', ' ', ':']).collect();
    let number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let month = |part: &&str| {
        part.get(..3)
            .is_some_and(|start| MONTHS.contains(&start.to_ascii_lowercase().as_str()))
            && part.len() <= 9
            && part.bytes().all(|b| b.is_ascii_alphabetic())
    };
    if (2..=6).contains(&parts.len()) && parts.iter().filter(|p| month(p)).count() == 1 {
        return parts.iter().all(|part| number(part) || month(part));
    }
    if cell.contains(':') {
        return parts.len() <= 6 && parts.iter().all(number);
    }
    let separator = |c| cell.matches(c).count() == 2;
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    parts.iter().take(3).all(number)
        && (separator('-') || separator('/') || separator('.'))
        && matches!(
            lengths.as_slice(),
            [1 | 2, 1 | 2, 2 | 4] | [4, 1 | 2, 1 | 2]
        )
}

fn separators(cell: &str) -> Option<String> {
    let numeric = cell
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',') || BLANKS.contains(&c));
    if !numeric || !cell.contains(|c| c == ',' || c == '.' || BLANKS.contains(&c)) {
        return None;
    }
    let only_comma =
        !cell.contains('.') && !cell.contains(BLANKS) && cell.matches(',').count() == 1;
    if only_comma {
        let (whole, fraction) = cell.split_once(',')?;
        return Some(if fraction.len() == 3 && (1..=3).contains(&whole.len()) {
            format!(
                "has a comma that may separate thousands or decimals; write {whole}{fraction} or {whole}.{fraction}"
            )
        } else if !whole.is_empty() && !fraction.is_empty() {
            format!("has a decimal comma; write {whole}.{fraction}")
        } else {
            "has a comma; write digits and at most one decimal point".to_owned()
        });
    }
    match plain(cell) {
        Some(plain) if plain != cell => Some(format!("has thousands separators; write {plain}")),
        Some(_) => None,
        None => Some(
            "has separators that cannot be told apart; write digits and at most one decimal point"
                .to_owned(),
        ),
    }
}

/// Returns what an amount with separators certainly means.
fn plain(cell: &str) -> Option<String> {
    let joined;
    let cell = if cell.contains(BLANKS) {
        let end = cell.find(['.', ',']).unwrap_or(cell.len());
        let (whole, rest) = cell.split_at(end);
        let groups: Vec<&str> = whole.split(BLANKS).collect();
        if !grouped(&groups) {
            return None;
        }
        joined = format!("{}{}", groups.concat(), rest.replace(',', "."));
        &joined
    } else {
        cell
    };
    let decimal_at = cell.rfind(['.', ',']);
    let Some(at) = decimal_at else {
        return cell
            .bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| cell.to_owned());
    };
    let (whole, fraction) = (&cell[..at], &cell[at + 1..]);
    let last = &cell[at..=at];
    if whole.contains(last) {
        // The last separator stands more than once, so it separates thousands.
        let groups: Vec<&str> = cell.split(last).collect();
        return grouped(&groups).then(|| groups.concat());
    }
    let other = if last == "." { "," } else { "." };
    let groups: Vec<&str> = whole.split(other).collect();
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (grouped(&groups) && all_digits(fraction)).then(|| format!("{}.{fraction}", groups.concat()))
}

/// Whether digits are grouped by thousands, or not grouped at all.
fn grouped(groups: &[&str]) -> bool {
    let digits = |text: &&str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    groups.iter().all(digits)
        && match groups {
            [_] => true,
            [first, rest @ ..] => first.len() <= 3 && rest.iter().all(|group| group.len() == 3),
            [] => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_diagnosed() {
        for (cell, part) in [
            ("1,234.50", "thousands separators; write 1234.50"),
            ("1.234,50", "thousands separators; write 1234.50"),
            ("1 234.50", "thousands separators; write 1234.50"),
            ("1\u{a0}234,50", "thousands separators; write 1234.50"),
            ("1,234,567", "thousands separators; write 1234567"),
            ("1.234.567", "thousands separators; write 1234567"),
            ("1'234.5", "thousands separators; write 1234.5"),
            ("1,00,000", "cannot be told apart"),
            ("1234,50", "decimal comma; write 1234.50"),
            ("1,5", "decimal comma; write 1.5"),
            ("1,234", "write 1234 or 1.234"),
            ("KES 1,500.00", "currency sign; write 1500.00"),
            ("Ksh1500", "currency sign; write 1500"),
            ("$ 12.50", "currency sign; write 12.50"),
            ("1500/=", "currency sign; write 1500"),
            ("1.5E+03", "scientific notation"),
            ("15e3", "scientific notation"),
            ("01/12/2026", "is a date"),
            ("2026-12-01", "is a date"),
            ("01.12.2026", "is a date"),
            ("12-Mar", "is a date"),
            ("Mar-26", "is a date"),
            ("1 December 2026", "is a date"),
            ("2026-12-01 00:00:00", "is a date"),
            ("10:30", "is a date"),
            ("(500.00)", "negative"),
            ("500-", "negative"),
            ("12%", "percentage"),
            ("+500", "plus sign; write 500"),
        ] {
            let found = of_amount(cell).unwrap_or_default();
            assert!(found.contains(part), "{cell}: {found:?}");
        }
        for cell in ["", "abc", "1500", "1500.50", "ten", "1.2e", "--", "€"] {
            assert_eq!(of_amount(cell), None, "{cell}");
        }
    }

    #[test]
    fn digits_are_diagnosed() {
        for (cell, part) in [
            ("2.54712E+11", "scientific"),
            ("2,54712E+11", "scientific"),
            ("3E+12", "scientific"),
            ("'254712345678", "apostrophe"),
            ("254712345678.0", "decimals"),
        ] {
            assert!(
                of_digits(cell).is_some_and(|found| found.contains(part)),
                "{cell}"
            );
        }
        for cell in ["12E5", "E+11", "EMP-1", "254712345678", "7.0", ""] {
            assert_eq!(of_digits(cell), None, "{cell}");
        }
    }

    #[test]
    fn formula_errors_are_named() {
        assert!(
            of_cell("#N/A").is_some() && of_cell("#REF!").is_some() && of_cell("#####").is_some()
        );
        assert!(of_cell("#12").is_none() && of_cell("#").is_none() && of_cell("N/A").is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(cell in "[0-9.,eE+ '$-]{0,14}|\\PC{0,20}") {
            let _ = (of_amount(&cell), of_digits(&cell), of_cell(&cell));
        }
    }
}
