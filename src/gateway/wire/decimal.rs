//! Amounts as replies write them: numbers or texts, kept to the digit.

use crate::domain::{Amount, AmountError, Currency};

/// Returns the minor units, which may be negative or zero; `None` unless they are exact.
// `1500.00` is whole in any currency, so zeros at the end are no decimals.
pub(in crate::gateway) fn minor_units(text: &str, currency: Currency) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let shortened = match digits.split_once('.') {
        None => digits,
        Some((_, "")) => return None,
        Some((_, fraction)) if fraction.bytes().all(|b| b.is_ascii_digit()) => {
            digits.trim_end_matches('0').trim_end_matches('.')
        }
        Some(_) => return None,
    };
    match Amount::parse(shortened, currency) {
        Ok(amount) => Some(sign * amount.minor()),
        Err(AmountError::Zero) => Some(0),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_replies_are_exact_or_none() {
        for (code, text, expected) in [
            ("KES", "1500", Some(150_000)),
            ("KES", "1500.5", Some(150_050)),
            ("KES", "1500.5000", Some(150_050)),
            ("KES", " 0.00 ", Some(0)),
            ("KES", "-12.30", Some(-1_230)),
            ("KES", "92233720368547758.07", Some(i64::MAX)),
            ("UGX", "1500.00", Some(1_500)),
            ("UGX", "100", Some(100)),
            ("BHD", "1.234", Some(1_234)),
            ("KES", "10.005", None),
            ("UGX", "1500.50", None),
            ("KES", "92233720368547758.08", None),
            ("KES", "1,500.00", None),
            ("KES", "1.5e3", None),
            ("KES", "KES 5", None),
            ("KES", "--5", None),
            ("KES", "+5", None),
            ("KES", "5.", None),
            ("KES", ".5", None),
            ("KES", "1.2.3", None),
            ("KES", "", None),
            ("KES", "-", None),
        ] {
            let currency = Currency::from_code(code).unwrap();
            assert_eq!(minor_units(text, currency), expected, "{code} {text}");
        }
    }
}
