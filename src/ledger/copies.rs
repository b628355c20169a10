//! Copies of a journal in one folder: what they are called, and which of them give way to a new one.
//!
//! A journal only grows. So a copy whose last rows are in the new copy, too, holds nothing that the new one lacks, and may be
//! removed; one that knows something else (the journal was lost, and put back from another copy) is left to a person.

use crate::domain::{EvidenceId, PaymentId, Timestamp};

/// How far a journal had come: the numbers of its last row of evidence and of its last payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reach {
    /// Of the evidence.
    pub evidence: EvidenceId,
    /// Of the payments.
    pub payments: PaymentId,
}

/// A copy that was there before the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// The time in its name.
    pub stamp: String,
    /// How far it had come.
    pub reach: Reach,
    /// Whether all of it is in the new copy.
    pub is_within: bool,
}

/// Returns which of the earlier copies give way when `keep` copies are kept, the new one among them.
// The clock may have been set back, so that how far a copy had come is asked first, and its name only where that is the same.
#[must_use]
pub fn give_way(earlier: &[Earlier], keep: u16) -> Vec<usize> {
    let mut within: Vec<usize> = (0..earlier.len())
        .filter(|place| earlier[*place].is_within)
        .collect();
    within.sort_by(|a, b| {
        let order = |place: usize| (earlier[place].reach, earlier[place].stamp.as_str());
        order(*b).cmp(&order(*a))
    });
    within.split_off(within.len().min(usize::from(keep).saturating_sub(1)))
}

/// Returns the name of a copy that is made now: the journal's, and the time in UTC.
#[must_use]
pub fn name(journal: &str, now: Timestamp) -> String {
    let (stem, ending) = parts(journal);
    // 2026-11-28T22:00:05.123Z, without what divides it and without the part of a second.
    let mut digits = now.to_string();
    digits.retain(|letter| letter.is_ascii_alphanumeric());
    digits.truncate("20261128T220005".len());
    format!("{stem}-{digits}Z{ending}")
}

/// Returns the time in the name of a file, where it is the name of a copy of this journal.
#[must_use]
pub fn stamp<'a>(journal: &str, file: &'a str) -> Option<&'a str> {
    let (stem, ending) = parts(journal);
    let stamp = file
        .strip_prefix(stem)?
        .strip_prefix('-')?
        .strip_suffix(ending)?;
    let fits = |(place, letter): (usize, u8)| match place {
        8 => letter == b'T',
        15 => letter == b'Z',
        _ => letter.is_ascii_digit(),
    };
    (stamp.len() == 16 && stamp.bytes().enumerate().all(fits)).then_some(stamp)
}

fn parts(journal: &str) -> (&str, &str) {
    match journal.rfind('.') {
        Some(0) | None => (journal, ""),
        Some(place) => journal.split_at(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of the day, as far as the evidence, and whether it is in the new one.
    fn copies(rows: &[(u8, i64, bool)]) -> Vec<Earlier> {
        rows.iter()
            .map(|(day, evidence, is_within)| Earlier {
                stamp: format!("202611{day:02}T220000Z"),
                reach: Reach {
                    evidence: EvidenceId::new(*evidence),
                    payments: PaymentId::NONE,
                },
                is_within: *is_within,
            })
            .collect()
    }

    #[test]
    fn the_oldest_give_way_and_never_what_knows_more() {
        type Row<'a> = (&'a str, &'a [(u8, i64, bool)], u16, &'a [usize]);
        let table: &[Row] = &[
            ("none before", &[], 3, &[]),
            (
                "as many as are kept",
                &[(1, 10, true), (2, 20, true)],
                3,
                &[],
            ),
            ("one too many", &[(1, 10, true), (2, 20, true)], 2, &[0]),
            (
                "the new one alone",
                &[(1, 10, true), (2, 20, true)],
                1,
                &[1, 0],
            ),
            (
                "in any sequence",
                &[(3, 30, true), (1, 10, true), (2, 20, true)],
                3,
                &[1],
            ),
            (
                "the clock was set back",
                &[(9, 10, true), (1, 20, true)],
                2,
                &[0],
            ),
            (
                "nothing happened between",
                &[(2, 10, true), (1, 10, true)],
                2,
                &[1],
            ),
            (
                "it knows something else",
                &[(1, 10, false), (2, 20, true)],
                1,
                &[1],
            ),
            (
                "what knows something else is not counted",
                &[(1, 10, false), (2, 20, true)],
                2,
                &[],
            ),
        ];
        for (case, rows, keep, expected) in table {
            assert_eq!(give_way(&copies(rows), *keep), *expected, "{case}");
        }
    }

    #[test]
    fn a_copy_is_named_after_its_journal_and_the_time() {
        let now = Timestamp::parse("2026-11-28T22:00:05.123Z").unwrap();
        for (journal, expected) in [
            ("disburse.db", "disburse-20261128T220005Z.db"),
            ("wages", "wages-20261128T220005Z"),
            (".hidden", ".hidden-20261128T220005Z"),
            ("a.b.db", "a.b-20261128T220005Z.db"),
        ] {
            assert_eq!(name(journal, now), expected);
            assert_eq!(stamp(journal, expected), Some("20261128T220005Z"));
        }
    }

    #[test]
    fn other_names_are_those_of_no_copy() {
        for file in [
            "disburse.db",
            "disburse-copy.db",
            "disburse-20261128T220005Z.db-wal",
            "disburse-20261128T220005Z.db.mark",
            "disburse-20261128T220005.db",
            "disburse-20261128 220005Z.db",
            "disburse-2026112\u{661}T22005Z.db",
            "other-20261128T220005Z.db",
            "disburse-20261128T220005Z-20261128T220005Z.db",
        ] {
            assert_eq!(stamp("disburse.db", file), None, "{file}");
        }
    }
}
