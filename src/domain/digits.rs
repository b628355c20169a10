//! Amounts and counts in decimal digits, as a person reads them.

use super::Currency;

/// Returns minor units of a currency in its major unit, with a sign when negative: `-1234.50`.
#[must_use]
pub fn decimal(minor: i128, currency: Currency) -> String {
    let sign = if minor < 0 { "-" } else { "" };
    let digits = minor.unsigned_abs();
    let exponent = usize::from(currency.exponent());
    if exponent == 0 {
        return format!("{sign}{digits}");
    }
    let unit = 10_u128.pow(u32::from(currency.exponent()));
    format!("{sign}{}.{:0exponent$}", digits / unit, digits % unit)
}

/// Puts a comma after every third digit of the whole part: `-1234567.80` becomes `-1,234,567.80`.
#[must_use]
pub fn grouped(decimal: &str) -> String {
    let (sign, digits) = match decimal.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", decimal),
    };
    let (whole, fraction) = digits
        .find('.')
        .map_or((digits, ""), |point| digits.split_at(point));
    let mut text = String::with_capacity(decimal.len() + whole.len() / 3);
    text.push_str(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text.push_str(fraction);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_units_are_written_in_the_major_unit_of_their_currency() {
        for (minor, code, written) in [
            (0, "KES", "0.00"),
            (5, "KES", "0.05"),
            (-5, "KES", "-0.05"),
            (123_456, "KES", "1234.56"),
            (-123_456, "UGX", "-123456"),
            (1_234, "KWD", "1.234"),
            (i128::MIN, "UGX", "-170141183460469231731687303715884105728"),
        ] {
            let currency = Currency::from_code(code).unwrap();
            assert_eq!(decimal(minor, currency), written);
        }
    }

    #[test]
    fn digits_are_grouped_by_three_from_the_point_on() {
        for (text, written) in [
            ("", ""),
            ("0", "0"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-999.5", "-999.5"),
            ("-123456", "-123,456"),
            ("-1234567.80", "-1,234,567.80"),
            ("12345.6789", "12,345.6789"),
        ] {
            assert_eq!(grouped(text), written);
        }
    }
}
