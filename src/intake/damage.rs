//! What spreadsheets and people do to numbers, named by cause.

use crate::domain::{Amount, Currency};

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
    let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa);
    let (whole, fraction) = mantissa.split_once(['.', ',']).unwrap_or((mantissa, "0"));
    let signed = exponent.strip_prefix('+');
    digits(whole)
        && digits(fraction)
        && digits(signed.unwrap_or(exponent))
        && (signed.is_some() || mantissa.len() > whole.len())
}

/// Names why a text is not an amount, when the cause can be told. What it says to write is an amount of the currency, where
/// that is known.
pub(super) fn of_amount(cell: &str, currency: Option<Currency>) -> Option<String> {
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
        let advice = advice("has a currency sign", meanings(digits), currency);
        return Some(format!("{advice}, the currency stands in currency_code"));
    }
    if cell.starts_with('(') && cell.ends_with(')') || cell.ends_with('-') {
        return Some("is negative as accountants write it".to_owned());
    }
    if let Some((whole, fraction)) = cell.split_once('.')
        && is_thousands(whole, fraction)
        && currency.is_none_or(|currency| currency.exponent() == 2)
    {
        let cents = fraction.trim_end_matches('0');
        return Some(format!(
            "has 3 decimals; ask whether {whole}{fraction}.00 or {whole}.{cents:0<2} is meant, and write that"
        ));
    }
    if let Some(unsigned) = cell.strip_prefix('+') {
        return plain(unsigned).map(|_| advice("has a plus sign", meanings(unsigned), currency));
    }
    separators(cell, currency)
}

/// Returns the amounts that a cell may mean which is none as it stands.
pub(super) fn meant(cell: &str, currency: Currency) -> Vec<Amount> {
    let digits = without_currency(cell)
        .unwrap_or(cell)
        .trim_start_matches('+');
    let meant = with_whole(digits).map_or_else(|| meanings(digits), |meant| vec![meant]);
    let amounts = meant.iter();
    amounts
        .filter_map(|text| Amount::parse(text, currency).ok())
        .collect()
}

/// Returns what an amount with separators may mean.
fn meanings(cell: &str) -> Vec<String> {
    match two_ways(cell) {
        Some((whole, fraction)) => {
            vec![format!("{whole}{fraction}"), format!("{whole}.{fraction}")]
        }
        None => plain(cell).into_iter().collect(),
    }
}

/// Returns the parts around a comma that may separate thousands or decimals.
fn two_ways(cell: &str) -> Option<(&str, &str)> {
    let (whole, fraction) = cell.split_once(',')?;
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let both = digits(whole) && digits(fraction);
    (both && fraction.len() == 3 && (1..=3).contains(&whole.len())).then_some((whole, fraction))
}

/// Says what to write in place of a cell: of what it may mean, what the column takes.
fn advice(cause: &str, mut meant: Vec<String>, currency: Option<Currency>) -> String {
    let fits =
        |text: &String| currency.is_none_or(|currency| Amount::parse(text, currency).is_ok());
    meant.retain(fits);
    if !meant.is_empty() {
        return format!("{cause}; write {}", meant.join(" or "));
    }
    match currency.map(|currency| (currency.exponent(), currency)) {
        None => format!("{cause}; write digits and at most one decimal point"),
        Some((0, currency)) => format!("{cause}; write digits only: {currency} has no decimals"),
        Some((decimals, currency)) => format!(
            "{cause}; write digits and at most one decimal point, with no more than {decimals} decimals of {currency} behind it"
        ),
    }
}

