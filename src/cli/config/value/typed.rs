//! Texts of the configuration as typed values.

use std::time::Duration;

/// A typed value that a key's text stands for.
pub(in crate::cli::config) trait Value: Sized {
    /// Reads the text, or says what was expected.
    fn read(text: &str) -> Result<Self, String>;
}

/// Reads decimal digits alone: no sign, blank or separator.
pub(in crate::cli::config) fn digits(text: &str) -> Option<u64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// Reads numbers with units, the largest unit first.
pub(in crate::cli::config) fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut millis = 0_u64;
    let mut unit_before = u64::MAX;
    loop {
        let (count, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let unit_length = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_length);
        let unit = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        if unit >= unit_before {
            return None;
        }
        millis = millis.checked_add(digits(count)?.checked_mul(unit)?)?;
        if tail.is_empty() {
            return Some(Duration::from_millis(millis));
        }
        (rest, unit_before) = (tail, unit);
    }
}
