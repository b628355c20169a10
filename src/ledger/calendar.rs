//! When payments may leave: the dates of a batch, and the opening hours of a service.
//!
//! Whatever waits here loses nothing but time: what was posted is asked about at any hour.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::{Date, Time};

use crate::domain::{ServiceCode, Timestamp, WireZone};

/// So many days ahead a service is looked for an hour at which it opens.
const DAYS_MAX: i32 = 400;

/// Whether something may leave at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It may, before this time; `None`: at any.
    Open(Option<Timestamp>),
    /// Not before this time.
    Shut(Timestamp),
    /// Its time is over, or never comes.
    Over,
}

impl Gate {
    /// Returns what holds where both have to be open.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Over, _) | (_, Self::Over) => Self::Over,
            (Self::Shut(one), Self::Shut(other)) => Self::Shut(one.max(other)),
            (Self::Shut(at), Self::Open(_)) | (Self::Open(_), Self::Shut(at)) => Self::Shut(at),
            (Self::Open(one), Self::Open(other)) => {
                Self::Open([one, other].into_iter().flatten().min())
            }
        }
    }
}

/// The time before which nothing of a batch is posted, and the time after which nothing more is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchDates {
    /// The first moment.
    pub not_before: Option<Timestamp>,
    /// The end; nothing leaves at it.
    pub not_after: Option<Timestamp>,
}

impl BatchDates {
    /// Dates that a batch may have: the end is behind the beginning.
    #[must_use]
    pub fn are_possible(&self) -> bool {
        let both = self.not_before.zip(self.not_after);
        both.is_none_or(|(from, until)| from < until)
    }

    /// Judges whether something of the batch may leave.
    #[must_use]
    pub fn gate(&self, now: Timestamp) -> Gate {
        let gate = match (self.not_before, self.not_after) {
            (_, Some(until)) if until <= now => Gate::Over,
            (Some(from), _) if from > now => Gate::Shut(from),
            (_, until) => Gate::Open(until),
        };
        planted!(ledger::gate_of_dates(gate))
    }
}

/// So many times a gate that opens is looked behind: the dates of a batch may begin while its service is closed.
const LOOKS_MAX: u32 = 8;

/// Judges whether payments of a batch may leave through a service; where not, says when they may, with both looked at.
#[must_use]
pub fn gate(dates: BatchDates, hours: Option<&OpeningHours>, now: Timestamp) -> Gate {
    let at = |time| {
        dates
            .gate(time)
            .and(hours.map_or(Gate::Open(None), |hours| hours.gate(time)))
    };
    let first = at(now);
    let Gate::Shut(mut opens) = first else {
        return first;
    };
    for _ in 0..LOOKS_MAX {
        match at(opens) {
            Gate::Open(_) => return Gate::Shut(opens),
            Gate::Shut(later) => opens = later,
            Gate::Over => return Gate::Over,
        }
    }
    Gate::Shut(opens)
}

/// The clock of the machine may be this far from that of a run.
const DRIFT_MAX: Duration = Duration::from_secs(60);

/// Returns whether the clock of the machine was set while a run went on by the one that it began with.
#[must_use]
pub fn clock_was_set(of_run: Timestamp, of_machine: Timestamp) -> bool {
    of_run.since(of_machine).max(of_machine.since(of_run)) > DRIFT_MAX
}

/// When the services are open that do not always take payments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calendar(BTreeMap<ServiceCode, OpeningHours>);

impl Calendar {
    /// Opens and closes these services.
    #[must_use]
    pub fn new(hours: BTreeMap<ServiceCode, OpeningHours>) -> Self {
        Self(hours)
    }

    /// Returns the hours of a service; `None`: it is always open.
    #[must_use]
    pub fn hours(&self, service: &ServiceCode) -> Option<&OpeningHours> {
        self.0.get(service)
    }

    /// Judges whether payments of a batch with these dates may leave through a service.
    #[must_use]
    pub fn gate(&self, dates: BatchDates, service: &ServiceCode, now: Timestamp) -> Gate {
        gate(dates, self.hours(service), now)
    }
}

/// Days of the week, and hours of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    /// By Monday-based number.
    days: [bool; 7],
    from: Time,
    /// `None`: midnight at the end of the day.
    until: Option<Time>,
}

/// The opening hours of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpeningHours {
    text: String,
    spans: Vec<Span>,
    zone: WireZone,
    holidays: Arc<BTreeSet<Date>>,
}

/// Why a text says no opening hours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HoursError {
    /// A part of it is not days and hours.
    #[error("{0:?} is not days and hours such as Mon-Fri 08:00-16:30")]
    NotHours(String),
    /// The hours of a part end before they begin.
    #[error(
        "{0:?} ends before it begins: write hours over midnight as two parts, each of its own days"
    )]
    Backwards(String),
}

const DAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

impl OpeningHours {
    /// Reads hours such as `Mon-Fri 08:00-16:30, Sat 09:00-12:00`, which are times of a zone, on days that are no holidays.
    ///
    /// # Errors
    /// The first part that is not understood.
    pub fn parse(
        text: &str,
        zone: WireZone,
        holidays: Arc<BTreeSet<Date>>,
    ) -> Result<Self, HoursError> {
        let spans = text.split(',').map(span).collect::<Result<_, _>>()?;
        Ok(Self {
            text: text.trim().to_owned(),
            spans,
            zone,
            holidays,
        })
    }

