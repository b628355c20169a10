//! Money as integer minor units. No binary float touches an amount anywhere.

use std::collections::BTreeMap;
use std::fmt;

/// An ISO 4217 currency with its number of decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Currency(iso_currency::Currency);

impl Currency {
    /// Looks up a three-letter code such as `KES`; `None` for anything else.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        iso_currency::Currency::from_code(code).map(Self)
    }

    /// Returns what is paid with in a country: funds, and what was replaced by another currency, aside.
    #[must_use]
    pub fn of_country(country: super::Country) -> Vec<Self> {
        let Ok(country) = country.code().parse() else {
            return Vec::new();
        };
        iso_currency::Currency::from_country(country)
            .into_iter()
            .filter(|currency| currency.flags().is_empty())
            .map(Self)
            .collect()
    }

    /// Returns the three-letter code.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// Returns how many decimals the currency has: 2 for KES, 0 for UGX, 3 for BHD.
    #[must_use]
    pub fn exponent(self) -> u8 {
        // Currencies without a minor unit (gold, special drawing rights) are counted whole.
        self.0
            .exponent()
            .and_then(|exponent| u8::try_from(exponent).ok())
            .unwrap_or(0)
    }
}

impl PartialOrd for Currency {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Currency {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.code().cmp(other.code())
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Why a text is not an amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// The field is empty.
    #[error("is empty")]
    Empty,
    /// The text has characters other than digits and one point.
    #[error("expected digits and at most one decimal point")]
    NotANumber,
    /// A minus sign.
    #[error("must not be negative")]
    Negative,
    /// Nothing to pay.
    #[error("must be more than zero")]
    Zero,
    /// More decimals than the currency has.
    #[error("{currency} has {allowed} decimals, found {found}")]
    TooManyDecimals {
        /// The currency's code.
        currency: &'static str,
        /// The currency's exponent.
        allowed: u8,
        /// How many decimals the text has.
        found: usize,
    },
    /// The amount does not fit 63 bits of minor units.
    #[error("is larger than any amount this program can hold")]
    TooLarge,
}

/// An amount in minor units, always more than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i64);

impl Amount {
    /// Wraps minor units; `None` unless they are more than zero.
    #[must_use]
    pub fn from_minor(minor: i64) -> Option<Self> {
        (minor > 0).then_some(Self(minor))
    }

    /// Parses decimal digits such as `1500`, `1500.5` or `1500.50`.
    ///
    /// # Errors
    /// Signs, exponents, separators, blanks, zero, and more decimals than the currency has are refused.
    pub fn parse(text: &str, currency: Currency) -> Result<Self, AmountError> {
        match parse_minor(text, currency)? {
            0 => Err(AmountError::Zero),
            minor => Ok(Self(minor)),
        }
    }

    /// Parses decimal digits that may be zero: a balance, a fee.
    ///
    /// # Errors
    /// As [`Self::parse`], zero aside.
    pub fn parse_any(text: &str, currency: Currency) -> Result<i64, AmountError> {
        parse_minor(text, currency)
    }

    /// Returns the minor units.
    #[must_use]
    pub fn minor(self) -> i64 {
        self.0
    }
}

fn parse_minor(text: &str, currency: Currency) -> Result<i64, AmountError> {
    if text.is_empty() {
        return Err(AmountError::Empty);
    }
    if let Some(rest) = text.strip_prefix('-') {
        let negative = rest.starts_with(|c: char| c.is_ascii_digit());
        return Err(if negative {
            AmountError::Negative
        } else {
            AmountError::NotANumber
        });
    }
    let (whole, fraction) = match text.split_once('.') {
        Some((_, "")) => return Err(AmountError::NotANumber),
        Some(parts) => parts,
        None => (text, ""),
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(AmountError::NotANumber);
    }
    let exponent = usize::from(currency.exponent());
    if fraction.len() > exponent {
        return Err(AmountError::TooManyDecimals {
            currency: currency.code(),
            allowed: currency.exponent(),
            found: fraction.len(),
        });
    }
    let padding = std::iter::repeat_n(b'0', exponent - fraction.len());
    whole
        .bytes()
        .chain(fraction.bytes())
        .chain(padding)
        .try_fold(0_i64, |minor, digit| {
            minor.checked_mul(10)?.checked_add(i64::from(digit - b'0'))
        })
        .ok_or(AmountError::TooLarge)
}

/// An amount with its currency; displays the exact decimal digits, as the wire carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Money {
    /// The minor units.
    pub amount: Amount,
    /// Their currency.
    pub currency: Currency,
}