/// Tells `1.500`, which may be 1,500 as half of the world writes it, from `10.005`, which has a digit too many.
fn is_thousands(whole: &str, fraction: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (1..=3).contains(&whole.len())
        && !whole.starts_with('0')
        && fraction.len() == 3
        && fraction.ends_with('0')
        && digits(whole)
        && digits(fraction)
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

/// Says what `.5` and `5.` are written as: nothing separates thousands in them.
fn without_whole(cell: &str, currency: Option<Currency>) -> Option<String> {
    let meant = with_whole(cell)?;
    let fits = currency.is_none_or(|currency| Amount::parse(&meant, currency).is_ok());
    fits.then(|| format!("Write {meant}"))
}

fn with_whole(cell: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match cell.strip_prefix(['.', ',']) {
        Some(fraction) => digits(fraction).then(|| format!("0.{fraction}")),
        None => {
            let whole = cell.strip_suffix(['.', ','])?;
            digits(whole).then(|| whole.to_owned())
        }
    }
}

fn separators(cell: &str, currency: Option<Currency>) -> Option<String> {
    if let Some(advice) = without_whole(cell, currency) {
        return Some(advice);
    }
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
        return Some(if two_ways(cell).is_some() {
            advice(
                "has a comma that may separate thousands or decimals",
                meanings(cell),
                currency,
            )
        } else if !whole.is_empty() && !fraction.is_empty() {
            advice(
                "has a decimal comma",
                vec![format!("{whole}.{fraction}")],
                currency,
            )
        } else {
            advice("has a comma", Vec::new(), currency)
        });
    }
    match plain(cell) {
        Some(plain) if plain != cell => {
            Some(advice("has thousands separators", vec![plain], currency))
        }
        Some(_) => None,
        None => Some(advice(
            "has separators that may stand for thousands or decimals",
            Vec::new(),
            currency,
        )),
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
            ("1,00,000", "may stand for thousands or decimals"),
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
            let found = of_amount(cell, None).unwrap_or_default();
            assert!(found.contains(part), "{cell}: {found:?}");
        }
        for cell in ["", "abc", "1500", "1500.50", "ten", "1.2e", "--", "€"] {
            assert_eq!(of_amount(cell, None), None, "{cell}");
        }
    }

    #[test]
    fn what_a_hint_says_to_write_is_taken_by_the_same_column() {
        let of = |code| Currency::from_code(code).unwrap();
        for (cell, code, part) in [
            ("1,234", "KES", "write 1234"),
            ("1,234", "UGX", "write 1234"),
            ("1,234", "BHD", "write 1234 or 1.234"),
            ("1234,50", "KES", "write 1234.50"),
            ("1234,50", "UGX", "write digits only: UGX has no decimals"),
            ("1,234.50", "UGX", "write digits only: UGX has no decimals"),
            ("1.234.567", "UGX", "write 1234567"),
            (
                "1,234.567",
                "KES",
                "write digits and at most one decimal point, with no more than 2 decimals of KES",
            ),
            ("KES 1,500.00", "KES", "write 1500.00, the currency"),
            (
                "USh 1,500.00",
                "UGX",
                "write digits only: UGX has no decimals, the currency",
            ),
            ("USh 1,500", "UGX", "write 1500, the currency"),
            ("+500.5", "UGX", "write digits only"),
            ("+500", "UGX", "write 500"),
            ("0,00", "KES", "write digits and at most one"),
            ("1,00,000", "KES", "write digits and at most one"),
            (
                "99999999999999999999,5",
                "KES",
                "write digits and at most one",
            ),
        ] {
            let found = of_amount(cell, Some(of(code))).unwrap_or_default();
            assert!(found.contains(part), "{cell} {code}: {found:?}");
        }
        // Whatever the cell: what is written out to be copied is an amount there.
        let pieces = [
            "1", "12", "123", "1234", "0", ",", ".", " ", "'", "50", "00", "+", "KES ", "/=",
        ];
        let mut written = 0;
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    for d in pieces {
                        let cell = [a, b, c, d].concat();
                        for code in ["KES", "UGX", "BHD"] {
                            let Some(found) = of_amount(&cell, Some(of(code))) else {
                                continue;
                            };
                            let hint = found.split("; write ").nth(1).unwrap_or_default();
                            for word in hint.split([' ', ',']) {
                                if word.starts_with(|c: char| c.is_ascii_digit())
                                    && !hint.contains("no more than")
                                {
                                    written += 1;
                                    assert!(
                                        Amount::parse(word, of(code)).is_ok(),
                                        "{cell:?} {code}: {found}"
                                    );
                                }
                            }
                        }
                    }
                }
            }
        }
        assert!(written > 1000, "{written} hints with an example");
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
            let _ = (of_amount(&cell, None), of_digits(&cell), of_cell(&cell));
        }
    }
}
