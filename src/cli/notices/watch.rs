//! Beside a run, and beside a listener: looks now and then, and delivers what waits. No payment waits for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::desk::NoticeDesk;
use super::facts::Look;
use crate::cli::Error;
use crate::domain::{BatchName, Timestamp};
use crate::engine::Progress;
use crate::journal::{Reader, Standing, holder};
use crate::lifecycle::State;

/// How often a run is looked at.
const RUN_EVERY: Duration = Duration::from_secs(5);
/// How often a listener looks at all batches.
const ALL_EVERY: Duration = Duration::from_secs(30);
/// So long what waits is delivered in one go.
const DELIVER_WITHIN: Duration = Duration::from_secs(30);

/// What is looked at beside a run.
pub(in crate::cli) struct Watched {
    pub(in crate::cli) batch: BatchName,
    pub(in crate::cli) progress: watch::Receiver<Progress>,
    pub(in crate::cli) waits_for_approval: bool,
}

/// Looks at a run until told to stop.
pub(in crate::cli) async fn watch_run(
    desk: Arc<NoticeDesk>,
    watched: Watched,
    stop: CancellationToken,
) {
    let mut quiet = Quiet::begin(Instant::now());
    while sleeps(RUN_EVERY, &stop).await {
        let look = Look {
            runs: true,
            quiet: quiet.since(&watched.progress.borrow(), Instant::now()),
            waits_for_approval: watched.waits_for_approval,
            ..Look::default()
        };
        let done = async {
            desk.look_at(&watched.batch, look).await?;
            desk.deliver(false, DELIVER_WITHIN).await
        };
        match done.await.map(|delivered| delivered.trouble) {
            Ok(trouble) => tell(trouble),
            // The run has met the same, and says so.
            Err(error) => {
                tracing::warn!(
                    error = error.message(),
                    "notices are no longer sent by this process"
                );
                return;
            }
        }
    }
}

/// Looks at all batches until told to stop.
pub(in crate::cli) async fn watch_all(desk: Arc<NoticeDesk>, stop: CancellationToken) {
    loop {
        let done = async {
            look_at_all(&desk).await?;
            desk.deliver(false, DELIVER_WITHIN).await
        };
        match done.await.map(|delivered| delivered.trouble) {
            Ok(trouble) => tell(trouble),
            Err(error) => {
                tracing::warn!(error = error.message(), "notices are sent later");
            }
        }
        if !sleeps(ALL_EVERY, &stop).await {
            return;
        }
    }
}

fn tell(trouble: Option<String>) {
    if let Some(trouble) = trouble {
        tracing::warn!(%trouble, "a notice was not taken; it is kept, and sent again later");
    }
}

/// Looks at every batch of which something may be news.
pub(in crate::cli) async fn look_at_all(desk: &Arc<NoticeDesk>) -> Result<(), Error> {
    let looked = Arc::clone(desk);
    let looks = tokio::task::spawn_blocking(move || looks(&looked));
    for (batch, look) in looks.await.map_err(Error::unexpected)?? {
        desk.look_at(&batch, look).await?;
    }
    Ok(())
}

fn looks(desk: &NoticeDesk) -> Result<Vec<(BatchName, Look)>, Error> {
    let reader = Reader::open(desk.journal.location())?;
    let runs = holder(desk.journal.location());
    let silence = reader
        .last_evidence_at()?
        .map_or(Duration::ZERO, |at| Timestamp::now().since(at));
    let mut looks = Vec::new();
    for batch in reader.batches_to_watch()? {
        let standing = reader.snapshot(&batch)?.standing()?;
        if !desk.tells_of(standing.purpose) {
            continue;
        }
        let of_it = format!(", run of batch {batch}, ");
        let runs = runs.as_ref().is_some_and(|note| note.contains(&of_it));
        let look = Look {
            runs,
            // What is not on its way may wait for its time: only its run knows.
            quiet: is_on_its_way(&standing).then_some(silence),
            waits_for_approval: !standing.is_finished() && desk.waits_for_approval(&reader, &batch),
            ..Look::default()
        };
        looks.push((batch, look));
    }
    Ok(looks)
}

fn is_on_its_way(standing: &Standing) -> bool {
    let states = [
        State::Posting,
        State::InDoubt,
        State::Acknowledged,
        State::Delivered,
    ];
    states.iter().any(|state| standing.of(*state).count > 0)
}

/// Waits; returns whether to go on.
async fn sleeps(pause: Duration, stop: &CancellationToken) -> bool {
    tokio::select! {
        () = stop.cancelled() => false,
        () = tokio::time::sleep(pause) => true,
    }
}

/// Since when a run has learned nothing.
struct Quiet {
    states: Vec<(State, u64)>,
    since: Instant,
}

impl Quiet {
    fn begin(now: Instant) -> Self {
        Self {
            states: Vec::new(),
            since: now,
        }
    }

    /// Returns how long no payment has moved; `None` while an opening is waited for.
    fn since(&mut self, progress: &Progress, now: Instant) -> Option<Duration> {
        let states = progress.states.iter();
        let states: Vec<_> = states.map(|(state, tally)| (*state, tally.count)).collect();
        if states != self.states || progress.awaited.window.is_some() {
            self.states = states;
            self.since = now;
            return None;
        }
        Some(now.saturating_duration_since(self.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Tally;
    use crate::engine::Awaited;

    #[test]
    fn nothing_happens_while_no_payment_moves_and_no_opening_is_waited_for() {
        let begun = Instant::now();
        let at = |secs: u64| begun + Duration::from_secs(secs);
        let with = |paid: u64, window: Option<Timestamp>| {
            let tally = Tally {
                count: paid,
                ..Tally::default()
            };
            Progress {
                states: [(State::Paid, tally)].into(),
                awaited: Awaited {
                    window,
                    ..Awaited::default()
                },
                ..Progress::default()
            }
        };
        let opens = Some(Timestamp::from_millis(1));
        let mut quiet = Quiet::begin(begun);
        for (secs, paid, window, expected) in [
            (0, 1, None, None),
            (5, 1, None, Some(5)),
            (900, 1, None, Some(900)),
            // One is paid: from now on anew.
            (905, 2, None, None),
            (910, 2, None, Some(5)),
            (915, 2, opens, None),
            (920, 2, None, Some(5)),
        ] {
            let found = quiet.since(&with(paid, window), at(secs));
            assert_eq!(found, expected.map(Duration::from_secs), "{secs}");
        }
    }
}
