//! How a run shows itself: a bar on a terminal, a line every ten seconds elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::sync::watch;

use super::output;
use super::screen::SCREEN;
use crate::cli::commands::status;
use crate::domain::{Timestamp, WireZone};
use crate::engine::Progress;
use crate::lifecycle::State;

const LINE_EVERY: Duration = Duration::from_secs(10);

/// What times are told by.
pub(in crate::cli) struct Times {
    /// The zone of whoever reads them.
    pub(in crate::cli) zone: WireZone,
    /// When the first of the services closes that were open at the beginning: a speed says nothing of what is posted behind that.
    pub(in crate::cli) closes: Option<Timestamp>,
}

/// Shows a run until its sender is gone.
pub(in crate::cli) async fn show(
    mut progress: watch::Receiver<Progress>,
    times: Times,
    quiet: bool,
) {
    if quiet {
        return;
    }
    if std::io::stderr().is_terminal() {
        show_bar(&mut progress, &times).await;
    } else {
        show_lines(&mut progress, &times).await;
    }
}

// Two lines, each cut to the width of the terminal: a line that wraps would be left behind at every redraw.
async fn show_bar(progress: &mut watch::Receiver<Progress>, times: &Times) {
    let screen = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let line = |template| {
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        // Of nothing, everything would be done: a full bar, for a moment.
        let bar = ProgressBar::new(1).with_style(style.progress_chars("━╸─"));
        screen.add(bar)
    };
    let (head, detail) = (line("{spinner} {bar:20} {wide_msg}"), line("  {wide_msg}"));
    if let Ok(mut shown) = SCREEN.lock() {
        *shown = Some(screen.clone());
    }
    head.enable_steady_tick(Duration::from_millis(120));
    let mut pace = Pace::default();
    while progress.changed().await.is_ok() {
        let now = progress.borrow_and_update().clone();
        let (finished, total) = now.finished_of();
        head.set_length(total);
        head.set_position(finished);
        head.set_message(describe(&now, &mut pace, times));
        detail.set_message(states(&now, &times.zone));
    }
    if let Ok(mut shown) = SCREEN.lock() {
        shown.take();
    }
    head.finish_and_clear();
    detail.finish_and_clear();
}

async fn show_lines(progress: &mut watch::Receiver<Progress>, times: &Times) {
    let mut pace = Pace::default();
    let mut ticks = tokio::time::interval(LINE_EVERY);
    ticks.tick().await;
    loop {
        tokio::select! {
            changed = progress.changed() => {
                if changed.is_err() {
                    return;
                }
                if pace.is_new() {
                    let now = progress.borrow();
                    pace.at(now.posted, now.finished_of().0);
                }
            }
            _ = ticks.tick() => {
                let now = progress.borrow_and_update().clone();
                let text = format!("{}  {}", describe(&now, &mut pace, times), states(&now, &times.zone));
                output::note(text.trim_end());
            }
        }
    }
}

/// What was noted longer ago than this, says nothing of the speed of now.
const PACE_FORGOTTEN: Duration = Duration::from_secs(90);

/// The speed of the last few seconds.
#[derive(Debug, Default)]
pub(in crate::cli) struct Pace {
    marks: std::collections::VecDeque<(Instant, u64, u64)>,
}

impl Pace {
    /// Returns whether nothing was noted yet, from which a speed could be told.
    pub(in crate::cli) fn is_new(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns payments posted and ended per second.
    fn at(&mut self, posted: u64, finished: u64) -> (f64, f64) {
        let now = Instant::now();
        let latest = self.marks.back();
        if latest.is_some_and(|latest| now - latest.0 > PACE_FORGOTTEN) {
            self.marks.clear();
        }
        self.marks.push_back((now, posted, finished));
        while self.marks.len() > 2 && now - self.marks[0].0 > Duration::from_secs(5)
            || self.marks.len() > 100
        {
            self.marks.pop_front();
        }
        let (since, posted_then, finished_then) = self.marks[0];
        let seconds = (now - since).as_secs_f64().max(0.1);
        #[allow(clippy::cast_precision_loss, reason = "a speed for the eye")]
        let per_second = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        (
            per_second(posted, posted_then),
            per_second(finished, finished_then),
        )
    }
}

/// Returns whether something is yet to be sent. What was sent has its outcome when the gateway says so: no speed tells when.
fn still_to_send(progress: &Progress) -> bool {
    let count = |state| progress.states.get(&state).map_or(0, |tally| tally.count);
    count(State::Ready) + count(State::Posting) > 0
}

/// How far the run is, what has moved, how fast, and how long it will take.
fn describe(progress: &Progress, pace: &mut Pace, times: &Times) -> String {
    let (finished, total) = progress.finished_of();
    let grouped = |count: u64| output::grouped(&count.to_string());
    let mut parts = vec![
        format!("{}/{}", grouped(finished), grouped(total)),
        format!("paid {}", output::amounts(&progress.paid())),
    ];
    parts.extend(speed(progress, pace, times));
    parts.join("  ")
}

/// How fast it goes, and how long it will take.
pub(in crate::cli) fn speed(progress: &Progress, pace: &mut Pace, times: &Times) -> Vec<String> {
    let (finished, total) = progress.finished_of();
    let (posting, ending) = pace.at(progress.posted, finished);
    let mut parts = vec![format!("{posting:.0}/s")];
    let left = total.saturating_sub(finished);
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a guess"
    )]
    if left > 0 && ending > 0.5 && still_to_send(progress) {
        parts.extend(eta(progress, (left as f64 / ending) as u64, times));
    }
    parts
}

