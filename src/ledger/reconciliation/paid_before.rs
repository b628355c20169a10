//! What is paid here, and was shown by an earlier statement, need not be in this one.

use super::finding::FindingKind;
use super::movement::{Moved, Movement};
use crate::domain::Day;
use crate::lifecycle::State;

/// Whether earlier statements show that a payment left once, and nothing else of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaidBefore {
    /// They do not.
    #[default]
    No,
    /// One of another source does. What this source does not have, of the days that it shows, is missing all the same.
    Elsewhere,
    /// One of this source does, on a day that this statement does not show.
    OnOtherDays,
}

impl PaidBefore {
    /// Returns it by what earlier statements of this source show and this one does not, and by what those of each other source show.
    /// `shows`: whether a day is one of this statement.
    #[must_use]
    pub fn of(own: &[Movement], others: &[&[Movement]], shows: impl Fn(Day) -> bool) -> Self {
        let is_once = |movements: &[Movement]| {
            movements.len() == 1 && movements.iter().all(|one| one.moved == Moved::Out)
        };
        let agree = others.iter().all(|other| is_once(other));
        match own {
            [one] if is_once(own) && agree && !shows(one.day) => Self::OnOtherDays,
            [] if agree && !others.is_empty() => Self::Elsewhere,
            _ => Self::No,
        }
    }

    /// Returns what is found of a payment in this state by both.
    #[must_use]
    pub fn with(self, kind: FindingKind, state: State) -> FindingKind {
        let is_enough = match kind {
            FindingKind::MissingThere => self == Self::OnOtherDays,
            FindingKind::NotCovered => self != Self::No,
            _ => false,
        };
        match is_enough && state == State::Paid {
            true => FindingKind::AgreedBefore,
            false => kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Marks;
    use super::*;

    #[test]
    fn what_an_earlier_statement_shows_once_is_not_missing() {
        let moved = |moved, day| Movement {
            day: Day::from_number(day),
            moved,
            is_named: true,
            marks: Marks::default(),
            statement: 0,
        };
        let (out, back) = (moved(Moved::Out, 100), moved(Moved::Back, 100));
        let of = |own: &[Movement], others: &[&[Movement]]| {
            PaidBefore::of(own, others, |day| day.number() >= 105)
        };
        let one = [out.clone()];
        assert_eq!(of(&one, &[]), PaidBefore::OnOtherDays);
        assert_eq!(of(&one, &[&one]), PaidBefore::OnOtherDays);
        assert_eq!(of(&[], &[&one, &one]), PaidBefore::Elsewhere);
        let twice = [out.clone(), out.clone()];
        let returned = [out, back];
        let (one, twice, returned) = (&one[..], &twice[..], &returned[..]);
        let other_day = &[moved(Moved::Out, 105)][..];
        let cases: [(&[Movement], &[&[Movement]]); 7] = [
            (twice, &[]),
            (returned, &[]),
            (&[], &[twice]),
            (&[], &[one, returned]),
            (one, &[returned]),
            (other_day, &[]),
            (&[], &[]),
        ];
        for (own, others) in cases {
            assert_eq!(of(own, others), PaidBefore::No, "{own:?} {others:?}");
        }
    }

    #[test]
    fn only_what_is_paid_here_and_not_shown_is_found_otherwise_by_it() {
        use FindingKind as K;
        for (before, kind, state, found) in [
            (
                PaidBefore::OnOtherDays,
                K::MissingThere,
                State::Paid,
                K::AgreedBefore,
            ),
            (
                PaidBefore::OnOtherDays,
                K::NotCovered,
                State::Paid,
                K::AgreedBefore,
            ),
            (
                PaidBefore::Elsewhere,
                K::NotCovered,
                State::Paid,
                K::AgreedBefore,
            ),
            // A bank that does not show it on the day that it should.
            (
                PaidBefore::Elsewhere,
                K::MissingThere,
                State::Paid,
                K::MissingThere,
            ),
            (PaidBefore::No, K::NotCovered, State::Paid, K::NotCovered),
            (
                PaidBefore::OnOtherDays,
                K::NotCovered,
                State::InDoubt,
                K::NotCovered,
            ),
            (
                PaidBefore::OnOtherDays,
                K::Returned,
                State::Paid,
                K::Returned,
            ),
        ] {
            assert_eq!(before.with(kind, state), found, "{before:?} {kind:?}");
        }
    }
}
