//! Instants in UTC, and the local format of the wire.

use std::fmt;
use std::time::Duration;

use jiff::tz::{TimeZone, TimeZoneDatabase};

/// An instant, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Reads the wall clock. Only the shells call it; everything else is told the time.
    #[must_use]
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_millisecond())
    }

    /// Wraps milliseconds since the epoch.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns milliseconds since the epoch.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads an instant of RFC 3339, such as `2026-12-01T08:00:00+03:00`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let instant: jiff::Timestamp = text.parse().ok()?;
        Some(Self(instant.as_millisecond()))
    }

    /// Returns the instant `duration` later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// Returns how much later this instant is than `earlier`; zero when it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// Displays ISO 8601 in UTC with milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

/// The time zone that `datePaymentReceived` is written in; the wire's format carries none (section 2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireZone(TimeZone);

impl WireZone {
    /// Looks up an IANA name such as `Africa/Nairobi`; `None` when there is no such zone.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        // The compiled-in data comes first: a date is written alike on every machine, and no folder is searched for it.
        let zone = TimeZoneDatabase::bundled().get(name);
        zone.or_else(|_| TimeZone::get(name)).ok().map(Self)
    }

    /// Returns `yyyy-mm-dd hh:mm:ss`.
    #[must_use]
    pub fn format(&self, instant: Timestamp) -> String {
        let local = self.0.to_datetime(
            jiff::Timestamp::from_millisecond(instant.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH),
        );
        // Written for every payment that leaves, and a formatter reads its pattern each time.
        let Ok(year @ 0..=9999) = u16::try_from(local.year()) else {
            return local.strftime("%Y-%m-%d %H:%M:%S").to_string();
        };
        let digit = |number: u16| char::from(b'0' + (number % 10) as u8);
        let mut text = String::with_capacity("2026-11-28 03:00:00".len());
        text.extend([digit(year / 1000), digit(year / 100)]);
        for (before, number) in [
            ("", year % 100),
            ("-", local.month().unsigned_abs().into()),
            ("-", local.day().unsigned_abs().into()),
            (" ", local.hour().unsigned_abs().into()),
            (":", local.minute().unsigned_abs().into()),
            (":", local.second().unsigned_abs().into()),
        ] {
            text.push_str(before);
            text.push(digit(number / 10));
            text.push(digit(number));
        }
        text
    }

    /// Returns `2026-11-28 03:00:00 EAT`, for a person: the time of this zone, and which zone that is.
    #[must_use]
    pub fn format_named(&self, instant: Timestamp) -> String {
        format!("{} {}", self.format(instant), self.abbreviation(instant))
    }

    /// Returns `03:00:00 EAT`.
    #[must_use]
    pub fn clock(&self, instant: Timestamp) -> String {
        self.format_named(instant).split_off("2026-11-28 ".len())
    }

    /// Returns the instant of a time of the calendar in this zone, as RFC 3339 with the offset of that time. Of a time that the clock
    /// passes twice the later one, of one that it leaves out the one behind the gap: what is to wait never leaves early.
    #[must_use]
    pub fn latest(&self, local: jiff::civil::DateTime) -> Option<String> {
        let zoned = self.0.to_ambiguous_zoned(local).later().ok()?;
        Some(zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }

    /// Returns the time of the calendar and the clock at an instant.
    #[must_use]
    pub fn local(&self, instant: Timestamp) -> jiff::civil::DateTime {
        self.0.to_datetime(
            jiff::Timestamp::from_millisecond(instant.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH),
        )
    }

    /// Returns the first instant at which the clock shows this; of a time that it leaves out the one before the gap.
    #[must_use]
    pub fn first_instant(&self, local: jiff::civil::DateTime) -> Option<Timestamp> {
        let zoned = self.0.to_ambiguous_zoned(local).earlier().ok()?;
        Some(Timestamp(zoned.timestamp().as_millisecond()))
    }

    /// Returns the last instant at which the clock shows this; of a time that it leaves out the one behind the gap.
    #[must_use]
    pub fn last_instant(&self, local: jiff::civil::DateTime) -> Option<Timestamp> {
        let zoned = self.0.to_ambiguous_zoned(local).later().ok()?;
        Some(Timestamp(zoned.timestamp().as_millisecond()))
    }

    fn abbreviation(&self, instant: Timestamp) -> String {
        let instant =
            jiff::Timestamp::from_millisecond(instant.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        self.0.to_offset_info(instant).abbreviation().to_owned()
    }

    /// Returns universal time.
    #[must_use]
    pub fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// Returns the zone's IANA name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wires_date_is_local_and_has_no_zone() {
        let zone = WireZone::from_name("Africa/Nairobi").unwrap();
        assert_eq!(
            zone.format(Timestamp::from_millis(1_795_824_000_000)),
            "2026-11-28 03:00:00"
        );
        assert_eq!(
            zone.clock(Timestamp::from_millis(1_795_824_000_000)),
            "03:00:00 EAT"
        );
        assert_eq!(
            WireZone::utc().format_named(Timestamp::from_millis(1_795_824_000_000)),
            "2026-11-28 00:00:00 UTC"
        );
        assert!(WireZone::from_name("Mars/Olympus").is_none());
        for (instant, year) in [(253_370_764_800_000, "9999"), (-62_167_219_200_000, "0000")] {
            let utc = WireZone::from_name("UTC").unwrap();
            assert!(
                utc.format(Timestamp::from_millis(instant))
                    .starts_with(year)
            );
        }
    }

    #[test]
    fn instants_print_in_utc() {
        assert_eq!(
            Timestamp::from_millis(1_795_824_000_007).to_string(),
            "2026-11-28T00:00:00.007Z"
        );
    }
}
