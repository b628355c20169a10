//! Repeats and retries: somebody may have heard of the earlier post, or of an earlier generation, since they were claimed.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::pace::Pause;
use crate::domain::PaymentId;

/// The journal is asked before a slot by twice as long as its last answer took, and by this.
const ASKS_AHEAD: Duration = Duration::from_millis(20);
/// And by no more than this: what it says must be fresh.
const ASKS_AHEAD_MAX: Duration = Duration::from_millis(500);

/// What is known of the repeats and retries that are next to leave.
///
/// The journal is asked before the turn is taken: between the turn and the departure nothing is waited for, or two
/// payments could leave closer together than the rate allows. And a turn that is not there yet is waited for before the
/// journal is asked: what it says must be fresh when the repeat leaves. A slot does not wait for the answer: the journal is
/// asked so long before that the answer is there by then, and that is kept until it comes.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// Since when the journal is being asked.
    looking: Option<Instant>,
    /// How long its last answer took.
    took: Duration,
    /// The answer that is under way may be older than what was heard meanwhile.
    doubted: bool,
    cleared: BTreeSet<PaymentId>,
    turn_at: Option<Instant>,
    /// How long its last answer is kept for a slot.
    kept_until: Option<Instant>,
    /// A slot comes within that time.
    is_kept: bool,
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
        if self.is_kept && self.kept_until.is_none_or(|until| now > until) {
            self.cleared.clear();
        }
        if seqs.iter().all(|seq| self.cleared.contains(seq)) {
            return None;
        }
        match self.turn_at.filter(|at| *at > now) {
            _ if self.looking.is_some() => Some(Wait::Answer),
            Some(at) => Some(Wait::Turn(at)),
            None => {
                self.looking = Some(now);
                Some(Wait::Question)
            }
        }
    }

    /// Takes in which of them still wait to be posted.
    pub(super) fn answered(&mut self, still: impl IntoIterator<Item = PaymentId>, now: Instant) {
        if let Some(asked) = self.looking.take() {
            self.took = now.saturating_duration_since(asked);
        }
        self.kept_until = Some(now + self.asks_ahead());
        self.cleared = still.into_iter().collect();
        if std::mem::take(&mut self.doubted) {
            self.cleared.clear();
        }
    }

    /// Notes that something ended has moved: what was answered before is worth nothing, and so is what was asked before.
    pub(super) fn doubt(&mut self) {
        self.cleared.clear();
        self.doubted = self.looking.is_some();
    }

    /// Notes that a post had its turn.
    pub(super) fn turned(&mut self) {
        self.turn_at = None;
        self.is_kept = false;
    }

    /// Notes what the next post, with these repeats, waits for; returns when that is to be looked at again.
    pub(super) fn wait_for(
        &mut self,
        pause: Option<Pause>,
        seqs: &[PaymentId],
        now: Instant,
    ) -> Instant {
        let turn = now + pause.map_or(Duration::ZERO, Pause::get);
        let asks_at = match pause {
            Some(Pause::Slot(pause)) => now + pause.saturating_sub(self.asks_ahead()),
            Some(Pause::Turn(_) | Pause::Grant(_)) | None => turn,
        };
        self.turn_at = pause.map(|_| asks_at);
        self.is_kept = matches!(pause, Some(Pause::Slot(_)) if asks_at <= now);
        match asks_at > now && !seqs.is_empty() {
            true => asks_at,
            false => turn,
        }
    }

    /// Notes that all has left that could: an answer serves no later departure, but for that in a slot that comes at once.
    pub(super) fn forget_answer(&mut self) {
        if !self.is_kept {
            self.cleared.clear();
        }
    }

    /// Returns how long before a slot the journal is asked.
    fn asks_ahead(&self) -> Duration {
        (self.took * 2 + ASKS_AHEAD).min(ASKS_AHEAD_MAX)
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
        repeats.answered(ids([1]), start);
        assert_eq!(repeats.wait(&ids([1]), start), None);
        repeats.wait_for(Some(Pause::Turn(turn - start)), &ids([1]), start);
        repeats.forget_answer();
        assert_eq!(repeats.wait(&ids([1]), start), Some(Wait::Turn(turn)));
        assert_eq!(repeats.wait(&ids([1]), turn), Some(Wait::Question));
        repeats.answered(ids([1]), start);
        assert_eq!(repeats.wait(&ids([1, 3]), turn), Some(Wait::Question));
        // An answer that was asked for before an ended payment moved is asked for again.
        repeats.doubt();
        repeats.answered(ids([1, 3]), start);
        assert_eq!(repeats.wait(&ids([1, 3]), turn), Some(Wait::Question));
        repeats.answered(ids([1, 3]), start);
        assert_eq!(repeats.wait(&ids([1, 3]), turn), None);
        repeats.doubt();
        assert_eq!(repeats.wait(&ids([1, 3]), turn), Some(Wait::Question));
        repeats.answered(ids([1, 3]), start);
        repeats.turned();
        repeats.forget_answer();
        assert_eq!(repeats.wait(&ids([1]), turn), Some(Wait::Question));
    }

    // A slot does not wait for the answer.
    #[test]
    fn an_answer_is_there_when_a_slot_comes_and_is_kept_no_longer() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let slot = |millis| Some(Pause::Slot(Duration::from_millis(millis)));
        let mut repeats = Repeats::default();
        // Nothing is asked while no slot is known.
        let pause = Some(Pause::Grant(Duration::from_millis(100)));
        assert_eq!(repeats.wait_for(pause, &ids([1]), start), at(100));
        assert_eq!(repeats.wait(&ids([1]), start), Some(Wait::Turn(at(100))));
        assert_eq!(repeats.wait_for(slot(600), &ids([1]), start), at(580));
        assert_eq!(repeats.wait_for(slot(600), &[], start), at(600));
        assert_eq!(repeats.wait(&ids([1]), at(580)), Some(Wait::Question));
        // The answer takes longer than was thought, and the slot is missed: the next one is asked for sooner.
        repeats.answered(ids([1]), at(610));
        assert_eq!(repeats.wait(&ids([1]), at(610)), None);
        assert_eq!(repeats.wait_for(slot(990), &ids([1]), at(610)), at(1_520));
        repeats.forget_answer();
        assert_eq!(repeats.wait(&ids([1]), at(1_520)), Some(Wait::Question));
        repeats.answered(ids([1]), at(1_550));
        assert_eq!(repeats.wait_for(slot(50), &ids([1]), at(1_550)), at(1_600));
        repeats.forget_answer();
        assert_eq!(repeats.wait(&ids([1]), at(1_600)), None, "it is kept");
        // But not for ever.
        assert_eq!(repeats.wait_for(slot(60), &ids([1]), at(1_600)), at(1_660));
        repeats.forget_answer();
        assert_eq!(repeats.wait(&ids([1]), at(1_660)), Some(Wait::Question));
        // And what moves meanwhile takes it back.
        repeats.answered(ids([1]), at(1_670));
        repeats.wait_for(slot(10), &ids([1]), at(1_670));
        repeats.doubt();
        repeats.forget_answer();
        assert_eq!(repeats.wait(&ids([1]), at(1_680)), Some(Wait::Question));
        repeats.answered(ids([1]), at(1_685));
        repeats.wait_for(slot(10), &ids([1]), at(1_685));
        repeats.turned();
        repeats.forget_answer();
        assert_eq!(repeats.wait(&ids([1]), at(1_700)), Some(Wait::Question));
    }
}
