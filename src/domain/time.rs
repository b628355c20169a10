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
#[derive(Clone, Debug)]
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
        jiff::Timestamp::from_millisecond(instant.0)
            .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
            .to_zoned(self.0.clone())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string()
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
        assert!(WireZone::from_name("Mars/Olympus").is_none());
    }

    #[test]
    fn instants_print_in_utc() {
        assert_eq!(
            Timestamp::from_millis(1_795_824_000_007).to_string(),
            "2026-11-28T00:00:00.007Z"
        );
    }
}
