//! Numbers and instants as the files show them, written without a detour: there are a million of each.

use std::fmt::Write as _;

use crate::domain::{Money, Timestamp};

const DAY_MS: i64 = 86_400_000;

/// Appends decimal digits.
pub(in crate::report) fn push_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = digit(rest % 10);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends decimal digits, with a sign when the number is negative.
pub(in crate::report) fn push_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_number(out, number.unsigned_abs());
}

fn digit(number: u64) -> u8 {
    // Less than ten.
    b'0' + number as u8
}

/// Replaces a text by an amount, as its own `Display` writes it.
pub(in crate::report) fn write_money(text: &mut String, money: Money) {
    text.clear();
    let exponent = u32::from(money.currency.exponent());
    let (minor, unit) = (
        money.amount.minor().unsigned_abs(),
        10_u64.checked_pow(exponent),
    );
    let mut bytes = std::mem::take(text).into_bytes();
    match unit {
        Some(unit) => {
            push_number(&mut bytes, minor / unit);
            if exponent > 0 {
                bytes.push(b'.');
                let mut unit = unit;
                let mut rest = minor % unit;
                while unit > 1 {
                    unit /= 10;
                    bytes.push(digit(rest / unit));
                    rest %= unit;
                }
            }
        }
        None => bytes.extend_from_slice(money.to_string().as_bytes()),
    }
    *text = String::from_utf8(bytes).expect("digits and points are ASCII");
}

/// Writes instants; the date of the last one is kept, for most fall on the same day.
#[derive(Default)]
pub(in crate::report) struct Instants {
    day: Option<i64>,
    /// `2026-11-28T`.
    date: String,
}

impl Instants {
    /// Replaces a text by an instant, as its own `Display` writes it; by nothing when there is none.
    pub(in crate::report) fn write(&mut self, text: &mut String, instant: Option<Timestamp>) {
        text.clear();
        let Some(instant) = instant else {
            return;
        };
        let (day, rest) = (
            instant.as_millis().div_euclid(DAY_MS),
            instant.as_millis().rem_euclid(DAY_MS).unsigned_abs(),
        );
        if self.day != Some(day) {
            write!(text, "{instant}").expect("writing to a String cannot fail");
            // Years of more than four digits, and instants that no calendar has, are written in full each time.
            let is_common = text.len() == 24 && text.as_bytes()[10] == b'T';
            self.day = is_common.then_some(day);
            if is_common {
                self.date.clear();
                self.date.push_str(&text[..11]);
            }
            return;
        }
        text.push_str(&self.date);
        let (seconds, millis) = (rest / 1000, rest % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        for (number, end) in [(hour, ':'), (minute, ':'), (second, '.')] {
            text.push(char::from(digit(number / 10)));
            text.push(char::from(digit(number % 10)));
            text.push(end);
        }
        for number in [millis / 100, millis / 10 % 10, millis % 10] {
            text.push(char::from(digit(number)));
        }
        text.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Amount, Currency};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn instants_are_written_as_they_display(around in any::<i64>(), steps in prop::collection::vec(-100_000_000_i64..100_000_000, 1..20)) {
            let (mut instants, mut text) = (Instants::default(), String::new());
            for begin in [around, around % 253_402_300_800_000, 1_795_824_000_000] {
                for step in &steps {
                    let at = Timestamp::from_millis(begin.saturating_add(*step));
                    instants.write(&mut text, Some(at));
                    prop_assert_eq!(&text, &at.to_string());
                }
            }
        }

        #[test]
        fn amounts_are_written_as_they_display(minor in 1..=i64::MAX, few in 1_i64..100_000) {
            let mut text = String::new();
            for code in ["KES", "UGX", "BHD", "XAU", "UYW"] {
                let Some(currency) = Currency::from_code(code) else { continue };
                for minor in [minor, few] {
                    let money = Money { amount: Amount::from_minor(minor).unwrap(), currency };
                    write_money(&mut text, money);
                    prop_assert_eq!(&text, &money.to_string());
                }
            }
        }

        #[test]
        fn numbers_are_written_as_they_display(number in any::<i64>(), few in -1000_i64..1000) {
            for number in [number, few, i64::MIN, 0] {
                let mut out = Vec::new();
                push_signed(&mut out, number);
                prop_assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
            }
        }
    }

    #[test]
    fn no_instant_is_no_text() {
        let mut text = "before".to_owned();
        Instants::default().write(&mut text, None);
        assert_eq!(text, "");
    }
}
