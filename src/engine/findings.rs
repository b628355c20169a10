//! Outcomes on their way to the journal.

use std::time::Duration;

use tokio::time::Instant;

use crate::journal::Finding;

/// Outcomes recorded in one transaction.
pub(super) const GROUP_MAX: usize = 1024;
/// Outcomes that are recorded without waiting for more of them.
const GROUP_MIN: usize = 256;
/// How long outcomes wait for more of them while posts are under way: a commit costs the same for one and for many. Where it takes
/// longer, on a server that is far away or that others write to, they wait longer, so that others have their turns.
const GATHER: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// So many times as long as the last transaction took.
const GATHERS_FOR: u32 = 10;

/// Outcomes that wait for a transaction, one at a time.
#[derive(Debug, Default)]
pub(super) struct Findings {
    waiting: Vec<Finding>,
    /// Since when a transaction is under way.
    recording: Option<Instant>,
    gathers_until: Option<Instant>,
    took: Duration,
}

/// What is to be done about them.
#[derive(Debug)]
pub(super) enum Next {
    /// Nothing: there are none, or the transaction is under way.
    Nothing,
    /// Look again then: more of them may come until then.
    Gather(Instant),
    /// Record these.
    Record(Vec<Finding>),
}

impl Findings {
    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.waiting.extend(findings);
    }

    /// Returns how many wait, besides those that are being recorded.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether all of them are recorded.
    pub(super) fn are_recorded(&self) -> bool {
        self.waiting.is_empty() && self.recording.is_none()
    }

    /// Takes those that are to be recorded now; more may come only while posts are under way.
    pub(super) fn next(&mut self, more_may_come: bool, now: Instant) -> Next {
        if self.recording.is_some() || self.waiting.is_empty() {
            return Next::Nothing;
        }
        if more_may_come && self.waiting.len() < GROUP_MIN {
            let wait = (self.took * GATHERS_FOR).clamp(GATHER.0, GATHER.1);
            let until = *self.gathers_until.get_or_insert(now + wait);
            if now < until {
                return Next::Gather(until);
            }
        }
        self.gathers_until = None;
        self.recording = Some(now);
        let rest = self.waiting.split_off(self.waiting.len().min(GROUP_MAX));
        Next::Record(std::mem::replace(&mut self.waiting, rest))
    }

    /// Notes that the transaction has ended.
    pub(super) fn recorded(&mut self, now: Instant) {
        if let Some(since) = self.recording.take() {
            self.took = now.saturating_duration_since(since);
        }
    }

    /// Forgets them: the journal takes nothing any more.
    pub(super) fn forget(&mut self) {
        self.recording = None;
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{PaymentId, ResponseDetails};
    use crate::lifecycle::Event;

    fn some(count: usize) -> impl Iterator<Item = Finding> {
        std::iter::repeat_n(
            Finding {
                seq: PaymentId::new(1),
                event: Event::Lost,
                said: ResponseDetails::default(),
                asked: None,
            },
            count,
        )
    }

    fn recorded(next: Next) -> usize {
        match next {
            Next::Record(group) => group.len(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn outcomes_wait_a_moment_for_more_and_no_longer() {
        let now = Instant::now();
        let mut findings = Findings::default();
        assert!(matches!(findings.next(true, now), Next::Nothing));
        findings.extend(some(1));
        let Next::Gather(until) = findings.next(true, now) else {
            panic!("more may come");
        };
        assert_eq!(until, now + GATHER.0);
        findings.extend(some(1));
        let Next::Gather(still) = findings.next(true, until - Duration::from_millis(1)) else {
            panic!("more may come");
        };
        assert_eq!(still, until, "what comes later does not prolong the wait");
        assert_eq!(recorded(findings.next(true, until)), 2);
    }

    #[test]
    fn they_wait_longer_where_a_transaction_takes_longer() {
        let now = Instant::now();
        for (took, wait) in [(0, 5), (1, 10), (20, 200), (400, 500)] {
            let mut findings = Findings::default();
            findings.extend(some(GROUP_MIN));
            assert_eq!(recorded(findings.next(true, now)), GROUP_MIN);
            let then = now + Duration::from_millis(took);
            findings.recorded(then);
            findings.extend(some(1));
            let Next::Gather(until) = findings.next(true, then) else {
                panic!("more may come");
            };
            assert_eq!(until - then, Duration::from_millis(wait), "{took} ms");
        }
    }

    #[test]
    fn a_full_group_and_the_last_outcomes_do_not_wait_and_one_group_is_under_way_at_a_time() {
        let now = Instant::now();
        let mut findings = Findings::default();
        findings.extend(some(GROUP_MIN));
        assert_eq!(recorded(findings.next(true, now)), GROUP_MIN);
        findings.extend(some(GROUP_MAX + 1));
        assert!(matches!(findings.next(true, now), Next::Nothing));
        assert!(!findings.are_recorded());
        findings.recorded(now);
        assert_eq!(recorded(findings.next(true, now)), GROUP_MAX);
        findings.recorded(now);
        assert_eq!(
            recorded(findings.next(false, now)),
            1,
            "nothing else is under way"
        );
        assert!(!findings.are_recorded());
        findings.recorded(now);
        assert!(findings.are_recorded());
    }
}
