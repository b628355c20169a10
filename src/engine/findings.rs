//! Outcomes on their way to the journal.

use std::time::Duration;

use tokio::time::Instant;

use crate::journal::Finding;

/// Outcomes recorded in one transaction.
pub(super) const GROUP_MAX: usize = 1024;
/// Outcomes that are recorded without waiting for more of them.
const GROUP_MIN: usize = 256;
/// How long outcomes wait for more of them while posts are under way: a commit costs the same for one and for many.
const GATHER: Duration = Duration::from_millis(5);

/// Outcomes that wait for a transaction, one at a time.
#[derive(Debug, Default)]
pub(super) struct Findings {
    waiting: Vec<Finding>,
    recording: bool,
    gathers_until: Option<Instant>,
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
        self.waiting.is_empty() && !self.recording
    }

    /// Takes those that are to be recorded now; more may come only while posts are under way.
    pub(super) fn next(&mut self, more_may_come: bool, now: Instant) -> Next {
        if self.recording || self.waiting.is_empty() {
            return Next::Nothing;
        }
        if more_may_come && self.waiting.len() < GROUP_MIN {
            let until = *self.gathers_until.get_or_insert(now + GATHER);
            if now < until {
                return Next::Gather(until);
            }
        }
        self.gathers_until = None;
        self.recording = true;
        let rest = self.waiting.split_off(self.waiting.len().min(GROUP_MAX));
        Next::Record(std::mem::replace(&mut self.waiting, rest))
    }

    /// Notes that the transaction has ended.
    pub(super) fn recorded(&mut self) {
        self.recording = false;
    }

    /// Forgets them: the journal takes nothing any more.
    pub(super) fn forget(&mut self) {
        self.recording = false;
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
        assert_eq!(until, now + GATHER);
        findings.extend(some(1));
        let Next::Gather(still) = findings.next(true, until - Duration::from_millis(1)) else {
            panic!("more may come");
        };
        assert_eq!(still, until, "what comes later does not prolong the wait");
        assert_eq!(recorded(findings.next(true, until)), 2);
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
        findings.recorded();
        assert_eq!(recorded(findings.next(true, now)), GROUP_MAX);
        findings.recorded();
        assert_eq!(
            recorded(findings.next(false, now)),
            1,
            "nothing else is under way"
        );
        assert!(!findings.are_recorded());
        findings.recorded();
        assert!(findings.are_recorded());
    }
}
