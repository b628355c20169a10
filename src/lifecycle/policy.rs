//! How long to wait, and for what.

use std::time::Duration;

use crate::domain::Timestamp;

use super::{PaymentState, State, StepContext};

/// What settles a payment when a callback names a final status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleOn {
    /// The callback itself.
    Callback,
    /// A status query that agrees; the callback only hastens it.
    Confirmed,
}

/// The waits of one deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// From a loss to the first status query (section 7.5: not at once).
    pub first_query_after: Duration,
    /// The longest pause between two queries about one payment.
    pub query_backoff_max: Duration,
    /// How long an acknowledged payment waits for its callback before it is asked about.
    pub callback_grace: Duration,
    /// How long a payment delivered to its bank waits for word of its settlement before it is asked about.
    pub delivered_grace: Duration,
    /// How long after the last post "not found" proves nothing.
    pub not_found_quarantine: Duration,
    /// How long after the last post the asking ends; a resumed run asks as long about what is in doubt.
    pub give_up_after: Duration,
    /// The same for a delivered payment, counted from its delivery: settlement between banks stops over a weekend.
    pub delivered_give_up_after: Duration,
    /// How many posts may vanish without a trace before only an operator may order another.
    pub exposures_max: u32,
    /// The first pause before an unsent post is tried again; it doubles up to a minute.
    pub post_backoff: Duration,
    /// What settles a payment.
    pub settle_on: SettleOn,
    /// Callbacks are configured: acknowledged payments wait for them.
    pub callbacks: bool,
    /// The deployment has a status query.
    pub status_query: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            first_query_after: Duration::from_secs(40),
            query_backoff_max: Duration::from_secs(600),
            callback_grace: Duration::from_secs(300),
            delivered_grace: Duration::from_secs(900),
            not_found_quarantine: Duration::from_secs(120),
            give_up_after: Duration::from_secs(24 * 3600),
            delivered_give_up_after: Duration::from_secs(72 * 3600),
            exposures_max: 50,
            post_backoff: Duration::from_secs(1),
            settle_on: SettleOn::Callback,
            callbacks: true,
            status_query: true,
        }
    }
}

const POST_BACKOFF_MAX: Duration = Duration::from_secs(60);

impl Policy {
    /// Returns when an unsent post may be tried again.
    pub(super) fn next_post(&self, attempts: u32, moment: StepContext) -> Timestamp {
        let pause = doubled(
            self.post_backoff,
            attempts.saturating_sub(1),
            POST_BACKOFF_MAX,
        );
        moment.now.after(shortened(pause, moment.jitter))
    }

    /// Returns when the first query about a payment is due after evidence moved it into `state`.
    pub(super) fn first_query(&self, state: State, moment: StepContext) -> Option<Timestamp> {
        let pause = match state {
            // Settlement takes its time, whether a callback tells of it or not.
            State::Delivered => self.delivered_grace,
            State::Acknowledged if self.callbacks => self.callback_grace,
            State::Acknowledged
            | State::Ready
            | State::Posting
            | State::InDoubt
            | State::Paid
            | State::Failed
            | State::Cancelled
            | State::Conflict => self.first_query_after,
        };
        self.status_query.then(|| moment.now.after(pause))
    }

    /// Returns when the next query is due after `life.queries` that changed nothing; `None` when it is time to give up.
    pub(super) fn next_query(&self, life: &PaymentState, moment: StepContext) -> Option<Timestamp> {
        // A doubt begins anew with a run: one that resumes after a long pause must be able to ask more than once. A delivery
        // may come long after the post.
        // What a process beside the run noted by a clock that is ahead says nothing here.
        let noted = life.quarantine_from.filter(|from| *from <= moment.now);
        let since = life.posted_at.max(noted);
        let longest = if life.state == State::Delivered {
            self.delivered_give_up_after
        } else {
            self.give_up_after
        };
        let given_up = since.is_some_and(|since| moment.now.since(since) >= longest);
        if given_up || !self.status_query {
            return None;
        }
        let first = self.first_query_after.min(self.query_backoff_max);
        let pause = doubled(
            first,
            life.queries.saturating_sub(1),
            self.query_backoff_max,
        );
        Some(moment.now.after(shortened(pause, moment.jitter)))
    }

