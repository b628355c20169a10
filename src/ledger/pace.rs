//! How long a run keeps quiet before it sends anything: the rate of an account holds over all batches of a journal.
//!
//! Whoever ended in good order has noted since when nothing leaves, by the clock that nobody sets. Runs of a journal follow
//! one another, so that one note for an account of a gateway speaks of all that went before it.

use std::time::Duration;

use crate::domain::BootTime;

/// What is on record of the last departure to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Nothing ever left.
    Never,
    /// Nothing has left since.
    Since(BootTime),
    /// Something may have left at any time: a run was cut off.
    Unknown,
}

impl Last {
    /// Returns what two records say together: where one of them knows nothing, nothing is known.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Never, last) | (last, Self::Never) => last,
            (Self::Since(a), Self::Since(b)) => match (a.since(b), b.since(a)) {
                (Some(_), _) => Self::Since(a),
                (None, Some(_)) => Self::Since(b),
                // Of different starts of the machine: at most one of them can be compared with the present.
                (None, None) => Self::Unknown,
            },
        }
    }

    /// Returns how long nothing may leave from now on, so that no window of this length holds more than the rate.
    // Only what rests on the clock that nobody sets is proof that the time is over: the wall clock may have been set, and a
    // claimed block takes a while to leave.
    #[must_use]
    pub fn quiet(self, now: Option<BootTime>, window: Duration) -> Duration {
        match self {
            Self::Never => Duration::ZERO,
            Self::Unknown => planted!(ledger::quiet_when_unknown(window)),
            Self::Since(since) => {
                let rested = now.and_then(|now| now.since(since)).unwrap_or_default();
                window.saturating_sub(rested)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(1);

    fn at(millis: u64) -> BootTime {
        BootTime::from_parts(1, millis)
    }

    #[test]
    fn what_is_not_known_to_be_over_is_waited_for() {
        let now = Some(at(10_000));
        let other_start = BootTime::from_parts(2, 9_000);
        for (last, now, expected) in [
            (Last::Never, now, 0),
            (Last::Never, None, 0),
            (Last::Unknown, now, 1_000),
            (Last::Since(at(9_000)), now, 0),
            (Last::Since(at(9_400)), now, 400),
            (Last::Since(at(10_000)), now, 1_000),
            // Later than now: of a clock that is not this one.
            (Last::Since(at(10_001)), now, 1_000),
            (Last::Since(other_start), now, 1_000),
            (Last::Since(at(9_000)), None, 1_000),
        ] {
            let quiet = last.quiet(now, WINDOW);
            assert_eq!(quiet, Duration::from_millis(expected), "{last:?} {now:?}");
        }
    }

    #[test]
    fn of_several_records_the_one_that_knows_least_decides() {
        let other_start = Last::Since(BootTime::from_parts(2, 5));
        let (early, late) = (Last::Since(at(5)), Last::Since(at(9)));
        for (a, b, expected) in [
            (Last::Never, Last::Never, Last::Never),
            (Last::Never, early, early),
            (early, late, late),
            (early, early, early),
            (early, Last::Unknown, Last::Unknown),
            (Last::Never, Last::Unknown, Last::Unknown),
            (early, other_start, Last::Unknown),
        ] {
            assert_eq!(a.and(b), expected, "{a:?} {b:?}");
            assert_eq!(b.and(a), expected, "{b:?} {a:?}");
        }
    }
}
