//! Which question in a row about a payment the next one is: what a person who waits wants to know.

use std::collections::BTreeMap;

use crate::domain::Timestamp;

/// Moments that are remembered; what is due later than all of them is noted when it is moved again.
const MOMENTS: usize = 256;

/// When payments that were asked about in vain are asked about again, and for which time.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    moments: BTreeMap<Timestamp, u32>,
}

impl Rounds {
    /// Notes that a payment, asked about `queries` times in vain, is asked about again.
    pub(super) fn note(&mut self, at: Timestamp, queries: u32) {
        if queries == 0 {
            return;
        }
        let nth = self.moments.entry(at).or_default();
        *nth = queries.saturating_add(1).max(*nth);
        if self.moments.len() > MOMENTS {
            self.moments.pop_last();
        }
    }

    /// Forgets what is over.
    pub(super) fn forget_before(&mut self, now: Timestamp) {
        while let Some(first) = self
            .moments
            .first_entry()
            .filter(|first| *first.key() < now)
        {
            first.remove();
        }
    }

    /// Returns which question in a row the one at this moment is; `None` of a first one, and of one that nothing was noted of.
    pub(super) fn nth(&self, at: Timestamp) -> Option<u32> {
        self.moments.get(&at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_comes_again_knows_for_which_time() {
        let at = |second: i64| Timestamp::from_millis(second * 1000);
        let mut rounds = Rounds::default();
        rounds.note(at(1), 0);
        assert_eq!(rounds.nth(at(1)), None, "a first question");
        rounds.note(at(2), 2);
        rounds.note(at(2), 1);
        rounds.note(at(3), 5);
        assert_eq!((rounds.nth(at(2)), rounds.nth(at(3))), (Some(3), Some(6)));
        rounds.forget_before(at(3));
        assert_eq!((rounds.nth(at(2)), rounds.nth(at(3))), (None, Some(6)));
        for second in 0..10_000 {
            rounds.note(at(second), 1);
        }
        assert_eq!(rounds.moments.len(), MOMENTS);
        assert_eq!(rounds.nth(at(0)), Some(2), "what comes first stays");
    }
}
