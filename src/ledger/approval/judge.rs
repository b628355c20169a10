//! How far a batch may be posted by the signatures that are on record.

use super::ssh::PublicKey;
use crate::domain::PaymentId;
use crate::ledger::confirmation::Bound;

/// Who signed with what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hand {
    /// The person, as the file of signers names them.
    pub by: String,
    /// The key.
    pub key: PublicKey,
}

impl Hand {
    /// Returns whether two signatures may be those of two people: neither name nor key is the same.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        // Nobody is two people by the case of a letter.
        let differs = !self.by.eq_ignore_ascii_case(&other.by) && self.key != other.key;
        planted!(ledger::differs(differs, self, other))
    }
}

/// Somebody signed that the rows from here on are theirs, valid still or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedBy {
    /// Who.
    pub hand: Hand,
    /// The first instruction that they loaded; none: they changed documents of rows that were there.
    pub first: PaymentId,
}

/// An approval that is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Who.
    pub hand: Hand,
    /// How far it reaches.
    pub bound: Bound,
}

/// Returns whether an approval is by somebody else than whoever loaded what it covers.
#[must_use]
pub fn is_anothers(approval: &Approval, loaders: &[LoadedBy]) -> bool {
    let is_anothers = loaders
        .iter()
        .filter(|loader| loader.first <= approval.bound.instruction)
        .all(|loader| loader.hand.differs(&approval.hand));
    planted!(ledger::is_anothers(is_anothers))
}

/// Returns how far posting may go: as far as `required` people who are neither one another nor the loaders have approved, and
/// before `unsigned`, the first instruction that nobody has signed to have loaded.
#[must_use]
pub fn reach(
    required: u8,
    loaders: &[LoadedBy],
    unsigned: Option<PaymentId>,
    approvals: &[Approval],
) -> Bound {
    let good: Vec<&Approval> = approvals
        .iter()
        .filter(|approval| is_anothers(approval, loaders))
        .collect();
    let order = |bound: &Bound| (bound.instruction, bound.bill);
    let best = match required {
        0 => Some(Bound::EVERYTHING),
        1 => good.iter().map(|one| one.bound).max_by_key(order),
        _ => good
            .iter()
            .enumerate()
            .flat_map(|(at, one)| good[at + 1..].iter().map(move |other| (one, other)))
            .filter(|(one, other)| one.hand.differs(&other.hand))
            .map(|(one, other)| one.bound.least(other.bound))
            .max_by_key(order),
    };
    let best = best.unwrap_or(Bound::NOTHING);
    Bound {
        instruction: unsigned.map_or(best.instruction, |first| {
            best.instruction.min(first.before())
        }),
        ..best
    }
}

#[cfg(test)]
mod tests {
    use super::super::ssh::made_up::public;
    use super::*;
    use crate::domain::BillId;

    fn hand((by, key): (&str, u8)) -> Hand {
        Hand {
            by: by.to_owned(),
            key: PublicKey::of_line(&public(key)).unwrap(),
        }
    }

    fn bound(instruction: i64, bill: i64) -> Bound {
        Bound {
            instruction: PaymentId::new(instruction),
            bill: BillId::new(bill),
        }
    }

