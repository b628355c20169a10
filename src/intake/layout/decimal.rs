//! Decimal numbers as files write them, exactly: no step through binary fractions.

use std::fmt;

/// The most digits that a number may have.
const DIGITS_MAX: usize = 30;

/// How a file writes numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Numbers {
    /// What stands in front of the decimals, a point or a comma; a point where nothing is said.
    pub decimal: Option<char>,
    /// What stands between groups of digits; nothing where nothing is said.
    pub group: Option<char>,
}

impl Numbers {
    /// The signs that may stand in front of the decimals.
    pub const DECIMALS: [char; 2] = ['.', ','];
    /// The signs that may stand between groups.
    pub const GROUPS: [char; 4] = ['.', ',', ' ', '\''];

    /// Returns whether a number is written as ours are, so that its text can be taken as it stands.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.decimal.is_none() && self.group.is_none()
    }

    /// Returns an example of a number.
    #[must_use]
    pub fn example(&self) -> String {
        let group = self.group.map(String::from).unwrap_or_default();
        format!("1{group}500{}50", self.decimal.unwrap_or('.'))
    }

    /// Returns what stands between the groups of digits of a number that has a decimal point or several groups, and the number; `None` where
    /// nothing does, or it could be a decimal sign.
    #[must_use]
    pub fn group_of(text: &str) -> Option<(char, Decimal)> {
        let groups = Self::GROUPS.into_iter().filter(|group| *group != '.');
        let mut found = groups.filter_map(|group| {
            let numbers = Self {
                decimal: Some('.'),
                group: Some(group),
            };
            let count = text.chars().filter(|c| numbers.is_group(*c)).count();
            let is_one_sign = count == 0 || count == 1 && !text.contains('.');
            let amount = Decimal::read(text, numbers).filter(|_| !is_one_sign)?;
            Some((group, amount))
        });
        found.next()
    }

    /// Returns the name of a sign between groups.
    #[must_use]
    pub fn name_of(group: char) -> &'static str {
        match group {
            ',' => "commas",
            ' ' => "blanks",
            '\'' => "apostrophes",
            _ => "points",
        }
    }

    fn is_group(self, c: char) -> bool {
        match self.group {
            Some(' ') => matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}'),
            Some('\'') => matches!(c, '\'' | '\u{2019}'),
            Some(group) => c == group,
            None => false,
        }
    }
}

/// A decimal number: `digits` divided by ten to the power of `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    digits: i128,
    scale: u32,
}

impl Decimal {
    /// Nothing.
    pub const ZERO: Self = Self {
        digits: 0,
        scale: 0,
    };

    /// Reads a number; `None` where it is not written so.
    #[must_use]
    pub fn read(text: &str, numbers: Numbers) -> Option<Self> {
        let text = text.trim();
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let decimal = numbers.decimal.unwrap_or('.');
        let (whole, fraction) = match text.split_once(decimal) {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (text, ""),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let whole = ungrouped(whole, numbers)?;
        let all = format!("{whole}{fraction}");
        if all.len() > DIGITS_MAX || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits: i128 = all.parse().ok()?;
        Some(Self {
            digits: if is_negative { -digits } else { digits },
            scale: u32::try_from(fraction.len()).ok()?,
        })
    }

    /// Returns whether it is nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// Returns whether it is more than nothing.
    #[must_use]
    pub fn is_positive(self) -> bool {
        self.digits > 0
    }

    /// Returns the product, without zeros behind its last decimal; `None` where it is beyond counting.
    #[must_use]
    pub fn times(self, other: Self) -> Option<Self> {
        let mut product = Self {
            digits: self.digits.checked_mul(other.digits)?,
            scale: self.scale + other.scale,
        };
        while product.scale > 0 && product.digits % 10 == 0 {
            product.digits /= 10;
            product.scale -= 1;
        }
        Some(product)
    }

    /// Returns the sum; `None` where it is beyond counting.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        Some(Self {
            digits: self.at(scale)?.checked_add(other.at(scale)?)?,
            scale,
        })
    }

    /// Returns whether two numbers have the same value.
    #[must_use]
    pub fn equals(self, other: Self) -> bool {
        let scale = self.scale.max(other.scale);
        let both = self.at(scale).zip(other.at(scale));
        both.is_some_and(|(one, other)| one == other)
    }

    fn at(self, scale: u32) -> Option<i128> {
        let more = 10_i128.checked_pow(scale - self.scale)?;
        self.digits.checked_mul(more)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let scale = self.scale as usize;
        let all = format!("{:0>width$}", self.digits.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = all.split_at(all.len() - scale);
        match fraction {
            "" => write!(f, "{sign}{whole}"),
            fraction => write!(f, "{sign}{whole}.{fraction}"),
        }
    }
}

