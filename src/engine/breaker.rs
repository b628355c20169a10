//! The circuit breaker: losses in a row pause the posts, and one probe at a time ends the pause.

use std::time::Duration;

use crate::domain::Timestamp;

const PAUSE_MAX: Duration = Duration::from_secs(300);

/// What the breaker allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Post freely.
    Open,
    /// Post one request, and wait for what becomes of it.
    Probe,
    /// Do not post before this time.
    ShutUntil(Timestamp),
    /// A probe is under way.
    Waiting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { losses: u32 },
    Paused { until: Timestamp, pause: Duration },
    Probing { pause: Duration },
}

/// Counts losses in a row.
#[derive(Clone, Debug)]
pub struct Breaker {
    state: State,
    threshold: u32,
    first_pause: Duration,
}

impl Breaker {
    /// Makes a breaker that trips after `threshold` losses in a row and first pauses for `first_pause`.
    #[must_use]
    pub fn new(threshold: u32, first_pause: Duration) -> Self {
        Self {
            state: State::Closed { losses: 0 },
            threshold: threshold.max(1),
            first_pause,
        }
    }

    /// Returns what is allowed now.
    #[must_use]
    pub fn gate(&self, now: Timestamp) -> Gate {
        match self.state {
            State::Closed { .. } => Gate::Open,
            State::Paused { until, .. } if now < until => Gate::ShutUntil(until),
            State::Paused { .. } => Gate::Probe,
            State::Probing { .. } => Gate::Waiting,
        }
    }

    /// Returns whether posts are paused or probed.
    #[must_use]
    pub fn is_tripped(&self) -> bool {
        !matches!(self.state, State::Closed { .. })
    }

    /// Notes that a request went out.
    pub fn sent(&mut self) {
        if let State::Paused { pause, .. } = self.state {
            self.state = State::Probing { pause };
        }
    }

    /// Notes a usable reply.
    pub fn succeeded(&mut self) {
        self.state = State::Closed { losses: 0 };
    }

    /// Notes a request without a usable reply.
    pub fn failed(&mut self, now: Timestamp) {
        self.state = match self.state {
            State::Closed { losses } if losses + 1 < self.threshold => {
                State::Closed { losses: losses + 1 }
            }
            State::Closed { .. } => self.paused(now, self.first_pause),
            State::Probing { pause } => self.paused(now, pause.saturating_mul(2).min(PAUSE_MAX)),
            // Requests that left before the pause began.
            paused @ State::Paused { .. } => paused,
        };
    }

    /// Notes a reply that decides nothing, such as a request for patience: an undecided probe is made again.
    pub fn postponed(&mut self, now: Timestamp) {
        if let State::Probing { pause } = self.state {
            self.state = State::Paused { until: now, pause };
        }
    }

    fn paused(&self, now: Timestamp, pause: Duration) -> State {
        State::Paused {
            until: now.after(pause),
            pause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_millis(secs * 1000)
    }

    #[test]
    fn losses_in_a_row_pause_and_one_probe_at_a_time_decides() {
        let mut breaker = Breaker::new(3, Duration::from_secs(5));
        breaker.failed(at(0));
        breaker.failed(at(0));
        breaker.succeeded();
        breaker.failed(at(0));
        breaker.failed(at(0));
        assert_eq!(
            breaker.gate(at(0)),
            Gate::Open,
            "a success between starts the count anew"
        );
        breaker.failed(at(0));
        assert_eq!(breaker.gate(at(4)), Gate::ShutUntil(at(5)));
        breaker.failed(at(4));
        assert_eq!(
            breaker.gate(at(5)),
            Gate::Probe,
            "late losses do not stretch the pause"
        );
        breaker.sent();
        assert_eq!(breaker.gate(at(6)), Gate::Waiting);
        breaker.failed(at(6));
        assert_eq!(
            breaker.gate(at(6)),
            Gate::ShutUntil(at(16)),
            "the pause doubles"
        );
        assert_eq!(breaker.gate(at(16)), Gate::Probe);
        breaker.sent();
        breaker.succeeded();
        assert_eq!(breaker.gate(at(16)), Gate::Open);
    }

    #[test]
    fn a_probe_that_is_put_off_is_made_again() {
        let mut breaker = Breaker::new(1, Duration::from_secs(5));
        breaker.postponed(at(0));
        assert_eq!(breaker.gate(at(0)), Gate::Open);
        breaker.failed(at(0));
        breaker.postponed(at(1));
        assert_eq!(
            breaker.gate(at(1)),
            Gate::ShutUntil(at(5)),
            "a late reply does not shorten the pause"
        );
        breaker.sent();
        breaker.postponed(at(6));
        assert_eq!(breaker.gate(at(6)), Gate::Probe);
    }
}
