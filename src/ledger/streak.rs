//! Words in a row that are not about us: a dialect that is misread, or a journal that is not the one it seems to be.

use crate::domain::PaymentId;

/// So many in a row stop the posts.
const MAX: u32 = 10;

/// Why a lane is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HeldFor {
    /// The gateway wants float.
    #[default]
    Float,
    /// One reply after another named what is not ours. It opens when an answer names what is ours, or a person opens it.
    Misread,
    /// The gateway had one identifier after another before its first post. It opens when an answer about one of them names what
    /// is ours, or a person opens it.
    Taken,
    /// Too many of its payments failed. A person opens it.
    Failures,
}

impl HeldFor {
    /// Returns it as the journal keeps it.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Float => "the gateway wants float (230)",
            Self::Misread => "ten replies in a row named another amount, currency or number",
            Self::Taken => "the gateway answered ten first posts in a row with 229",
            Self::Failures => "more of its payments failed than limits.stop_above allows",
        }
    }

    /// Reads it back.
    #[must_use]
    pub fn of_reason(text: &str) -> Self {
        let others = [Self::Misread, Self::Taken, Self::Failures];
        let found = others.into_iter().find(|held| held.reason() == text);
        found.unwrap_or_default()
    }
}

/// Counts what must not come again and again, and remembers where it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streak {
    count: u32,
    first: Option<PaymentId>,
}

impl Streak {
    /// Notes one more about this payment; returns the first one once there are too many.
    pub fn goes_on(&mut self, seq: PaymentId) -> Option<PaymentId> {
        self.count = self.count.saturating_add(1);
        let first = *self.first.get_or_insert(seq);
        planted!(ledger::streak((self.count >= MAX).then_some(first)))
    }

    /// Notes a word that is as it should be.
    pub fn ends(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_in_a_row_are_too_many_and_a_good_word_begins_anew() {
        // Payments; 0 is a word that is as it should be.
        for (words, expected) in [
            (&[1; 9][..], None),
            (&[1; 10], Some(1)),
            (&[7, 1, 2, 3, 4, 5, 6, 1, 2, 3], Some(7)),
            (&[7, 1, 2, 3, 4, 5, 6, 1, 2, 0, 3, 4], None),
            (&[7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], Some(1)),
        ] {
            let mut streak = Streak::default();
            let mut last = None;
            for word in words {
                last = match word {
                    0 => {
                        streak.ends();
                        None
                    }
                    seq => streak.goes_on(PaymentId::new(*seq)),
                };
            }
            assert_eq!(last.map(PaymentId::get), expected, "{words:?}");
        }
        let _awake = crate::seeded_bugs::SeededBug::StreakGoesOn.wake();
        let mut streak = Streak::default();
        let last = (0..10).map(|_| streak.goes_on(PaymentId::new(1))).last();
        assert_eq!(last, Some(None), "the table finds it");
    }
}
