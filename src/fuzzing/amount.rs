//! Amounts of rows and of replies.

use crate::domain::{Amount, AmountError, Currency, Money, Totals};
use crate::gateway::offline::minor_units;

/// No decimals, two, three, and four.
const CURRENCIES: [&str; 4] = ["UGX", "KES", "BHD", "CLF"];

/// An amount is exact or refused, and prints what it was parsed from.
pub fn amount(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for code in CURRENCIES {
        let currency = Currency::from_code(code).unwrap();
        of_a_row(&text, currency);
        of_a_reply(&text, currency);
    }
}

/// Reads decimal digits the slow way: whole part, fraction, minor units.
fn slowly(text: &str, currency: Currency) -> Option<u128> {
    let exponent = usize::from(currency.exponent());
    let (whole, fraction) = match text.find('.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let dangling = text.contains('.') && fraction.is_empty();
    if whole.is_empty() || dangling || !digits(whole) || !digits(fraction) {
        return None;
    }
    if fraction.len() > exponent {
        return None;
    }
    let padded = format!("{whole}{fraction:0<exponent$}");
    let digits = padded.trim_start_matches('0');
    match digits.len() {
        0 => Some(0),
        1..=30 => digits.parse().ok(),
        _ => Some(u128::MAX),
    }
}

fn of_a_row(text: &str, currency: Currency) {
    let expected = slowly(text, currency);
    let most = u128::from(u64::MAX >> 1);
    match Amount::parse(text, currency) {
        Ok(amount) => {
            assert_eq!(expected, u128::try_from(amount.minor()).ok(), "{text:?}");
            assert!(amount.minor() > 0, "{text:?}");
            let money = Money { amount, currency };
            let printed = money.to_string();
            let decimals = printed
                .split_once('.')
                .map_or(0, |(_, digits)| digits.len());
            assert_eq!(decimals, usize::from(currency.exponent()), "{printed}");
            assert_eq!(Amount::parse(&printed, currency), Ok(amount), "{printed}");
            assert_eq!(minor_units(&printed, currency), Some(amount.minor()));
            let mut totals = Totals::default();
            totals.add(money);
            assert_eq!(totals.decimals()[currency.code()], printed);
        }
        Err(AmountError::Zero) => assert_eq!(expected, Some(0), "{text:?}"),
        Err(AmountError::TooLarge) => {
            assert!(expected.is_some_and(|minor| minor > most), "{text:?}")
        }
        Err(_) => assert_eq!(expected, None, "{text:?}"),
    }
}

fn of_a_reply(text: &str, currency: Currency) {
    let Some(minor) = minor_units(text, currency) else {
        return;
    };
    let digits = text.trim();
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits),
    };
    // Zeros behind the point are no decimals here.
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    let expected = slowly(digits, currency);
    assert_eq!(expected, Some(u128::from(minor.unsigned_abs())), "{text:?}");
    assert!(minor <= 0 || !negative, "{text:?}");
}
