//! Digits that a spreadsheet takes of a number: the zeros in front, those beyond the fifteenth, decimals.

use std::fmt;

/// Columns of which a spreadsheet takes digits, beside the members of `extra`.
pub const DIGITS: [&str; 7] = [
    "reference",
    "msisdn",
    "account_number",
    "bank_account_number",
    "invoice_number",
    "bank_code",
    "hub_id",
];

/// How a value lost digits on its way through a spreadsheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The zeros in front.
    LeadingZeros,
    /// Digits in front.
    Front,
    /// Digits at the end.
    End,
    /// The last digits became zeros: those beyond the fifteenth, or those that `2.54715E+11` does not show.
    Rounded,
    /// The decimals of an amount: `112023` is shown, and was `112023.12`.
    Decimals,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeadingZeros => "the zeros in front are gone",
            Self::Front => "digits in front are gone",
            Self::End => "digits at the end are gone",
            Self::Rounded => "the last digits became zeros",
            Self::Decimals => "its decimals were rounded",
        })
    }
}

/// Digits of a spreadsheet's number; what comes behind them is rounded.
const KEPT: usize = 15;

/// Zeros at the end of what a spreadsheet shows as `2.54715E+11`.
const ROUNDED_ZEROS: usize = 6;

fn zeros_of(number: &str) -> usize {
    number.len() - number.trim_end_matches('0').len()
}

/// Returns whether a number has more digits than a spreadsheet keeps, and zeros in place of those beyond: another number may have become
/// this one.
#[must_use]
pub fn may_be_cut(number: &str) -> bool {
    number.bytes().all(|b| b.is_ascii_digit())
        && number.len() > KEPT
        && zeros_of(number) >= number.len() - KEPT
}

/// Returns what a spreadsheet makes of a text that looks like a number: two texts of which it makes the same cannot be told apart
/// once a spreadsheet has saved them. `None`: it is no such text.
#[must_use]
pub fn as_number(text: &str) -> Option<String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(decimals) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let kept = whole.len().min(KEPT);
    let decimals = match whole.len() < KEPT {
        true => decimals.trim_end_matches('0'),
        false => "",
    };
    let zeros = "0".repeat(whole.len() - kept);
    Some(format!("{}{zeros}.{decimals}", &whole[..kept]))
}

/// Returns whether a number ends as one does that was shown as `2.54715E+11`, and read again.
#[must_use]
pub fn may_be_rounded(number: &str) -> bool {
    number.len() > 2 * ROUNDED_ZEROS - 1
        && number.bytes().all(|b| b.is_ascii_digit())
        && zeros_of(number) >= ROUNDED_ZEROS
}

/// Returns whether a number is the beginning of another one, and zeros in the place of its other digits.
fn is_beginning(was: &str, is: &str) -> bool {
    let stem = is.trim_end_matches('0');
    may_be_rounded(is)
        && was
            .strip_prefix(stem)
            .is_some_and(|rest| rest.bytes().any(|b| b != b'0'))
}

/// Returns how the digits of a rejected row were lost in the mended one; `None` when the value is the same, or another one.
#[must_use]
pub fn lost_digits(was: &str, is: &str) -> Option<Lost> {
    let (was, is) = (was.trim(), is.trim());
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if was == is || !all_digits(was) || !all_digits(is) {
        return None;
    }
    if is_beginning(was, is) {
        return Some(Lost::Rounded);
    }
    if is.len() < was.len() {
        let gone = was.len() - is.len();
        // One digit may stand at either end of many a number: what is left must be most of it.
        let is_most = is.len() * 2 > was.len();
        if was.ends_with(is) {
            let zeros = was[..gone].bytes().all(|b| b == b'0');
            return (zeros || is_most).then_some(if zeros {
                Lost::LeadingZeros
            } else {
                Lost::Front
            });
        }
        return (is_most && was.starts_with(is)).then_some(Lost::End);
    }
    let rounded = was.len() == is.len() && is_rounded(was, is);
    rounded.then_some(Lost::Rounded)
}