impl Money {
    /// Returns whether so many decimals write the amount exactly.
    #[must_use]
    pub fn fits_decimals(&self, decimals: u8) -> bool {
        let more = u32::from(self.currency.exponent().saturating_sub(decimals));
        self.amount.0 % 10_i64.pow(more) == 0
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, i128::from(self.amount.0), self.currency)
    }
}

fn write_decimal(out: &mut impl fmt::Write, minor: i128, currency: Currency) -> fmt::Result {
    let exponent = currency.exponent();
    if exponent == 0 {
        return write!(out, "{minor}");
    }
    // Nearly every amount fits; the division of 128 bits and the formatting machinery are slow, and a load writes a million.
    if let Ok(minor) = u64::try_from(minor) {
        return out.write_str(Digits::of(minor, usize::from(exponent)).as_str());
    }
    let width = usize::from(exponent);
    let unit = 10_i128.pow(u32::from(exponent));
    write!(out, "{}.{:0width$}", minor / unit, minor % unit)
}

/// Minor units as decimal digits, right-aligned.
struct Digits {
    text: [u8; 24],
    begin: usize,
}

impl Digits {
    /// Writes minor units with so many digits after the point, and at least one before it.
    fn of(mut minor: u64, decimals: usize) -> Self {
        let mut digits = Self {
            text: [b'0'; 24],
            begin: 24,
        };
        let mut written = 0;
        while minor > 0 || written <= decimals {
            if written == decimals {
                digits.push(b'.');
            }
            digits.push(b'0' + (minor % 10) as u8);
            minor /= 10;
            written += 1;
        }
        digits
    }

    fn push(&mut self, byte: u8) {
        self.begin -= 1;
        self.text[self.begin] = byte;
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[self.begin..]).unwrap_or_default()
    }
}

/// Sums per currency, in minor units. Currencies are never added to one another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals(BTreeMap<Currency, i128>);

impl Totals {
    /// Adds minor units of one currency.
    pub fn add_minor(&mut self, currency: Currency, minor: i128) {
        *self.0.entry(currency).or_default() += minor;
    }

    /// Adds an amount.
    pub fn add(&mut self, money: Money) {
        self.add_minor(money.currency, i128::from(money.amount.0));
    }

    /// Adds every currency of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (currency, minor) in &other.0 {
            self.add_minor(*currency, *minor);
        }
    }

    /// Returns the sum of one currency in minor units, 0 when there is none.
    #[must_use]
    pub fn minor(&self, currency: Currency) -> i128 {
        self.0.get(&currency).copied().unwrap_or(0)
    }

    /// Iterates over the currencies in the order of their codes, with minor units.
    pub fn iter(&self) -> impl Iterator<Item = (Currency, i128)> + '_ {
        self.0.iter().map(|(currency, minor)| (*currency, *minor))
    }

    /// Returns whether a sum is more than is counted anywhere: amounts and sums are kept in 64 bits.
    #[must_use]
    pub fn is_beyond_counting(&self) -> bool {
        self.iter().any(|(_, minor)| i64::try_from(minor).is_err())
    }

    /// Returns code and decimal digits of every currency: `("KES", "123.45")`.
    #[must_use]
    pub fn decimals(&self) -> BTreeMap<&'static str, String> {
        self.iter()
            .map(|(currency, minor)| (currency.code(), decimal(minor, currency)))
            .collect()
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        for (index, (currency, minor)) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{currency} ")?;
            write_decimal(f, minor, currency)?;
        }
        Ok(())
    }
}

