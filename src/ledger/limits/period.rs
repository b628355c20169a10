//! The day and the month in which a payment counts.

use crate::domain::{Day, Timestamp, WireZone};

/// The day and the month of an instant in a zone, and when the next ones begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The day.
    pub day: Day,
    /// The first day of its month.
    pub month_from: Day,
    /// The last day of its month.
    pub month_to: Day,
    /// When the next day begins.
    pub next_day: Timestamp,
    /// When the next month begins.
    pub next_month: Timestamp,
}

impl Period {
    /// Returns the day and the month of `now`.
    #[must_use]
    pub fn of(now: Timestamp, zone: &WireZone) -> Self {
        let day = Day::of(now, zone);
        let (year, month) = year_and_month(day);
        let month_from = Day::of_date(year, month, 1).unwrap_or(day);
        let next = match month {
            12 => Day::of_date(year.saturating_add(1), 1, 1),
            _ => Day::of_date(year, month + 1, 1),
        };
        let next = next.unwrap_or(day.later(1));
        Self {
            day,
            month_from,
            month_to: next.later(-1),
            next_day: begin_of(day.later(1), zone, now),
            next_month: begin_of(next, zone, now),
        }
    }
}

fn year_and_month(day: Day) -> (i16, i8) {
    let text = day.to_string();
    let date: Option<jiff::civil::Date> = text.parse().ok();
    date.map_or((1970, 1), |date| (date.year(), date.month()))
}

/// Returns when a day begins; never earlier than just after `now`, so that nobody comes back at once.
fn begin_of(day: Day, zone: &WireZone, now: Timestamp) -> Timestamp {
    let date: Option<jiff::civil::Date> = day.to_string().parse().ok();
    let begin = date
        .and_then(|date| zone.latest(date.at(0, 0, 0, 0)))
        .and_then(|text| Timestamp::parse(&text));
    let soonest = Timestamp::from_millis(now.as_millis().saturating_add(1));
    begin.unwrap_or(soonest).max(soonest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_months_are_those_of_the_zone() {
        for (zone, now, day, month, next_day, next_month) in [
            (
                "Africa/Nairobi",
                "2026-11-25T20:59:59Z",
                "2026-11-25",
                ("2026-11-01", "2026-11-30"),
                "2026-11-25T21:00:00Z",
                "2026-11-30T21:00:00Z",
            ),
            (
                "Africa/Nairobi",
                "2026-11-25T21:00:00Z",
                "2026-11-26",
                ("2026-11-01", "2026-11-30"),
                "2026-11-26T21:00:00Z",
                "2026-11-30T21:00:00Z",
            ),
            (
                "UTC",
                "2026-12-31T23:00:00Z",
                "2026-12-31",
                ("2026-12-01", "2026-12-31"),
                "2027-01-01T00:00:00Z",
                "2027-01-01T00:00:00Z",
            ),
            (
                "UTC",
                "2028-02-10T00:00:00Z",
                "2028-02-10",
                ("2028-02-01", "2028-02-29"),
                "2028-02-11T00:00:00Z",
                "2028-03-01T00:00:00Z",
            ),
            // A day of 23 hours and one of 25.
            (
                "Europe/Berlin",
                "2026-03-29T10:00:00Z",
                "2026-03-29",
                ("2026-03-01", "2026-03-31"),
                "2026-03-29T22:00:00Z",
                "2026-03-31T22:00:00Z",
            ),
            (
                "Europe/Berlin",
                "2026-10-25T10:00:00Z",
                "2026-10-25",
                ("2026-10-01", "2026-10-31"),
                "2026-10-25T23:00:00Z",
                "2026-10-31T23:00:00Z",
            ),
        ] {
            let at = |text: &str| Timestamp::parse(text).unwrap();
            let zone = WireZone::from_name(zone).unwrap();
            let found = Period::of(at(now), &zone);
            let expected = Period {
                day: Day::parse(day).unwrap(),
                month_from: Day::parse(month.0).unwrap(),
                month_to: Day::parse(month.1).unwrap(),
                next_day: at(next_day),
                next_month: at(next_month),
            };
            assert_eq!(found, expected, "{now}");
        }
    }
}
