//! What waits for the dates of its batch, or for its service to open, in words.

use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::config::Settings;
use crate::cli::session::Commands;
use crate::cli::terminal::output;
use crate::domain::{ServiceCode, Timestamp, WireZone};
use crate::journal::{LoadSummary, Standing};
use crate::ledger::calendar::{BatchDates, Calendar, Gate};
use crate::ledger::schedule::Scheduled;
use crate::lifecycle::State;

/// What a batch, or a file, has yet to post, and when.
pub(in crate::cli) struct Unposted<'a> {
    /// How many payments of each service, but for those that are held.
    ready: Vec<(&'a ServiceCode, u64)>,
    dates: BatchDates,
    calendar: &'a Calendar,
    zone: &'a WireZone,
    now: Timestamp,
}

impl<'a> Unposted<'a> {
    /// What of a batch is not posted yet.
    pub(in crate::cli) fn of(
        standing: &'a Standing,
        calendar: &'a Calendar,
        zone: &'a WireZone,
        now: Timestamp,
    ) -> Self {
        let held =
            |service: &ServiceCode| standing.held.iter().any(|lane| lane.service == *service);
        let rows = standing.rows.iter();
        let ready = rows
            .filter(|row| row.state == State::Ready && row.tally.count > 0 && !held(&row.service));
        Self {
            ready: by_service(ready.map(|row| (&row.service, row.tally.count))),
            dates: standing.dates,
            calendar,
            zone,
            now,
        }
    }

