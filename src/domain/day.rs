//! Days of the calendar, as statements date what they show.

use std::fmt;

use super::{Timestamp, WireZone};

/// A day, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(i32);

impl Day {
    /// Wraps a number of days since 1970-01-01.
    #[must_use]
    pub fn from_number(number: i32) -> Self {
        Self(number)
    }

    /// Returns the number of days since 1970-01-01.
    #[must_use]
    pub fn number(self) -> i32 {
        self.0
    }

    /// Returns a day of the calendar; `None` when there is no such day.
    #[must_use]
    pub fn of_date(year: i16, month: i8, day: i8) -> Option<Self> {
        let date = jiff::civil::Date::new(year, month, day).ok()?;
        let epoch = jiff::civil::Date::constant(1970, 1, 1);
        Some(Self(date.since(epoch).ok()?.get_days()))
    }

    /// Returns the day of an instant in a zone.
    #[must_use]
    pub fn of(instant: Timestamp, zone: &WireZone) -> Self {
        let text = zone.format(instant);
        Self::parse(text.get(..10).unwrap_or_default()).unwrap_or_default()
    }

    /// Reads `2026-11-28`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let date: jiff::civil::Date = text.parse().ok()?;
        Self::of_date(date.year(), date.month(), date.day())
    }

    /// Reads a date by a pattern such as `%d/%m/%Y`; a time behind the date may be part of the pattern.
    #[must_use]
    pub fn parse_by(pattern: &str, text: &str) -> Option<Self> {
        let date = jiff::civil::Date::strptime(pattern, text).ok()?;
        Self::of_date(date.year(), date.month(), date.day())
    }

    /// Returns whether a pattern has day, month and year in it, so that a date is read by it as it was written.
    #[must_use]
    pub fn is_pattern(pattern: &str) -> bool {
        let probe = jiff::civil::datetime(2026, 11, 28, 14, 5, 6, 0);
        let written = jiff::fmt::strtime::format(pattern, probe);
        written.is_ok_and(|text| Self::parse_by(pattern, &text) == Self::of_date(2026, 11, 28))
    }

    /// Returns the day so many days later.
    #[must_use]
    pub fn later(self, days: i32) -> Self {
        Self(self.0.saturating_add(days))
    }
}

/// Displays `2026-11-28`.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use jiff::ToSpan;
        let epoch = jiff::civil::Date::constant(1970, 1, 1);
        match epoch.checked_add(i64::from(self.0).days()) {
            Ok(date) => write!(f, "{date}"),
            Err(_) => write!(f, "day {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_written_alike() {
        for text in ["1970-01-01", "2026-02-28", "2028-02-29", "1969-12-31"] {
            assert_eq!(Day::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Day::parse("1970-01-02"), Some(Day(1)));
        for wrong in ["", "2026-02-30", "28/11/2026", "2026-1-1"] {
            assert_eq!(Day::parse(wrong), None, "{wrong}");
        }
        let day = Day::parse("2026-11-28");
        assert_eq!(Day::parse_by("%d/%m/%Y", "28/11/2026"), day);
        assert_eq!(Day::parse_by("%d/%m/%Y %H:%M", "28/11/2026 14:05"), day);
        assert_eq!(Day::parse_by("%d/%m/%Y", "11/28/2026"), None);
        for (pattern, good) in [
            ("%d/%m/%Y", true),
            ("%d.%m.%y %H:%M", true),
            ("%d %b %Y %I:%M %p", true),
            ("%Y%m%d", true),
            ("%d/%m", false),
            ("", false),
            ("%Q", false),
            ("dd/mm/yyyy", false),
        ] {
            assert_eq!(Day::is_pattern(pattern), good, "{pattern}");
        }
    }

    #[test]
    fn the_day_is_that_of_the_zone() {
        let instant = Timestamp::from_millis(1_795_900_000_000);
        let nairobi = WireZone::from_name("Africa/Nairobi").unwrap();
        assert_eq!(Day::of(instant, &WireZone::utc()).to_string(), "2026-11-28");
        assert_eq!(Day::of(instant, &nairobi).to_string(), "2026-11-29");
    }
}
