//! Repeats and retries: somebody may have heard of the earlier post, or of an earlier generation, since they were claimed.

use std::collections::BTreeSet;

use tokio::time::Instant;

use crate::domain::PaymentId;

/// What is known of the repeats and retries that are next to leave.
///
/// The journal is asked before the turn is taken: between the turn and the departure nothing is waited for, or two
/// payments could leave closer together than the rate allows. And a turn that is not there yet is waited for before the
/// journal is asked: what it says must be fresh when the repeat leaves.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    looking: bool,
    /// The answer that is under way may be older than what was heard meanwhile.
    doubted: bool,
    cleared: BTreeSet<PaymentId>,
    turn_at: Option<Instant>,
}

/// What a post with repeats waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// The time at which its turn may come.
    Turn(Instant),
    /// An answer of the journal, which is to be asked for.
    Question,
    /// An answer of the journal, which is under way.
    Answer,
}

impl Repeats {
    /// Returns what a post with these repeats waits for; `None` when it may leave once it has its turn.
    pub(super) fn wait(&mut self, seqs: &[PaymentId], now: Instant) -> Option<Wait> {
        if seqs.iter().all(|seq| self.cleared.contains(seq)) {
            return None;
        }
        match self.turn_at.filter(|at| *at > now) {
            _ if self.looking => Some(Wait::Answer),
            Some(at) => Some(Wait::Turn(at)),
            None => {
                self.looking = true;
                Some(Wait::Question)
            }
        }
    }

    /// Takes in which of them still wait to be posted.
    pub(super) fn answered(&mut self, still: impl IntoIterator<Item = PaymentId>) {
        self.looking = false;
        self.cleared = still.into_iter().collect();
        if std::mem::take(&mut self.doubted) {
            self.cleared.clear();
        }
    }

    /// Notes that something ended has moved: what was answered before is worth nothing, and so is what was asked before.
    pub(super) fn doubt(&mut self) {
        self.cleared.clear();
        self.doubted = self.looking;
    }

    /// Notes that a post had its turn, or when it may have one.
    pub(super) fn turned(&mut self, turn_at: Option<Instant>) {
        self.turn_at = turn_at;
    }

    /// Notes that all has left that could: an answer serves no later departure.
    pub(super) fn forget_answer(&mut self) {
        self.cleared.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ids<const N: usize>(numbers: [i64; N]) -> [PaymentId; N] {
        numbers.map(PaymentId::new)
    }

    #[test]
    fn an_answer_serves_one_departure_and_is_asked_for_when_the_turn_comes() {
        let start = Instant::now();
        let turn = start + Duration::from_secs(1);
        let mut repeats = Repeats::default();
        assert_eq!(repeats.wait(&[], start), None, "first posts ask nothing");
        assert_eq!(repeats.wait(&ids([1, 2]), start), Some(Wait::Question));
        assert_eq!(repeats.wait(&ids([1, 2]), start), Some(Wait::Answer));
        repeats.answered(ids([1]));
        assert_eq!(repeats.wait(&ids([1]), start), None);
        repeats.turned(Some(turn));
        repeats.forget_answer();
        assert_eq!(repeats.wait(&ids([1]), start), Some(Wait::Turn(turn)));
        assert_eq!(repeats.wait(&ids([1]), turn), Some(Wait::Question));
        repeats.answered(ids([1]));
        assert_eq!(repeats.wait(&ids([1, 3]), turn), Some(Wait::Question));
        // An answer that was asked for before an ended payment moved is asked for again.
        repeats.doubt();
        repeats.answered(ids([1, 3]));
        assert_eq!(repeats.wait(&ids([1, 3]), turn), Some(Wait::Question));
        repeats.answered(ids([1, 3]));
        assert_eq!(repeats.wait(&ids([1, 3]), turn), None);
        repeats.doubt();
        assert_eq!(repeats.wait(&ids([1, 3]), turn), Some(Wait::Question));
        repeats.answered(ids([1, 3]));
        repeats.turned(None);
        repeats.forget_answer();
        assert_eq!(repeats.wait(&ids([1]), turn), Some(Wait::Question));
    }
}
