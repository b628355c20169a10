//! Payments per second.

use std::fmt;
use std::num::NonZeroU32;

use super::typed::{Value, digits};

/// A whole number of payments per second, from 1 to 1,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(NonZeroU32);

const PER_SECOND_MAX: u64 = 1_000_000;

impl Rate {
    /// Reads `50/s`, `50`, or `3000/m` where the minute's number is a multiple of 60.
    ///
    /// # Errors
    /// Says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (count, unit) = text.split_once('/').unwrap_or((text, "s"));
        let expected =
            || format!(r#"a rate from 1/s to {PER_SECOND_MAX}/s, such as "50/s" or "3000/m""#);
        let count = digits(count).ok_or_else(expected)?;
        let per_second = match unit {
            "s" => count,
            "m" if count.is_multiple_of(60) => count / 60,
            "m" => return Err("a rate per minute that is a multiple of 60".to_owned()),
            _ => return Err(expected()),
        };
        u32::try_from(per_second.min(PER_SECOND_MAX + 1))
            .ok()
            .filter(|rate| u64::from(*rate) <= PER_SECOND_MAX)
            .and_then(NonZeroU32::new)
            .map(Self)
            .ok_or_else(expected)
    }

    /// Returns how many payments a second.
    #[must_use]
    pub fn per_second(self) -> NonZeroU32 {
        self.0
    }
}

impl Value for Rate {
    fn read(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}
