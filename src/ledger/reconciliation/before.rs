//! What earlier statements showed of a payment, beside what this one shows.

use super::finding::Shown;

/// What earlier statements showed of a payment, of lines that this one does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownBefore {
    /// How many lines of statements of the same kind show that its money left.
    pub paid: u32,
    /// How many of them show that it came back.
    pub returned: u32,
    /// How many lines of a statement of another kind show that its money left, the most that one kind has.
    pub paid_elsewhere: u32,
    /// How many of them show that it came back.
    pub returned_elsewhere: u32,
    /// What they moved in another way, in minor units.
    pub otherwise: i64,
}

impl Shown {
    /// Adds what earlier statements showed. Returns whether that changes anything.
    ///
    /// Lines of another kind of statement, such as a bank's beside a gateway's, may tell of the same movement: they are not added, and
    /// count as far as they show more than all lines of this kind. Of a payment that this statement does not show, the earlier
    /// statements have told by themselves; what left otherwise may be a part of what leaves here and there.
    pub fn add_before(&mut self, before: ShownBefore) -> bool {
        let was = *self;
        self.otherwise = self.otherwise.saturating_add(before.otherwise);
        if planted!(ledger::has_a_line(
            self.counts().iter().any(|count| *count > 0)
        )) {
            self.paid = self.paid.saturating_add(before.paid);
            self.returned = self.returned.saturating_add(before.returned);
            self.paid = self.paid.max(before.paid_elsewhere);
            self.returned = self.returned.max(before.returned_elsewhere);
        }
        *self != was
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FindingKind, kind};
    use super::*;
    use crate::lifecycle::State;

    /// Whoever has it once is not to be paid again.
    #[test]
    fn what_left_again_is_told_from_what_nobody_has() {
        for (paid, returned, expected) in [
            (1, 1, FindingKind::Returned),
            (2, 1, FindingKind::LeftAgain),
            (2, 2, FindingKind::Returned),
            (3, 2, FindingKind::LeftAgain),
            (2, 0, FindingKind::TwiceThere),
        ] {
            let shown = Shown::of([paid, returned, 0, 0, 0], (0, 100), None, None);
            let found = kind(State::Paid, true, &shown, true);
            assert_eq!(found, expected, "{paid} {returned}");
        }
    }

    #[test]
    fn what_earlier_statements_showed_adds_up() {
        let before = |paid, returned, returned_elsewhere, otherwise| ShownBefore {
            paid,
            returned,
            returned_elsewhere,
            otherwise,
            ..ShownBefore::default()
        };
        let elsewhere = |paid_elsewhere, returned_elsewhere| ShownBefore {
            paid_elsewhere,
            returned_elsewhere,
            ..ShownBefore::default()
        };
        let shown = |paid, returned, otherwise| {
            Shown::of([paid, returned, 0, 0, 0], (otherwise, 100), None, None)
        };
        // What this statement shows, what earlier ones showed, and what that is together: paid, returned, otherwise.
        let cases = [
            (
                "once here and once there",
                shown(1, 0, 0),
                before(1, 0, 0, 0),
                (2, 0, 0),
            ),
            (
                "it had come back",
                shown(1, 0, 0),
                before(0, 1, 0, 0),
                (1, 1, 0),
            ),
            (
                "it left, and comes back",
                shown(0, 1, 0),
                before(1, 0, 0, 0),
                (1, 1, 0),
            ),
            (
                "a bank and a gateway show one return",
                shown(1, 1, 0),
                before(0, 0, 1, 0),
                (1, 1, 0),
            ),
            (
                "the bank alone shows it",
                shown(1, 0, 0),
                before(0, 0, 1, 0),
                (1, 1, 0),
            ),
            (
                "the bank shows it too",
                shown(1, 0, 0),
                elsewhere(1, 0),
                (1, 0, 0),
            ),
            (
                "the bank shows it twice",
                shown(1, 0, 0),
                elsewhere(2, 0),
                (2, 0, 0),
            ),
            (
                "the bank shows it twice, and once back",
                shown(1, 0, 0),
                elsewhere(2, 1),
                (2, 1, 0),
            ),
            (
                "it left twice, both came back",
                shown(1, 1, 0),
                before(1, 1, 0, 0),
                (2, 2, 0),
            ),
            (
                "this one does not show it",
                shown(0, 0, 0),
                before(1, 0, 0, 0),
                (0, 0, 0),
            ),
            ("parts", shown(0, 0, 30), before(0, 0, 0, 30), (0, 0, 60)),
            (
                "a part that came back",
                shown(0, 0, 30),
                before(0, 0, 0, -30),
                (0, 0, 0),
            ),
        ];
        for (what, mut now, earlier, (paid, returned, otherwise)) in cases {
            let was = now;
            let changes = now.add_before(earlier);
            assert_eq!(
                (now.paid, now.returned, now.otherwise),
                (paid, returned, otherwise),
                "{what}"
            );
            assert_eq!(changes, now != was, "{what}");
        }
    }
}
