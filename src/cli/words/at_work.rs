//! Who is at work on a journal while somebody looks.

use serde_json::{Value, json};

use crate::cli::Error;
use crate::domain::{BatchName, Timestamp, WireZone};
use crate::journal::{Location, RunnerRecord, Snapshot, holder};

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
pub(in crate::cli) fn runs(
    journal: &Location,
    snapshot: &Snapshot<'_>,
    batch: &BatchName,
) -> Result<bool, Error> {
    if journal.file().is_none() {
        return Ok(!snapshot.runners()?.is_empty());
    }
    Ok(holder(journal).is_some_and(|who| is_run_of(&who, batch)))
}

/// Says who runs a batch on a journal that several runs share, a line for each.
pub(in crate::cli) fn runner_texts(runners: &[RunnerRecord], zone: &WireZone) -> Vec<String> {
    let text = |record: &RunnerRecord| {
        let payments = match record.under_way {
            1 => "1 payment".to_owned(),
            many => format!("{many} payments"),
        };
        let lease = match record.is_expired {
            true => format!(
                "killed, cut off, or its commits wait for a standby: not heard from since its lease ended at {}",
                zone.clock(record.lease_until)
            ),
            false => format!("lease until {}", zone.clock(record.lease_until)),
        };
        format!(
            "run {} on {}, since {}: {payments} claimed, {lease}, its own limit {}/s",
            record.runner.name,
            record.runner.host,
            zone.format_named(record.began_at),
            record.runner.rate
        )
    };
    runners.iter().map(text).collect()
}

/// Returns how many payments a second all runs of a batch post together at the most: the least limit holds. `None` when nobody is at work.
pub(in crate::cli) fn shared_rate(runners: &[RunnerRecord]) -> Option<u32> {
    let at_work = runners.iter().filter(|record| !record.is_expired);
    at_work.map(|record| record.runner.rate).min()
}

/// The same for programs.
pub(in crate::cli) fn runners_json(runners: &[RunnerRecord]) -> Value {
    let one = |record: &RunnerRecord| {
        json!({
            "runner": record.runner.name,
            "host": record.runner.host,
            "release": record.release,
            "since": record.began_at.to_string(),
            "lease_until": record.lease_until.to_string(),
            "expired": record.is_expired,
            "under_way": record.under_way,
            "rate": record.runner.rate,
            "query_rate": record.runner.query_rate,
        })
    };
    runners.iter().map(one).collect()
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