/// Returns whether what is lost in a column was lost in a spreadsheet, and mended by nobody. `had_error`: something was wrong with
/// the column in the rejected row.
// A person mends a number that had an error by taking digits away, or by giving a row a reference of its own; but nobody makes
// zeros of just those digits that no spreadsheet keeps.
#[must_use]
pub fn is_spoilt(column: &str, had_error: bool, lost: Lost, is: &str) -> bool {
    let is = is.trim();
    !had_error
        || lost == Lost::Rounded
            && match column {
                "reference" => is.len() > KEPT,
                _ => may_be_rounded(is),
            }
}

/// Returns whether a number of as many digits is the other one rounded, with zeros at its end in the place of other digits.
fn is_rounded(was: &str, is: &str) -> bool {
    let zeros = zeros_of(is);
    // Fewer zeros stand at the end of many a number, but for the digits that no spreadsheet keeps.
    let is_many = zeros >= 3 || is.len() > KEPT && zeros > 0;
    let place = u32::try_from(zeros)
        .ok()
        .and_then(|zeros| 10_u128.checked_pow(zeros));
    match (was.parse::<u128>(), is.parse::<u128>(), place) {
        (Ok(was), Ok(is), Some(place)) => is_many && was % place != 0 && was.abs_diff(is) < place,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_mended_is_not_spoilt() {
        for (column, had_error, lost, is, expected) in [
            ("reference", false, Lost::End, "12345", true),
            ("msisdn", false, Lost::Front, "712000001", true),
            ("msisdn", true, Lost::End, "254712000001", false),
            (
                "reference",
                true,
                Lost::Rounded,
                "1234567890123450000",
                true,
            ),
            ("reference", true, Lost::Rounded, "1234000", false),
            ("msisdn", true, Lost::Rounded, "254712000000", true),
            ("msisdn", true, Lost::Rounded, "254712345000", false),
            ("reference", true, Lost::End, "12345678901234567", false),
        ] {
            assert_eq!(
                is_spoilt(column, had_error, lost, is),
                expected,
                "{column} {is}"
            );
        }
    }

    #[test]
    fn digits_that_a_spreadsheet_took_are_noticed() {
        use Lost::{End, Front, LeadingZeros, Rounded};
        let table = [
            ("0099427588438", "99427588438", Some(LeadingZeros)),
            ("007", "7", Some(LeadingZeros)),
            ("254712000001", "712000001", Some(Front)),
            ("99427588438", "994275884", Some(End)),
            ("1234567890123456", "1234567890123450", Some(Rounded)),
            ("12345678901234567", "12345678901234600", Some(Rounded)),
            ("254715056716", "254715000000", Some(Rounded)),
            ("254715556716", "254716000000", Some(Rounded)),
            ("254715056716", "254715056700", None),
            ("254715000000", "254716000000", None),
            ("1234567890123456", "1234567890123999", None),
            ("99427588438", "99427588438", None),
            // One digit was missing, and the last ones are gone.
            ("25471234563", "254712000000", Some(Rounded)),
            ("2547123456789", "254712000000", Some(Rounded)),
            ("254712", "254712000000", None),
            ("25471200000", "254712000000", None),
            // What was too short becomes whole, and a wrong one another one.
            ("99427588438", "0099427588438", None),
            ("25471200000", "254712000001", None),
            ("99427588438", "11427588438", None),
            ("99427588438", "38", None),
            ("", "123", None),
            ("2.54712E+11", "254712000001", None),
        ];
        for (was, is, expected) in table {
            assert_eq!(lost_digits(was, is), expected, "{was} -> {is}");
        }
    }

    #[test]
    fn texts_that_a_spreadsheet_makes_one_number_of_are_alike() {
        let alike = [
            ("7", "007"),
            ("7", "7.0"),
            ("1.1", "1.10"),
            ("0", "000"),
            ("1234567890123456", "1234567890123459"),
        ];
        for (one, other) in alike {
            assert_eq!(as_number(one), as_number(other), "{one} {other}");
        }
        let apart = [("7", "70"), ("1.1", "1.01"), ("123", "1230"), ("0.5", "5")];
        for (one, other) in apart {
            assert_ne!(as_number(one), as_number(other), "{one} {other}");
        }
        for text in ["", "R-7", "7a", ".5", "1.2.3", "-7", " 7"] {
            assert_eq!(as_number(text), None, "{text:?}");
        }
    }
}