    #[test]
    fn only_others_than_the_loaders_and_one_another_release_a_batch() {
        const ALICE: (&str, u8) = ("alice", 1);
        const BOB: (&str, u8) = ("bob", 2);
        const CAROL: (&str, u8) = ("carol", 3);
        for (case, required, loaders, unsigned, approvals, expected) in [
            (
                "nobody approved",
                1,
                &[(ALICE, 1)][..],
                None,
                &[][..],
                (0, 0),
            ),
            (
                "one did",
                1,
                &[(ALICE, 1)],
                None,
                &[(BOB, 100, 3)],
                (100, 3),
            ),
            (
                "one, and two are wanted",
                2,
                &[(ALICE, 1)],
                None,
                &[(BOB, 100, 3)],
                (0, 0),
            ),
            (
                "two did",
                2,
                &[(ALICE, 1)],
                None,
                &[(BOB, 100, 3), (CAROL, 120, 4)],
                (100, 3),
            ),
            (
                "the same one twice",
                2,
                &[(ALICE, 1)],
                None,
                &[(BOB, 100, 0), (BOB, 100, 0)],
                (0, 0),
            ),
            (
                "one person with two keys",
                2,
                &[(ALICE, 1)],
                None,
                &[(BOB, 100, 0), (("bob", 9), 100, 0)],
                (0, 0),
            ),
            (
                "one key under two names",
                2,
                &[(ALICE, 1)],
                None,
                &[(BOB, 100, 0), (("ben", 2), 100, 0)],
                (0, 0),
            ),
            (
                "the loader",
                1,
                &[(ALICE, 1)],
                None,
                &[(ALICE, 100, 0)],
                (0, 0),
            ),
            (
                "the loader's second key",
                1,
                &[(ALICE, 1)],
                None,
                &[(("alice", 9), 100, 0)],
                (0, 0),
            ),
            (
                "the loader's name in capitals",
                1,
                &[(ALICE, 1)],
                None,
                &[(("Alice", 9), 100, 0)],
                (0, 0),
            ),
            (
                "the loader's key under another name",
                1,
                &[(ALICE, 1)],
                None,
                &[(("ally", 1), 100, 0)],
                (0, 0),
            ),
            (
                "rows were added by the approver",
                1,
                &[(ALICE, 1), (BOB, 101)],
                None,
                &[(BOB, 100, 0)],
                (100, 0),
            ),
            (
                "and approved by them",
                1,
                &[(ALICE, 1), (BOB, 101)],
                None,
                &[(BOB, 110, 0)],
                (0, 0),
            ),
            (
                "and by another",
                1,
                &[(ALICE, 1), (BOB, 101)],
                None,
                &[(BOB, 100, 0), (CAROL, 110, 0)],
                (110, 0),
            ),
            (
                "documents were changed by the approver",
                1,
                &[(ALICE, 1), (BOB, 0)],
                None,
                &[(BOB, 100, 0)],
                (0, 0),
            ),
            (
                "nobody signed the load",
                1,
                &[],
                Some(1),
                &[(BOB, 100, 0)],
                (0, 0),
            ),
            (
                "nobody signed what was added",
                1,
                &[(ALICE, 1)],
                Some(101),
                &[(BOB, 110, 2)],
                (100, 2),
            ),
            (
                "the newest counts",
                1,
                &[(ALICE, 1)],
                None,
                &[(BOB, 100, 3), (BOB, 100, 4), (CAROL, 90, 9)],
                (100, 4),
            ),
            (
                "the second of three",
                2,
                &[(ALICE, 1)],
                None,
                &[(BOB, 50, 0), (CAROL, 100, 0), (("dora", 4), 80, 0)],
                (80, 0),
            ),
            (
                "one who approved twice is one",
                2,
                &[(ALICE, 1)],
                None,
                &[(BOB, 50, 0), (CAROL, 100, 0), (CAROL, 90, 0)],
                (50, 0),
            ),
        ] {
            let loaders: Vec<_> = loaders
                .iter()
                .map(|(by, first)| LoadedBy {
                    hand: hand(*by),
                    first: PaymentId::new(*first),
                })
                .collect();
            let approvals: Vec<_> = approvals
                .iter()
                .map(|(by, instruction, bill)| Approval {
                    hand: hand(*by),
                    bound: bound(*instruction, *bill),
                })
                .collect();
            let unsigned = unsigned.map(PaymentId::new);
            let found = reach(required, &loaders, unsigned, &approvals);
            assert_eq!(found.instruction.get(), expected.0, "{case}");
            assert!(
                found.instruction == PaymentId::NONE || found.bill.get() == expected.1,
                "{case}"
            );
        }
    }
}
