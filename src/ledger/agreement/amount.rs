//! Amounts as replies write them: `100`, `100.00`, `1,500.00`, `1.500,00`, `KES 100`, `1.0E7`.

use super::compared::Agreement;
use crate::domain::{Currency, Money};

/// Longer texts are no amounts.
const LENGTH_MAX: usize = 64;
const EXPONENT_MAX: i32 = 40;

pub(super) fn compare(text: &str, is_number: bool, ours: Money) -> Agreement {
    if text.len() > LENGTH_MAX {
        return Agreement::Unreadable;
    }
    let text = text.trim();
    // Nearly all of them are written as we wrote it.
    if text == ours.to_string() {
        return Agreement::Agrees;
    }
    let Some((code, text)) = without_currency(text) else {
        return Agreement::Unreadable;
    };
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits.trim_start()),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let readings = if is_number || digits.contains(['e', 'E']) {
        [scientific(digits), None]
    } else {
        [grouped(digits, '.'), grouped(digits, ',')]
    };
    let [point, comma] = &readings;
    if point.is_none() && comma.is_none() {
        return Agreement::Unreadable;
    }
    if code.is_some_and(|code| code != ours.currency) {
        return Agreement::Differs;
    }
    let expected = Decimal::of(ours);
    let is_ours = |reading: &Decimal| !negative && *reading == expected;
    match (point.as_ref().map(is_ours), comma.as_ref().map(is_ours)) {
        // The point is what the interface has; that the comma could be read otherwise does not count against it.
        (Some(true), _) | (None, Some(true)) => Agreement::Agrees,
        (Some(false), Some(true)) => Agreement::Unreadable,
        (Some(false) | None, _) => Agreement::Differs,
    }
}

/// Takes off a currency's code before or after the digits; `None` when there are other letters.
fn without_currency(text: &str) -> Option<(Option<Currency>, &str)> {
    let text = text
        .strip_suffix("/=")
        .or_else(|| text.strip_suffix("/-"))
        .unwrap_or(text);
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let tail = text.trim_start_matches(is_letter);
    let (letters, digits) = if tail.len() < text.len() {
        (&text[..text.len() - tail.len()], tail)
    } else {
        let head = text.trim_end_matches(is_letter);
        (&text[head.len()..], head)
    };
    if letters.is_empty() {
        return Some((None, digits));
    }
    let letters = letters.to_ascii_uppercase();
    if SHILLINGS.contains(&letters.as_str()) {
        // Of which country, it does not say.
        let digits = digits.strip_prefix(". ").unwrap_or(digits);
        // `Ksh.50` may be fifty, or half of one.
        return (!digits.starts_with('.')).then(|| (None, digits.trim()));
    }
    let code = Currency::from_code(&letters)?;
    Some((Some(code), digits.trim()))
}

/// How people write shillings.
const SHILLINGS: [&str; 5] = ["KSH", "KSHS", "SH", "SHS", "USH"];

/// A number that is not negative, without zeros that say nothing.
#[derive(PartialEq, Eq)]
struct Decimal {
    whole: String,
    fraction: String,
}

impl Decimal {
    fn new(whole: &str, fraction: &str) -> Self {
        Self {
            whole: whole.trim_start_matches('0').to_owned(),
            fraction: fraction.trim_end_matches('0').to_owned(),
        }
    }

    fn of(money: Money) -> Self {
        let text = money.to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        Self::new(whole, fraction)
    }
}

/// Reads what JSON calls a number, with the exponent that some languages write large ones with.
fn scientific(text: &str) -> Option<Decimal> {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    if exponent.abs() > EXPONENT_MAX {
        return None;
    }
    let shift = exponent.unsigned_abs() as usize;
    let zeros = "0".repeat(shift);
    if exponent >= 0 {
        let moved = format!("{fraction}{zeros}");
        let (into, rest) = moved.split_at(shift);
        Some(Decimal::new(&format!("{whole}{into}"), rest))
    } else {
        let moved = format!("{zeros}{whole}");
        let (rest, out) = moved.split_at(moved.len() - shift);
        Some(Decimal::new(rest, &format!("{out}{fraction}")))
    }
}

/// Reads digits in groups of three, with this decimal mark.
fn grouped(text: &str, mark: char) -> Option<Decimal> {
    let (whole, fraction) = text.split_once(mark).unwrap_or((text, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) || whole.len() + fraction.len() == 0 {
        return None;
    }
    let separates = |c: char| !c.is_ascii_digit();
    let Some(separator) = whole.chars().find(|c| separates(*c)) else {
        return Some(Decimal::new(whole, fraction));
    };
    let other = if mark == '.' { ',' } else { '.' };
    let known = [other, ' ', '\'', '\u{a0}', '\u{202f}', '\u{2019}'];
    if !known.contains(&separator) || whole.chars().any(|c| separates(c) && c != separator) {
        return None;
    }
    let groups: Vec<&str> = whole.split(separator).collect();
    let last = groups.len() - 1;
    // Groups of two before the last one are how lakhs are written.
    let sound = groups.iter().enumerate().all(|(at, group)| match at {
        0 => (1..=3).contains(&group.len()),
        at if at == last => group.len() == 3,
        _ => (2..=3).contains(&group.len()),
    });
    sound.then(|| Decimal::new(&groups.concat(), fraction))
}
