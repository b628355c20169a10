//! The time before which a row is not to be posted.

use jiff::civil::Date;

use super::super::columns::{ColumnMap, Field};
use super::super::record::Record;
use super::findings::Findings;
use crate::domain::{NOT_BEFORE, Timestamp, WireZone};

const EXPECTED: &str = "expected a day such as 2026-12-01, which begins at midnight in the profile's time zone, or a time with its offset such as \
     2026-12-01T08:00:00+03:00";

/// Without a zone nobody can say when a day begins.
const EXPECTED_OFFSET: &str = "expected a time with its offset such as 2026-12-01T08:00:00+03:00: the profile names no time_zone in which a day \
     would begin";

/// The years that a time may be in: another one is a slip of a finger, and would wait for ever.
const YEARS: std::ops::RangeInclusive<i16> = 1970..=2199;

/// Returns the member that carries it, beside those of `extraData`.
pub(super) fn check(
    layout: &ColumnMap,
    record: &Record,
    zone: Option<&WireZone>,
    found: &mut Findings,
) -> Option<(String, String)> {
    let cell = layout.cell(record, Field::NotBefore);
    if cell.is_empty() {
        return None;
    }
    match kept(cell, zone) {
        Some(text) => Some((NOT_BEFORE.to_owned(), text)),
        None => {
            found.cell(Field::NotBefore, expected(zone), cell);
            None
        }
    }
}

/// Says what a time looks like.
#[must_use]
pub fn expected(zone: Option<&WireZone>) -> &'static str {
    match zone {
        Some(_) => EXPECTED,
        None => EXPECTED_OFFSET,
    }
}

/// Returns the time as it is kept, with its offset: whatever zone the profile has when the row is read back, it is the same time.
#[must_use]
pub fn kept(cell: &str, zone: Option<&WireZone>) -> Option<String> {
    let date = Date::strptime("%Y-%m-%d", cell.get(..10)?).ok()?;
    // One that reads day and month the other way round, or takes fewer digits, is not let through.
    if date.strftime("%Y-%m-%d").to_string() != cell[..10] || !YEARS.contains(&date.year()) {
        return None;
    }
    if cell.len() == 10 {
        return zone?.latest(date.at(0, 0, 0, 0));
    }
    let rest = cell[10..].strip_prefix('T')?;
    let is_plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'+' | b'-');
    let bare = rest.strip_suffix('Z');
    let has_offset = bare.is_some() || rest.contains(['+', '-']);
    if !bare.unwrap_or(rest).bytes().all(is_plain) {
        return None;
    }
    if has_offset {
        Timestamp::parse(cell)?;
        return is_offset(rest).then(|| cell.to_owned());
    }
    // A message may write a time of the calendar alone.
    zone?.latest(cell.parse().ok()?)
}

/// The clocks of the world are at most 14 hours away from universal time.
const OFFSET_HOURS_MAX: u32 = 14;

fn is_offset(time: &str) -> bool {
    let Some(at) = time.rfind(['+', '-']) else {
        return true;
    };
    let hours = time[at + 1..].split(':').next().unwrap_or_default();
    hours.len() == 2
        && hours
            .parse()
            .is_ok_and(|hours: u32| hours <= OFFSET_HOURS_MAX)
}

#[cfg(test)]
mod tests {
    use super::kept;
    use crate::domain::WireZone;

    #[test]
    fn a_day_begins_at_midnight_in_the_zone_and_a_time_has_its_offset() {
        let nairobi = WireZone::from_name("Africa/Nairobi").unwrap();
        for (cell, expected) in [
            ("2026-12-01", Some("2026-12-01T00:00:00+03:00")),
            ("2026-12-01T08:00:00Z", Some("2026-12-01T08:00:00Z")),
            (
                "2026-12-01T08:00:00+03:00",
                Some("2026-12-01T08:00:00+03:00"),
            ),
            (
                "2026-12-01T08:00:00.5-05:00",
                Some("2026-12-01T08:00:00.5-05:00"),
            ),
            ("2026-12-01T08:00:00", Some("2026-12-01T08:00:00+03:00")),
            ("2026-02-29", None),
            ("2026-12-01+03:00", None),
            ("2026-12-01 08:00:00", None),
            ("2026-12-01T08:00:00 Africa/Nairobi", None),
            ("2026-12-01T08:00:00+03:00[Africa/Nairobi]", None),
            ("2026-12-01T24:00:00Z", None),
            ("2026-12-01T08:00:00+25:00", None),
            (
                "2026-12-01T08:00:00+14:00",
                Some("2026-12-01T08:00:00+14:00"),
            ),
            ("2026-12-01T08:00:00+0300", None),
            ("01/12/2026", None),
            ("01-12-2026", None),
            ("2026-1-1", None),
            ("3026-12-01", None),
            ("46357", None),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(kept(cell, Some(&nairobi)).as_deref(), expected, "{cell}");
        }
    }

    #[test]
    fn without_a_zone_a_time_names_its_offset() {
        assert_eq!(kept("2026-12-01", None), None);
        assert_eq!(kept("2026-12-01T08:00:00", None), None);
        assert!(kept("2026-12-01T08:00:00Z", None).is_some());
    }

    #[test]
    fn a_day_whose_midnight_is_left_out_or_passed_twice_never_begins_early() {
        // In Beirut the clock goes from midnight to one on the last Sunday of March.
        let beirut = WireZone::from_name("Asia/Beirut").unwrap();
        assert_eq!(
            kept("2024-03-31", Some(&beirut)).as_deref(),
            Some("2024-03-31T01:00:00+03:00")
        );
        // In Havana it goes back from one to midnight.
        let havana = WireZone::from_name("America/Havana").unwrap();
        assert_eq!(
            kept("2024-11-03", Some(&havana)).as_deref(),
            Some("2024-11-03T00:00:00-05:00")
        );
    }
}
