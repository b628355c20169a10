//! Amounts as statements write them: signs, commas, groups of thousands. Never a binary float.

use crate::domain::{Amount, Currency};

/// Reads an amount; returns minor units, negative where a minus, or brackets, stand around it.
///
/// Groups of thousands must be whole, so that a comma never passes for what it is not.
pub(super) fn signed(text: &str, decimal: char, currency: Currency) -> Result<i64, String> {
    let text = text.trim();
    let (negative, digits) = match text {
        _ if text.starts_with('(') && text.ends_with(')') && text.len() > 2 => {
            (true, &text[1..text.len() - 1])
        }
        _ => match (text.strip_prefix(['-', '\u{2212}']), text.strip_suffix('-')) {
            (Some(rest), _) | (None, Some(rest)) => (true, rest),
            (None, None) => (false, text.strip_prefix('+').unwrap_or(text)),
        },
    };
    let digits = digits.trim();
    let plain = ungrouped(digits, decimal).ok_or("expected an amount")?;
    if may_be_group(digits, decimal) && currency.exponent() != 3 {
        return Err("three digits stand behind its sign, which may be thousands".to_owned());
    }
    let minor = Amount::parse_any(&trimmed(&plain, currency), currency)
        .map_err(|error| format!("the amount {error}"))?;
    Ok(if negative { -minor } else { minor })
}

/// Returns whether what stands behind the decimal sign may be a group of thousands, as in `1.200`: some write that for 1200.
fn may_be_group(text: &str, decimal: char) -> bool {
    let Some((whole, fraction)) = text.split_once(decimal) else {
        return false;
    };
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    fraction.len() == 3
        && is_digits(fraction)
        && (1..=3).contains(&whole.len())
        && is_digits(whole)
        && !whole.starts_with('0')
}

/// Takes the groups of thousands out, and makes the decimal sign a point.
fn ungrouped(text: &str, decimal: char) -> Option<String> {
    let (whole, fraction) = match text.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let group = whole.chars().find(|c| !c.is_ascii_digit());
    let digits = match group {
        None => whole.to_owned(),
        Some(group @ (',' | '.' | ' ' | '\u{a0}' | '\u{202f}' | '\'')) if group != decimal => {
            let mut parts = whole.split(group);
            let first = parts.next()?;
            let is_group = |part: &str| part.len() == 3;
            let rest: Vec<&str> = parts.collect();
            if first.is_empty() || first.len() > 3 || !rest.iter().all(|part| is_group(part)) {
                return None;
            }
            format!("{first}{}", rest.concat())
        }
        Some(_) => return None,
    };
    Some(match fraction {
        None | Some("") => digits,
        Some(fraction) => format!("{digits}.{fraction}"),
    })
}

/// Takes zeros off that say no more than the currency has decimals for.
fn trimmed(plain: &str, currency: Currency) -> String {
    let Some((whole, fraction)) = plain.split_once('.') else {
        return plain.to_owned();
    };
    let least = usize::from(currency.exponent());
    let mut kept = fraction;
    while kept.len() > least && kept.ends_with('0') {
        kept = &kept[..kept.len() - 1];
    }
    match kept.is_empty() {
        true => whole.to_owned(),
        false => format!("{whole}.{kept}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_exactly_or_refused() {
        let kes = Currency::from_code("KES").unwrap();
        let ugx = Currency::from_code("UGX").unwrap();
        let kwd = Currency::from_code("KWD").unwrap();
        for (text, decimal, currency, expected) in [
            ("1500", '.', kes, Some(150_000)),
            ("1,500.00", '.', kes, Some(150_000)),
            ("-1,500.50", '.', kes, Some(-150_050)),
            ("(1,500.50)", '.', kes, Some(-150_050)),
            ("1500.50-", '.', kes, Some(-150_050)),
            ("1.500,50", ',', kes, Some(150_050)),
            ("1500,", ',', kes, Some(150_000)),
            ("1 234 567.89", '.', kes, Some(123_456_789)),
            ("1500.5000", '.', kes, Some(150_050)),
            ("1500.00", '.', ugx, Some(1_500)),
            ("0.00", '.', kes, Some(0)),
            ("1,50", '.', kes, None),
            ("1500,50", '.', kes, None),
            ("1.500", ',', kes, Some(150_000)),
            ("15.00.00", '.', kes, None),
            ("1500.505", '.', kes, None),
            ("1.200", '.', kes, None),
            ("-15.000", '.', kes, None),
            ("1,200", ',', kes, None),
            ("150.000", '.', ugx, None),
            ("1500.500", '.', kes, Some(150_050)),
            ("0.500", '.', kes, Some(50)),
            ("1.200", '.', kwd, Some(1_200)),
            ("1500.50", '.', ugx, None),
            ("1e3", '.', kes, None),
            ("NaN", '.', kes, None),
            ("", '.', kes, None),
            ("-", '.', kes, None),
            ("--5", '.', kes, None),
            ("99999999999999999999", '.', kes, None),
        ] {
            assert_eq!(signed(text, decimal, currency).ok(), expected, "{text:?}");
        }
    }
}