/// Returns the digits without what stands between their groups: of three, and in India of two in front of the last three.
fn ungrouped(whole: &str, numbers: Numbers) -> Option<String> {
    let groups: Vec<&str> = whole.split(|c| numbers.is_group(c)).collect();
    let [first, middle @ .., last] = groups.as_slice() else {
        return Some(whole.to_owned());
    };
    let all_of = |length: usize| middle.iter().all(|group| group.len() == length);
    let is_grouped = last.len() == 3
        && (all_of(3) && (1..=3).contains(&first.len())
            || all_of(2) && (1..=2).contains(&first.len()));
    is_grouped.then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_between_groups_is_named_where_it_can_be_nothing_else() {
        for (text, expected) in [
            ("45,000.50", Some((',', "45000.50"))),
            ("1,234,567", Some((',', "1234567"))),
            ("1 234.50", Some((' ', "1234.50"))),
            ("1\u{a0}234 567", Some((' ', "1234567"))),
            ("1'234.50", Some(('\'', "1234.50"))),
            // Decimals, perhaps.
            ("5,000", None),
            ("5,00", None),
            ("45.000,50", None),
            ("4,5000.50", None),
            ("45000.50", None),
            ("45000", None),
            ("", None),
            ("1 234,567.50", None),
        ] {
            let found = Numbers::group_of(text);
            let expected = expected.map(|(group, amount)| (group, amount.to_owned()));
            let found = found.map(|(group, amount)| (group, amount.to_string()));
            assert_eq!(found, expected, "{text}");
        }
    }

    fn numbers(decimal: char, group: Option<char>) -> Numbers {
        Numbers {
            decimal: Some(decimal),
            group,
        }
    }

    #[test]
    fn numbers_are_read_as_they_are_said_to_be_written_and_in_no_other_way() {
        let point = numbers('.', Some(','));
        let comma = numbers(',', Some('.'));
        let blank = numbers(',', Some(' '));
        let plain = Numbers::default();
        for (text, how, expected) in [
            ("1500.50", plain, Some("1500.50")),
            ("1500", plain, Some("1500")),
            (".1", plain, Some("0.1")),
            ("-5.00", plain, Some("-5.00")),
            ("1,500.50", plain, None),
            ("1500.", plain, None),
            (".", plain, None),
            ("", plain, None),
            ("1,500.50", point, Some("1500.50")),
            ("12,34,567.89", point, Some("1234567.89")),
            ("1,234,567", point, Some("1234567")),
            ("1,50", point, None),
            ("1500,50", point, None),
            (",500", point, None),
            ("1,,500", point, None),
            ("1.500,50", comma, Some("1500.50")),
            ("1500,5", comma, Some("1500.5")),
            ("1.500", comma, Some("1500")),
            ("1500.50", comma, None),
            ("1.5", comma, None),
            ("1 500,50", blank, Some("1500.50")),
            ("1\u{a0}500,50", blank, Some("1500.50")),
            ("1.5E+03", plain, None),
            ("NaN", plain, None),
            ("KES 5", plain, None),
            (
                "999999999999999999999999999999",
                plain,
                Some("999999999999999999999999999999"),
            ),
            ("9999999999999999999999999999990", plain, None),
        ] {
            let found = Decimal::read(text, how).map(|number| number.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn products_and_sums_are_exact() {
        let read = |text: &str| Decimal::read(text, Numbers::default()).unwrap();
        for (one, other, product) in [
            ("150050", "0.01", "1500.5"),
            ("3", "1500.00", "4500"),
            ("0.1", "0.2", "0.02"),
            ("1.005", "100", "100.5"),
            ("0.333", "10.01", "3.33333"),
            ("0", "0.01", "0"),
        ] {
            let found = read(one).times(read(other)).unwrap();
            assert_eq!(found.to_string(), product, "{one} × {other}");
        }
        let sum = ["0.1", "0.2", "1500"]
            .iter()
            .try_fold(Decimal::ZERO, |sum, text| sum.plus(read(text)));
        assert_eq!(sum.unwrap().to_string(), "1500.3");
        assert!(read("1500.30").equals(sum.unwrap()));
        assert!(!read("1500.31").equals(sum.unwrap()));
        let huge = read("999999999999999999999999999999");
        assert_eq!(huge.times(huge), None);
    }
}