    /// What a file brings to a batch with these dates.
    pub(in crate::cli) fn of_file(
        (summary, dates): (&'a LoadSummary, BatchDates),
        calendar: &'a Calendar,
        zone: &'a WireZone,
        now: Timestamp,
    ) -> Self {
        let rows = summary.accepted.iter();
        Self {
            ready: by_service(rows.map(|(service, _, tally)| (service, tally.count))),
            dates,
            calendar,
            zone,
            now,
        }
    }

    fn gate(&self, service: &ServiceCode) -> Gate {
        self.calendar.gate(self.dates, service, self.now)
    }

    /// Returns how many payments wait by the calendar.
    pub(in crate::cli) fn waiting_count(&self) -> u64 {
        let waits =
            |(service, _): &&(&ServiceCode, u64)| !matches!(self.gate(service), Gate::Open(_));
        self.ready
            .iter()
            .filter(waits)
            .map(|(_, count)| count)
            .sum()
    }

    /// Says what waits, and until when.
    pub(in crate::cli) fn texts(&self, commands: Commands<'_>) -> Vec<String> {
        let all: u64 = self.ready.iter().map(|(_, count)| count).sum();
        if all > 0 && self.dates.gate(self.now) == Gate::Over {
            let end = self.dates.not_after.map_or_else(String::new, |end| {
                format!(" ({})", self.zone.format_named(end))
            });
            return vec![format!(
                "the last date of the batch is over{end}: {}, and none of them is posted. {}",
                wait(all),
                ways_out(commands)
            )];
        }
        let (mut texts, mut for_batch) = (Vec::new(), 0);
        for (service, count) in &self.ready {
            let hours = self.calendar.hours(service);
            match (self.gate(service), hours) {
                (Gate::Open(_), _) => {}
                (Gate::Shut(at), Some(hours)) if self.dates.not_before != Some(at) => {
                    let until = hours.zone().format_named(at);
                    texts.push(format!(
                        "{service} is closed, open {hours}: {} until {until}",
                        wait(*count)
                    ));
                }
                (Gate::Over, Some(hours)) => texts.push(format!(
                    "{service}, open {hours}, does not open{}: {}, and none of them is posted. {}",
                    self.before_the_end(),
                    wait(*count),
                    ways_out(commands)
                )),
                (Gate::Shut(_) | Gate::Over, _) => for_batch += count,
            }
        }
        if let Some(from) = self.dates.not_before.filter(|_| for_batch > 0) {
            let from = self.zone.format_named(from);
            let text = format!(
                "{} until {from}, the first date of the batch",
                wait(for_batch)
            );
            texts.insert(0, text);
        }
        texts
    }

    fn before_the_end(&self) -> String {
        let end = self.dates.not_after;
        end.map_or_else(
            || " within a year".to_owned(),
            |end| {
                let end = self.zone.format_named(end);
                format!(" before {end}, the last date of the batch")
            },
        )
    }

    /// Returns when the first of the services closes that are open now.
    pub(in crate::cli) fn closes(&self) -> Option<Timestamp> {
        let closes = |(service, _): &(&ServiceCode, u64)| match self.gate(service) {
            Gate::Open(until) => until,
            Gate::Shut(_) | Gate::Over => None,
        };
        self.ready.iter().filter_map(closes).min()
    }

    /// Says what will not leave before its service closes, or before the batch is over, at the rate that is configured. Posting begins after
    /// `first`, and of a service that is closed when it opens.
    pub(in crate::cli) fn short_of_time(
        &self,
        settings: &Settings,
        first: Duration,
    ) -> Vec<String> {
        let rate = settings.profile.limits.rate;
        let per_second = u64::from(rate.get());
        let begins = self.now.after(first);
        let open: Vec<_> = self
            .ready
            .iter()
            .filter_map(|(service, count)| Some((service, *count, self.window(service)?)))
            .collect();
        let late = open.iter().filter_map(|(service, count, window)| {
            let (count, until) = (*count, window.1?);
            // Services that are open at the same time take turns.
            let lanes = open.iter().filter(|other| overlap(*window, other.2));
            let lanes = lanes.count() as u64;
            let leaving = in_time(window.0.max(begins), until, per_second, lanes);
            let then = match self.dates.not_after == Some(until) {
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

    /// Returns when a service is open next, and until when; `None` where that never comes.
    fn window(&self, service: &ServiceCode) -> Option<Window> {
        let opens = match self.gate(service) {
            Gate::Open(until) => return Some((self.now, until)),
            Gate::Shut(at) => at,
            Gate::Over => return None,
        };
        match self.calendar.gate(self.dates, service, opens) {
            Gate::Open(until) => Some((opens, until)),
            Gate::Shut(_) | Gate::Over => None,
        }
    }

    /// Says how many rows wait for the time that they name, where the dates of the batch do not say it already.
    pub(in crate::cli) fn of_rows(
        &self,
        scheduled: Scheduled,
        commands: Commands<'_>,
    ) -> Option<String> {
        let (first, last) = scheduled.span.filter(|_| scheduled.count > 0)?;
        if self.dates.not_before.is_some_and(|from| from >= last) {
            return None;
        }
        let told = scheduled_text(scheduled, self.zone)?;
        let end = self.dates.not_after.filter(|end| *end <= last);
        Some(match end {
            None => told,
            Some(end) => {
                let which = if end <= first {
                    "they"
                } else {
                    "the last of them"
                };
                format!(
                    "{told}; the last date of the batch is {}, and {which} never leave. {}",
                    self.zone.format_named(end),
                    ways_out(commands)
                )
            }
        })
    }
}

/// Says how many rows wait for the time that they name, and until when; `None` where none does.
pub(in crate::cli) fn scheduled_text(scheduled: Scheduled, zone: &WireZone) -> Option<String> {
    let (first, last) = scheduled.span.filter(|_| scheduled.count > 0)?;
    let first = zone.format_named(first);
    let last = zone.format_named(last);
    let until = match first == last {
        true => first,
        false => format!("{first}, the last of them until {last}"),
    };
    Some(format!(
        "{} for the time in not_before: until {until}",
        wait(scheduled.count)
    ))
}

/// When a service opens, and when it closes.
type Window = (Timestamp, Option<Timestamp>);

fn overlap(one: Window, other: Window) -> bool {
    let before = |opens: Timestamp, until: Option<Timestamp>| until.is_none_or(|at| opens < at);
    before(one.0, other.1) && before(other.0, one.1)
}

/// Returns how many payments of a service leave in a window, where so many services take turns.
fn in_time(opens: Timestamp, until: Timestamp, per_second: u64, lanes: u64) -> u64 {
    let seconds = match until > opens {
        true => until.since(opens).as_secs(),
        false => 0,
    };
    seconds.saturating_mul(per_second) / lanes.max(1)
}

/// What a person can do about payments whose time does not come.
fn ways_out(commands: Commands<'_>) -> String {
    let batch = commands.batch;
    format!(
        "To give the batch more time: disburse schedule {batch} --not-after TIME --reason TEXT, then {}. To cancel \
         what must not be paid any more: disburse cancel {batch}",
        commands.run()
    )
}

fn by_service<'a>(
    rows: impl Iterator<Item = (&'a ServiceCode, u64)>,
) -> Vec<(&'a ServiceCode, u64)> {
    let mut found: Vec<(&ServiceCode, u64)> = Vec::new();
    for (service, count) in rows {
        match found.iter_mut().find(|(other, _)| *other == service) {
            Some((_, sum)) => *sum += count,
            None => found.push((service, count)),
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_in_time_is_the_rate_of_the_window() {
        let at = Timestamp::from_millis;
        for (opens, until, per_second, lanes, expected) in [
            (0, 60_000, 10, 1, 600),
            (0, 60_000, 10, 3, 200),
            (59_500, 60_000, 10, 1, 0),
            // What is asked first takes longer than the service is open.
            (60_000, 60_000, 10, 1, 0),
            (61_000, 60_000, 10, 1, 0),
            (0, i64::MAX, u64::MAX, 1, u64::MAX),
        ] {
            let found = in_time(at(opens), at(until), per_second, lanes);
            assert_eq!(found, expected, "{opens} {until} {per_second} {lanes}");
        }
    }

    #[test]
    fn services_take_turns_where_both_are_open() {
        let window = |opens, until: Option<i64>| {
            let until = until.map(Timestamp::from_millis);
            (Timestamp::from_millis(opens), until)
        };
        for (one, other, expected) in [
            (window(0, None), window(5, None), true),
            (window(0, Some(5)), window(5, None), false),
            (window(0, Some(6)), window(5, Some(9)), true),
            (window(0, Some(3)), window(4, Some(9)), false),
        ] {
            assert_eq!(overlap(one, other), expected, "{one:?} {other:?}");
            assert_eq!(overlap(other, one), expected, "{other:?} {one:?}");
        }
    }
}
