//! What waits for the dates of its batch, or for its service to open, in words.

use serde_json::{Value, json};

use crate::cli::config::Settings;
use crate::cli::session::Commands;
use crate::cli::terminal::output;
use crate::domain::{ServiceCode, Timestamp, WireZone};
use crate::journal::Standing;
use crate::ledger::calendar::{BatchDates, Calendar, Gate};
use crate::lifecycle::State;

/// What a batch has yet to post, and when.
pub(in crate::cli) struct Unposted<'a> {
    pub(in crate::cli) standing: &'a Standing,
    pub(in crate::cli) calendar: &'a Calendar,
    pub(in crate::cli) zone: &'a WireZone,
    pub(in crate::cli) now: Timestamp,
}

impl Unposted<'_> {
    /// Returns how many payments of each service wait to be posted, but for those that are held.
    fn ready(&self) -> Vec<(&ServiceCode, u64)> {
        let held = |service: &ServiceCode| {
            self.standing
                .held
                .iter()
                .any(|lane| lane.service == *service)
        };
        let mut found: Vec<(&ServiceCode, u64)> = Vec::new();
        for row in &self.standing.rows {
            if row.state != State::Ready || row.tally.count == 0 || held(&row.service) {
                continue;
            }
            match found
                .iter_mut()
                .find(|(service, _)| **service == row.service)
            {
                Some((_, count)) => *count += row.tally.count,
                None => found.push((&row.service, row.tally.count)),
            }
        }
        found
    }

    /// Returns how many payments wait by the calendar.
    pub(in crate::cli) fn waiting_count(&self) -> u64 {
        let of_batch = self.standing.dates.gate(self.now);
        let waits = |service: &ServiceCode| {
            let of_service = self.calendar.gate(service, self.now);
            !matches!(of_batch.and(of_service), Gate::Open(_))
        };
        let ready = self.ready().into_iter();
        ready
            .filter(|(service, _)| waits(service))
            .map(|(_, count)| count)
            .sum()
    }

    /// Says what waits, and until when.
    pub(in crate::cli) fn texts(&self, commands: Commands<'_>) -> Vec<String> {
        let ready = self.ready();
        let count: u64 = ready.iter().map(|(_, count)| count).sum();
        if count == 0 {
            return Vec::new();
        }
        match self.standing.dates.gate(self.now) {
            Gate::Over => return vec![self.over(count, commands)],
            Gate::Shut(at) => {
                return vec![format!(
                    "{} until {}, the first date of the batch",
                    wait(count),
                    self.zone.format_named(at)
                )];
            }
            Gate::Open(_) => {}
        }
        let closed = ready.into_iter().filter_map(|(service, count)| {
            let hours = self.calendar.hours(service)?;
            let until = match hours.gate(self.now) {
                Gate::Open(_) => return None,
                Gate::Shut(at) => format!("until {}", hours.zone().format_named(at)),
                Gate::Over => "for ever: its window never opens".to_owned(),
            };
            Some(format!(
                "{service} is closed, open {hours}: {} {until}",
                wait(count)
            ))
        });
        closed.collect()
    }

    fn over(&self, count: u64, commands: Commands<'_>) -> String {
        let end = self.standing.dates.not_after;
        let end = end.map_or_else(String::new, |end| {
            format!(" ({})", self.zone.format_named(end))
        });
        let batch = commands.batch;
        format!(
            "the last date of the batch is over{end}: {}, and none of them leaves. To give it more time: disburse schedule {batch} --not-after \
             TIME --reason TEXT, then {}. What is not to be paid any more: disburse cancel {batch}",
            wait(count),
            commands.run()
        )
    }

    /// Says what will not leave before its service closes, or before the batch is over, at this rate.
    pub(in crate::cli) fn short_of_time(&self, settings: &Settings) -> Vec<String> {
        let rate = settings.profile.limits.rate;
        let per_second = u64::from(rate.per_second().get());
        let ready = self.ready();
        let open: Vec<_> = ready
            .into_iter()
            .filter_map(|(service, count)| {
                let of_service = self.calendar.gate(service, self.now);
                match self.standing.dates.gate(self.now).and(of_service) {
                    Gate::Open(until) => Some((service, count, until)),
                    Gate::Shut(_) | Gate::Over => None,
                }
            })
            .collect();
        let lanes = open.len() as u64;
        let late = open.into_iter().filter_map(|(service, count, until)| {
            let until = until?;
            // Services take turns.
            let seconds = until.since(self.now).as_secs();
            let leaving = seconds.saturating_mul(per_second) / lanes;
            let is_end = self.standing.dates.not_after == Some(until);
            let then = match is_end {
                true => "the last date of the batch comes, and the others do not leave",
                false => "it closes, and the others wait until it opens again",
            };
            (leaving < count).then(|| {
                format!(
                    "{service}: at {rate} about {} of {} leave before {}; then {then}",
                    output::grouped(&leaving.to_string()),
                    output::counted(count, "payment"),
                    self.zone.format_named(until)
                )
            })
        });
        late.collect()
    }
}

/// Says which services of a file are closed now, and when a run posts their payments.
pub(in crate::cli) fn closed_texts<'a>(
    counts: impl Iterator<Item = (&'a ServiceCode, u64)>,
    calendar: &Calendar,
    now: Timestamp,
) -> Vec<String> {
    let closed = counts.filter_map(|(service, count)| {
        let hours = calendar.hours(service)?;
        let from = match hours.gate(now) {
            Gate::Open(_) => return None,
            Gate::Shut(at) => format!("from {} on", hours.zone().format_named(at)),
            Gate::Over => "never: its window never opens".to_owned(),
        };
        let count = output::counted(count, "payment");
        Some(format!(
            "{service} is closed now, open {hours}: {count} can be posted {from}"
        ))
    });
    closed.collect()
}

/// Returns dates of a batch, for programs.
pub(in crate::cli) fn dates_json(dates: BatchDates) -> Value {
    let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
    json!({"not_before": text(dates.not_before), "not_after": text(dates.not_after)})
}

/// Says which dates a batch has; `None` where it has none.
pub(in crate::cli) fn dates_text(dates: BatchDates, zone: &WireZone) -> Option<String> {
    let named = |at| zone.format_named(at);
    match (dates.not_before, dates.not_after) {
        (None, None) => None,
        (Some(from), None) => Some(format!("posted from {} on", named(from))),
        (None, Some(until)) => Some(format!("posted before {}", named(until))),
        (Some(from), Some(until)) => Some(format!(
            "posted from {} on, and before {}",
            named(from),
            named(until)
        )),
    }
}

fn wait(count: u64) -> String {
    let verb = if count == 1 { "waits" } else { "wait" };
    format!("{} {verb}", output::counted(count, "payment"))
}
