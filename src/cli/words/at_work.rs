//! Who is at work on a journal while somebody looks.

use crate::domain::{BatchName, Timestamp, WireZone};
use crate::journal::{Location, holder};

/// What stands before the time in the name of whoever is at work.
const SINCE: &str = ", since ";

/// Returns who is at work, with the time as a person of this zone is told it.
fn told(who: &str, zone: &WireZone) -> String {
    let Some((who, at)) = who.rsplit_once(SINCE) else {
        return who.to_owned();
    };
    let at = Timestamp::parse(at).map_or_else(|| at.to_owned(), |at| zone.format_named(at));
    format!("{who}{SINCE}{at}")
}

/// Returns whether a run of this very batch is meant.
fn is_run_of(who: &str, batch: &BatchName) -> bool {
    let who = who.rsplit_once(SINCE).map_or(who, |(who, _)| who);
    who.ends_with(&format!(", run of batch {batch}"))
}

/// Whoever is at work on a journal.
pub(in crate::cli) struct AtWork {
    /// Who, and since when.
    pub(in crate::cli) who: String,
    /// It is a run of the batch that was asked about.
    pub(in crate::cli) runs_it: bool,
}

/// Returns who is at work on a journal; `None`: nobody is.
pub(in crate::cli) fn at_work(
    journal: &Location,
    batch: &BatchName,
    zone: &WireZone,
) -> Option<AtWork> {
    let who = holder(journal)?;
    Some(AtWork {
        runs_it: is_run_of(&who, batch),
        who: told(&who, zone),
    })
}

/// Returns whether a run of this batch is at work.
pub(in crate::cli) fn runs(journal: &Location, batch: &BatchName) -> bool {
    holder(journal).is_some_and(|who| is_run_of(&who, batch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_another_batch_is_none_of_this_one_and_times_are_told_in_the_zone_of_the_reader() {
        let nairobi = WireZone::from_name("Africa/Nairobi").unwrap();
        let batch = BatchName::parse("june").unwrap();
        for (who, expected, runs) in [
            (
                "process 7, run of batch june, since 2026-11-26T09:04:48.123Z",
                "process 7, run of batch june, since 2026-11-26 12:04:48 EAT",
                true,
            ),
            (
                "process 7, run of batch old-june, since 2026-11-26T09:04:48.123Z",
                "process 7, run of batch old-june, since 2026-11-26 12:04:48 EAT",
                false,
            ),
            (
                "process 7, load of batch june, since x",
                "process 7, load of batch june, since x",
                false,
            ),
            ("another process", "another process", false),
        ] {
            assert_eq!(told(who, &nairobi), expected);
            assert_eq!(is_run_of(who, &batch), runs, "{who}");
        }
    }
}
