//! Payments per second, as they are written.

use super::typed::{Value, digits};
use crate::domain::Rate;

const PER_SECOND_MAX: u64 = 1_000_000;

impl Value for Rate {
    /// Reads `50/s`, `50`, or `3000/m` where the minute's number is a multiple of 60; at most 1,000,000 per second.
    fn read(text: &str) -> Result<Self, String> {
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
        u32::try_from(per_second)
            .ok()
            .filter(|rate| u64::from(*rate) <= PER_SECOND_MAX)
            .and_then(Self::per_second)
            .ok_or_else(expected)
    }
}