/// Says how long what is left takes at this speed; where a service closes before that, that it does. `None` where something waits for its
/// time already.
fn eta(progress: &Progress, seconds: u64, times: &Times) -> Option<String> {
    if progress.awaited.window.is_some() {
        return None;
    }
    let ends = progress.at.after(Duration::from_secs(seconds));
    match times.closes {
        Some(closes) if closes <= progress.at => None,
        Some(closes) if closes < ends => Some(format!(
            "not all of it before a service closes at {}",
            times.zone.clock(closes)
        )),
        _ => Some(format!("ETA {}", clock(seconds))),
    }
}

/// What holds the run up.
pub(in crate::cli) fn held_up(progress: &Progress, zone: &WireZone) -> Vec<String> {
    let clock = |at: Timestamp| zone.clock(at);
    let mut texts: Vec<String> = Vec::new();
    if progress.draining {
        texts.push("stopping: waiting for what is under way".into());
    }
    if progress.circuit_open {
        texts.push(match progress.awaited.posts {
            Some(at) => format!("cannot reach the gateway, trying again at {}", clock(at)),
            None => "cannot reach the gateway, trying again".to_owned(),
        });
    }
    texts.extend(progress.awaited.window.map(|at| waits_text(at, zone)));
    if !progress.held.is_empty() {
        let lanes: Vec<&str> = progress
            .held
            .iter()
            .map(|service| service.as_str())
            .collect();
        let (the_float, it) = match lanes.len() {
            1 => ("the float", "it"),
            _ => ("the floats", "they"),
        };
        let until = match progress.awaited.lane {
            Some(at) => format!("checked again at {}", clock(at)),
            None => format!(
                "paused until {it} {} topped up, then: disburse resume-lane BATCH {}, and run again",
                if it == "it" { "is" } else { "are" },
                lanes
                    .first()
                    .filter(|_| lanes.len() == 1)
                    .unwrap_or(&"SERVICE")
            ),
        };
        texts.push(format!(
            "{the_float} of {} {} too small for the next payment (230): {until}",
            lanes.join(", "),
            if it == "it" { "is" } else { "are" }
        ));
    }
    texts
}

/// Says when the gateway is asked about what it has and has not settled; `None` where there is nothing to ask about.
pub(in crate::cli) fn asking(progress: &Progress, zone: &WireZone) -> Option<String> {
    let unsettled: u64 = [State::InDoubt, State::Acknowledged, State::Delivered]
        .into_iter()
        .filter_map(|state| progress.states.get(&state))
        .map(|tally| tally.count)
        .sum();
    let at = progress.awaited.ask.filter(|_| unsettled > 0)?;
    Some(asked_again(
        unsettled,
        &zone.clock(at),
        progress.awaited.nth,
    ))
}

/// What holds the run up, then where the payments stand that are not paid.
fn states(progress: &Progress, zone: &WireZone) -> String {
    let held_up = held_up(progress, zone);
    let mut parts: Vec<String> = held_up.iter().map(|text| format!("{text};")).collect();
    let states = [
        State::Ready,
        State::Posting,
        State::InDoubt,
        State::Acknowledged,
        State::Delivered,
        State::Failed,
        State::Conflict,
    ];
    let counts: Vec<String> = states
        .into_iter()
        .filter_map(|state| {
            let count = progress.states.get(&state).map_or(0, |tally| tally.count);
            (count > 0).then(|| {
                let words = status::words(state);
                format!("{words}: {}", output::grouped(&count.to_string()))
            })
        })
        .collect();
    if !counts.is_empty() {
        parts.push(format!("{};", counts.join(", ")));
    }
    parts.extend(asking(progress, zone));
    let text = parts.join(" ");
    text.trim_end_matches(';').to_owned()
}

