//! How a run shows itself: a bar on a terminal, a line every ten seconds elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::sync::watch;

use super::output;
use crate::domain::Timestamp;
use crate::engine::Progress;
use crate::lifecycle::State;

const LINE_EVERY: Duration = Duration::from_secs(10);

static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Does something that prints, without tearing the bar.
pub(super) fn suspended<T>(work: impl FnOnce() -> T) -> T {
    // Taken out of the lock first: the work may print again.
    let bar = BAR.lock().ok().and_then(|bar| bar.clone());
    match bar {
        Some(bar) => bar.suspend(work),
        None => work(),
    }
}

/// Shows a run until its sender is gone.
pub(super) async fn show(mut progress: watch::Receiver<Progress>, quiet: bool) {
    if quiet {
        return;
    }
    if std::io::stderr().is_terminal() {
        show_bar(&mut progress).await;
    } else {
        show_lines(&mut progress).await;
    }
}

async fn show_bar(progress: &mut watch::Receiver<Progress>) {
    let template = "{spinner} {bar:28} {pos}/{len}  {msg}";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        .with_style(style.progress_chars("━╸─"));
    bar.enable_steady_tick(Duration::from_millis(120));
    if let Ok(mut shown) = BAR.lock() {
        *shown = Some(bar.clone());
    }
    let mut pace = Pace::default();
    while progress.changed().await.is_ok() {
        let now = progress.borrow_and_update().clone();
        let (finished, total) = now.finished_of();
        bar.set_length(total);
        bar.set_position(finished);
        bar.set_message(describe(&now, &mut pace));
    }
    if let Ok(mut shown) = BAR.lock() {
        shown.take();
    }
    bar.finish_and_clear();
}

async fn show_lines(progress: &mut watch::Receiver<Progress>) {
    let mut pace = Pace::default();
    let mut ticks = tokio::time::interval(LINE_EVERY);
    ticks.tick().await;
    loop {
        tokio::select! {
            changed = progress.changed() => if changed.is_err() { return },
            _ = ticks.tick() => {
                let now = progress.borrow_and_update().clone();
                let (finished, total) = now.finished_of();
                output::note(&format!("{finished}/{total}  {}", describe(&now, &mut pace)));
            }
        }
    }
}

/// The speed of the last few seconds.
#[derive(Default)]
struct Pace {
    marks: std::collections::VecDeque<(Instant, u64, u64)>,
}

impl Pace {
    /// Returns payments posted and ended per second.
    fn at(&mut self, posted: u64, finished: u64) -> (f64, f64) {
        let now = Instant::now();
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

fn describe(progress: &Progress, pace: &mut Pace) -> String {
    let (finished, total) = progress.finished_of();
    let (posting, ending) = pace.at(progress.posted, finished);
    let mut parts = vec![
        format!("paid {}", output::amounts(&progress.paid())),
        format!("{posting:.0}/s"),
    ];
    let left = total.saturating_sub(finished);
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a guess"
    )]
    if left > 0 && ending > 0.5 {
        parts.push(format!("ETA {}", clock((left as f64 / ending) as u64)));
    }
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
            (count > 0).then(|| format!("{} {count}", state.name()))
        })
        .collect();
    parts.extend(counts);
    if !progress.held.is_empty() {
        let lanes: Vec<&str> = progress
            .held
            .iter()
            .map(|service| service.as_str())
            .collect();
        parts.push(format!("held {}", lanes.join(" ")));
    }
    if progress.circuit_open {
        parts.push("posts paused: losses in a row".into());
    }
    if progress.draining {
        parts.push("ending".into());
    }
    parts.join("  ")
}

fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// Never shown: the default of a progress that nothing was told of yet.
pub(super) fn blank() -> Progress {
    Progress {
        at: Timestamp::from_millis(0),
        ..Progress::default()
    }
}
