//! Where a statement comes from: whether lines of two statements that tell of one payment add up, or may tell of the same movement.

use super::marks::account_mark;
use super::movement::{Kinship, Moved, Movement};

/// What is known of where a statement comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The family of its format, and the headers by which its table is known: words with a blank between them.
    pub kind: String,
    /// The account, where it names it.
    pub account: Option<String>,
}

impl Source {
    /// Returns how much it has in common with another one. An account that is not named tells nothing apart.
    #[must_use]
    pub fn kinship(&self, other: &Self) -> Kinship {
        let account = |source: &Self| source.account.as_deref().and_then(account_mark);
        if let (Some(here), Some(there)) = (account(self), account(other))
            && here != there
        {
            return Kinship::Other;
        }
        if self.kind == other.kind {
            return Kinship::Same;
        }
        let has = |source: &Self, word: &str| source.kind.split(' ').any(|own| own == word);
        let within = |one: &Self, other: &Self| one.kind.split(' ').all(|word| has(other, word));
        match within(self, other) || within(other, self) {
            true => Kinship::Near,
            false => Kinship::Other,
        }
    }
}

/// A bank may book so many days after a gateway.
const LATER: u32 = 3;

/// Returns whether one of the movements that another source shows, and this one does not, can hardly be one of those that this one shows:
/// it may be that the money left twice.
#[must_use]
pub fn is_apart(kinship: Kinship, left: &[Movement], shown: &[Movement]) -> bool {
    let is_out = |movement: &&Movement| movement.moved == Moved::Out;
    let is_near = |there: &Movement, here: &Movement| {
        kinship == Kinship::Other && there.day.number().abs_diff(here.day.number()) <= LATER
    };
    let can_be = |there: &Movement, here: &Movement| there.can_be(here) || is_near(there, here);
    let is_apart = |there: &Movement| !shown.iter().filter(is_out).any(|here| can_be(there, here));
    shown.iter().any(|movement| is_out(&movement))
        && left
            .iter()
            .filter(is_out)
            .any(|there| there.is_named && is_apart(there))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Day;
    use crate::ledger::reconciliation::Marks;

    #[test]
    fn sources_are_told_by_their_headers_and_accounts() {
        let source = |kind: &str, account: &str| Source {
            kind: kind.to_owned(),
            account: (!account.is_empty()).then(|| account.to_owned()),
        };
        let cases = [
            (
                "the same",
                "t date=d amount=a",
                "7",
                "t date=d amount=a",
                "7",
                Kinship::Same,
            ),
            (
                "written otherwise",
                "t",
                "KE12 3456",
                "t",
                "ke123456",
                Kinship::Same,
            ),
            ("not named", "t", "KE12", "t", "", Kinship::Same),
            ("another account", "t", "KE12", "t", "KE13", Kinship::Other),
            (
                "a column more",
                "t date=d",
                "",
                "t date=d status=s",
                "",
                Kinship::Near,
            ),
            (
                "a column less",
                "t date=d status=s",
                "",
                "t date=d",
                "",
                Kinship::Near,
            ),
            (
                "another column",
                "t date=d",
                "",
                "t date=day",
                "",
                Kinship::Other,
            ),
            ("another format", "camt", "", "mt940", "", Kinship::Other),
        ];
        for (what, kind, account, other, its, kinship) in cases {
            let (here, there) = (source(kind, account), source(other, its));
            assert_eq!(here.kinship(&there), kinship, "{what}");
            assert_eq!(there.kinship(&here), kinship, "{what}");
        }
    }

    #[test]
    fn what_another_source_books_days_later_is_told_apart() {
        let out = |day| Movement {
            day: Day::from_number(day),
            moved: Moved::Out,
            is_named: true,
            marks: Marks::default(),
            statement: 0,
        };
        let cases = [
            ("the next day at a bank", Kinship::Other, 101, false),
            ("after a weekend", Kinship::Other, 103, false),
            ("the day before", Kinship::Other, 99, false),
            ("a week later", Kinship::Other, 107, true),
            (
                "the next day, by an export that has changed",
                Kinship::Near,
                101,
                true,
            ),
            ("the same day", Kinship::Near, 100, false),
        ];
        for (what, kinship, day, apart) in cases {
            assert_eq!(is_apart(kinship, &[out(day)], &[out(100)]), apart, "{what}");
        }
        // Where this statement does not show it at all, the other one has told of it.
        assert!(!is_apart(Kinship::Other, &[out(107)], &[]));
        let back = Movement {
            moved: Moved::Back,
            ..out(107)
        };
        assert!(!is_apart(Kinship::Other, &[back], &[out(100)]));
    }
}