fn waits_text(at: Timestamp, zone: &WireZone) -> String {
    format!(
        "payments that are not sent yet wait until {}",
        zone.format_named(at)
    )
}

/// Says when the gateway is asked about what has no outcome yet, and for which time.
fn asked_again(unsettled: u64, at: &str, nth: Option<u32>) -> String {
    let payments = output::counted(unsettled, "payment");
    match nth {
        Some(nth) => format!(
            "{payments}: the gateway is asked again at {at}, {} time",
            ordinal(nth)
        ),
        None => format!("{payments}: the gateway is asked at {at}"),
    }
}

/// Returns `1st`, `2nd`, `3rd`, `4th`.
fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours == 0 && minutes == 0 {
        // Less than a second is one, too: something is left.
        format!("{} s", seconds.max(1))
    } else if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// Never shown: the default of a progress that nothing was told of yet.
pub(in crate::cli) fn blank() -> Progress {
    Progress {
        at: Timestamp::from_millis(0),
        ..Progress::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ServiceCode, Tally};
    use crate::engine::Awaited;

    #[test]
    fn a_wait_says_what_is_awaited_and_until_when() {
        let at = |secs: i64| Some(Timestamp::from_millis(1_795_845_600_000 + secs * 1000));
        let nairobi = WireZone::from_name("Africa/Nairobi").unwrap();
        let four = Tally {
            count: 4,
            ..Tally::default()
        };
        let mut progress = Progress {
            states: [(State::InDoubt, four)].into(),
            awaited: Awaited {
                ask: at(65),
                ..Awaited::default()
            },
            ..blank()
        };
        let told = states(&progress, &nairobi);
        assert_eq!(
            told,
            "outcome unknown: 4; 4 payments: the gateway is asked at 09:01:05 EAT"
        );
        progress.awaited.nth = Some(3);
        let told = states(&progress, &nairobi);
        assert_eq!(
            told,
            "outcome unknown: 4; 4 payments: the gateway is asked again at 09:01:05 EAT, 3rd time"
        );
        progress.states.clear();
        progress.circuit_open = true;
        progress.awaited.posts = at(5);
        let told = states(&progress, &nairobi);
        assert_eq!(
            told,
            "cannot reach the gateway, trying again at 09:00:05 EAT"
        );
        progress.circuit_open = false;
        progress.held = vec![ServiceCode::parse("B2C_MPESA").unwrap()];
        for (lane, until) in [
            (at(30), "checked again at 09:00:30 EAT"),
            (
                None,
                "paused until it is topped up, then: disburse resume-lane BATCH B2C_MPESA, and run again",
            ),
        ] {
            progress.awaited.lane = lane;
            let told =
                format!("the float of B2C_MPESA is too small for the next payment (230): {until}");
            assert_eq!(states(&progress, &nairobi), told);
        }
    }

    #[test]
    fn a_count_is_said_as_a_person_says_it() {
        for (number, told) in [
            (2, "2nd"),
            (3, "3rd"),
            (4, "4th"),
            (11, "11th"),
            (12, "12th"),
            (13, "13th"),
            (21, "21st"),
            (112, "112th"),
        ] {
            assert_eq!(ordinal(number), told);
        }
    }

    #[test]
    fn no_end_is_foretold_that_lies_behind_the_closing_of_a_service() {
        let now = Timestamp::parse("2026-11-25T16:29:00+03:00").unwrap();
        let closes = Timestamp::parse("2026-11-25T16:30:00+03:00");
        let told = |seconds, closes, window| {
            let mut progress = Progress {
                at: now,
                ..Progress::default()
            };
            progress.awaited.window = window;
            let zone = WireZone::from_name("Africa/Nairobi").unwrap();
            eta(&progress, seconds, &Times { zone, closes })
        };
        let late = "not all of it before a service closes at 16:30:00 EAT";
        for (seconds, closes, window, expected) in [
            (90, None, None, Some("ETA 1:30")),
            (60, closes, None, Some("ETA 1:00")),
            (61, closes, None, Some(late)),
            (90, None, closes, None),
            (30, Some(now), None, None),
        ] {
            let found = told(seconds, closes, window);
            assert_eq!(found.as_deref(), expected, "{seconds} {closes:?}");
        }
    }

    #[test]
    fn what_is_left_never_takes_no_time() {
        for (seconds, told) in [(0, "1 s"), (9, "9 s"), (60, "1:00"), (3_661, "1:01:01")] {
            assert_eq!(clock(seconds), told);
        }
    }
}