    /// Returns the zone whose clock they are hours of.
    #[must_use]
    pub fn zone(&self) -> &WireZone {
        &self.zone
    }

    /// Judges whether something may leave. It closes at the first moment at which the clock shows the end, and opens at the last one at
    /// which it shows the beginning: where the clock is put forward or back, it is shut in between.
    #[must_use]
    pub fn gate(&self, now: Timestamp) -> Gate {
        planted_instead!(ledger::gate_of_hours());
        let today = self.zone.local(now).date();
        // From the day before: a clock that is put back at midnight shows it again.
        let mut date = today.yesterday().unwrap_or(today);
        let mut ahead: Option<(Date, Timestamp)> = None;
        for _ in 0..DAYS_MAX {
            for (from, until) in self.of_day(date) {
                if from <= now && now < until {
                    return Gate::Open(Some(self.closes(until)));
                }
                if from > now && ahead.is_none_or(|(_, at)| from < at) {
                    ahead = Some((date, from));
                }
            }
            // The hours of a day may be written in any order, and be behind those of the next where the clock is put back.
            if let Some((found, at)) = ahead
                && found < date
                && date > today
            {
                return Gate::Shut(at);
            }
            let Ok(next) = date.tomorrow() else { break };
            date = next;
        }
        ahead.map_or(Gate::Over, |(_, at)| Gate::Shut(at))
    }

    /// Returns the end of the hours that are open until `until`: the next ones may follow without a break.
    fn closes(&self, mut until: Timestamp) -> Timestamp {
        // A week that is never shut would be followed for ever.
        for _ in 0..14 {
            let today = self.zone.local(until).date();
            let next = self
                .of_day(today)
                .find(|(from, end)| *from <= until && until < *end);
            match next {
                Some((_, end)) => until = end,
                None => break,
            }
        }
        until
    }

    /// Returns the hours of a day.
    fn of_day(&self, date: Date) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        let number = usize::from(date.weekday().to_monday_zero_offset().unsigned_abs());
        let is_holiday = self.holidays.contains(&date);
        let open = self
            .spans
            .iter()
            .filter(move |span| !is_holiday && span.days[number]);
        open.filter_map(move |span| {
            let end = match span.until {
                Some(until) => date.to_datetime(until),
                None => date.tomorrow().ok()?.to_datetime(Time::midnight()),
            };
            let from = self.zone.last_instant(date.to_datetime(span.from))?;
            let until = self.zone.first_instant(end)?;
            (from < until).then_some((from, until))
        })
    }
}

/// As they were written, and whose clock shows them.
impl fmt::Display for OpeningHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.zone.name())
    }
}

fn span(part: &str) -> Result<Span, HoursError> {
    let not_hours = || HoursError::NotHours(part.trim().to_owned());
    let mut words = part.split_whitespace();
    let (Some(days), Some(hours), None) = (words.next(), words.next(), words.next()) else {
        return Err(not_hours());
    };
    let (from, until) = hours.split_once('-').ok_or_else(not_hours)?;
    let from = clock(from).ok_or_else(not_hours)?;
    let until = match until {
        "24:00" => None,
        text => Some(clock(text).ok_or_else(not_hours)?),
    };
    if until.is_some_and(|until| until <= from) {
        return Err(HoursError::Backwards(part.trim().to_owned()));
    }
    let (first, last) = days.split_once('-').unwrap_or((days, days));
    let (first, last) = (
        day(first).ok_or_else(not_hours)?,
        day(last).ok_or_else(not_hours)?,
    );
    let mut open = [false; 7];
    let mut number = first;
    // Fri-Mon goes over the end of the week.
    loop {
        open[number] = true;
        if number == last {
            break;
        }
        number = (number + 1) % 7;
    }
    Ok(Span {
        days: open,
        from,
        until,
    })
}

/// Reads a day by its first three letters or its whole English name.
fn day(text: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    DAYS.iter().position(|day| text == *day || text == day[..3])
}

/// Reads `08:00`.
fn clock(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hour) || !digits(minute) {
        return None;
    }
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

/// Reads a list of holidays: one day such as 2026-12-25 a line, its name behind it where one likes; `#` begins a comment.
///
/// # Errors
/// The number of the line that is no day, and what it says.
pub fn holidays(text: &str) -> Result<BTreeSet<Date>, (usize, String)> {
    let mut found = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start_matches('\u{feff}');
        let words = line.split('#').next().unwrap_or_default().trim();
        if words.is_empty() {
            continue;
        }
        let first = words.split_whitespace().next().unwrap_or_default();
        let date = Date::strptime("%Y-%m-%d", first).ok();
        // One that takes fewer digits is not let through.
        let date = date.filter(|date| date.strftime("%Y-%m-%d").to_string() == first);
        found.insert(date.ok_or_else(|| (index + 1, words.to_owned()))?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