    /// Returns when a payment that has ended is asked about again, after so many queries that brought nothing.
    #[must_use]
    pub fn next_inquiry(&self, queries: u32, moment: StepContext) -> Timestamp {
        let first = self.first_query_after.min(self.query_backoff_max);
        let pause = doubled(first, queries.saturating_sub(1), self.query_backoff_max);
        moment.now.after(shortened(pause, moment.jitter))
    }

    /// Returns the time within which a run decides about a payment in doubt that the gateway does not know: its quarantine begins
    /// with the run, and "not found" has to be said twice after that. `None` where the gateway cannot be asked.
    #[must_use]
    pub fn decides_within(&self) -> Option<Duration> {
        let asked_twice = self.first_query_after.max(2 * self.query_backoff_max);
        self.status_query
            .then_some(self.not_found_quarantine + asked_twice)
    }

    /// Returns when "not found" begins to prove something.
    #[must_use]
    pub fn quarantine_ends(&self, life: &PaymentState) -> Timestamp {
        life.quarantine_from
            .or(life.posted_at)
            .unwrap_or_default()
            .after(self.not_found_quarantine)
    }
}

fn doubled(first: Duration, times: u32, max: Duration) -> Duration {
    first
        .saturating_mul(2_u32.saturating_pow(times.min(20)))
        .min(max)
}

// Shortened rather than stretched, so that the configured maximum stays one.
fn shortened(pause: Duration, jitter: u8) -> Duration {
    pause - pause * u32::from(jitter) / (4 * 255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_decides_within_the_quarantine_and_two_questions() {
        let secs = Duration::from_secs;
        for (first, backoff, quarantine, can_ask, expected) in [
            (40, 600, 120, true, Some(1_320)),
            (40, 10, 120, true, Some(160)),
            (40, 600, 120, false, None),
        ] {
            let policy = Policy {
                first_query_after: secs(first),
                query_backoff_max: secs(backoff),
                not_found_quarantine: secs(quarantine),
                status_query: can_ask,
                ..Policy::default()
            };
            assert_eq!(policy.decides_within(), expected.map(secs));
        }
    }

    #[test]
    fn backoff_doubles_to_its_maximum_and_jitter_only_shortens_it() {
        let policy = Policy::default();
        let at = |queries, jitter| {
            let life = PaymentState {
                queries,
                ..PaymentState::NEW
            };
            let now = Timestamp::from_millis(0);
            policy
                .next_query(&life, StepContext { now, jitter })
                .unwrap()
                .as_millis()
                / 1000
        };
        assert_eq!(
            [at(1, 0), at(2, 0), at(3, 0), at(9, 0), at(u32::MAX, 0)],
            [40, 80, 160, 600, 600]
        );
        assert_eq!([at(1, 255), at(9, 255)], [30, 450]);
    }

    #[test]
    fn asking_ends_after_give_up() {
        let policy = Policy::default();
        let life = PaymentState {
            posted_at: Some(Timestamp::from_millis(0)),
            ..PaymentState::NEW
        };
        let at = |secs: i64| StepContext {
            now: Timestamp::from_millis(secs * 1000),
            jitter: 0,
        };
        assert!(policy.next_query(&life, at(86_399)).is_some());
        assert!(policy.next_query(&life, at(86_400)).is_none());
        let delivered = PaymentState {
            state: State::Delivered,
            quarantine_from: Some(Timestamp::from_millis(80_000_000)),
            ..life
        };
        assert!(
            policy
                .next_query(&delivered, at(80_000 + 259_199))
                .is_some(),
            "from its delivery on, over a weekend"
        );
        assert!(
            policy
                .next_query(&delivered, at(80_000 + 259_200))
                .is_none()
        );
        let ahead = PaymentState {
            quarantine_from: Some(Timestamp::from_millis(i64::MAX / 2)),
            ..delivered
        };
        assert!(policy.next_query(&ahead, at(259_199)).is_some());
        assert!(
            policy.next_query(&ahead, at(259_200)).is_none(),
            "a clock that is ahead puts the end off for nobody"
        );
        let resumed = PaymentState {
            quarantine_from: Some(Timestamp::from_millis(90_000_000)),
            ..life
        };
        assert!(policy.next_query(&resumed, at(176_399)).is_some());
        assert!(policy.next_query(&resumed, at(176_400)).is_none());
    }
}