fn decimal(minor: i128, currency: Currency) -> String {
    let mut text = String::new();
    write_decimal(&mut text, minor, currency).expect("writing to a String cannot fail");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn currency(code: &str) -> Currency {
        Currency::from_code(code).unwrap()
    }

    #[test]
    fn amounts_are_parsed_exactly_or_refused() {
        let cases: &[(&str, &str, Result<i64, AmountError>)] = &[
            ("KES", "1500", Ok(150_000)),
            ("KES", "1500.5", Ok(150_050)),
            ("KES", "1500.50", Ok(150_050)),
            ("KES", "0.01", Ok(1)),
            ("UGX", "1500", Ok(1_500)),
            ("BHD", "1.234", Ok(1_234)),
            ("KES", "", Err(AmountError::Empty)),
            ("KES", "0.00", Err(AmountError::Zero)),
            ("KES", "-5", Err(AmountError::Negative)),
            ("KES", "+5", Err(AmountError::NotANumber)),
            ("KES", "1e3", Err(AmountError::NotANumber)),
            ("KES", "NaN", Err(AmountError::NotANumber)),
            ("KES", "1,000", Err(AmountError::NotANumber)),
            ("KES", "5.", Err(AmountError::NotANumber)),
            ("KES", ".5", Err(AmountError::NotANumber)),
            ("KES", "1.2.3", Err(AmountError::NotANumber)),
            ("KES", " 5", Err(AmountError::NotANumber)),
            ("KES", "99999999999999999999", Err(AmountError::TooLarge)),
            (
                "KES",
                "10.005",
                Err(AmountError::TooManyDecimals {
                    currency: "KES",
                    allowed: 2,
                    found: 3,
                }),
            ),
            (
                "UGX",
                "10.0",
                Err(AmountError::TooManyDecimals {
                    currency: "UGX",
                    allowed: 0,
                    found: 1,
                }),
            ),
        ];
        for (code, text, expected) in cases {
            let found = Amount::parse(text, currency(code)).map(Amount::minor);
            assert_eq!(&found, expected, "{code} {text:?}");
        }
    }

    #[test]
    fn amounts_are_written_with_the_decimals_of_their_currency() {
        for (code, minor, written) in [
            ("KES", 1, "0.01"),
            ("KES", 10, "0.10"),
            ("KES", 99, "0.99"),
            ("KES", 100, "1.00"),
            ("KES", 5_226_278, "52262.78"),
            ("UGX", 1_500, "1500"),
            ("BHD", 1_234, "1.234"),
            ("BHD", 4, "0.004"),
            ("KES", i64::MAX, "92233720368547758.07"),
        ] {
            let amount = Amount::from_minor(minor).unwrap();
            let currency = currency(code);
            assert_eq!(Money { amount, currency }.to_string(), written);
            let mut totals = Totals::default();
            totals.add_minor(currency, i128::from(minor));
            totals.add_minor(currency, i128::from(u64::MAX));
            totals.add_minor(currency, -i128::from(u64::MAX));
            assert_eq!(totals.to_string(), format!("{code} {written}"));
        }
    }

    #[test]
    fn exponents_come_from_the_maintained_table() {
        for (code, exponent) in [
            ("KES", 2),
            ("TZS", 2),
            ("UGX", 0),
            ("RWF", 0),
            ("XAF", 0),
            ("BHD", 3),
        ] {
            assert_eq!(currency(code).exponent(), exponent, "{code}");
        }
    }

    proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(minor in 1_i64.., code in prop::sample::select(vec!["KES", "UGX", "BHD"])) {
            let currency = currency(code);
            let money = Money { amount: Amount::from_minor(minor).unwrap(), currency };
            prop_assert_eq!(Amount::parse(&money.to_string(), currency).unwrap().minor(), minor);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = Amount::parse(&text, currency("KES"));
        }
    }
}
