//! Whether an amendment may be added to its batch.
//!
//! A row without a reference is known by its content alone. When a person mends such a row, it is gone from the file under its
//! old content and new under the other one: taken for a new row, it would be paid beside the old one.

/// What an amendment comes to, compared with its batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amendment {
    /// Rows of the file that the batch does not have.
    pub new: u64,
    /// Those of them without a reference.
    pub new_nameless: u64,
    /// Rows of the batch that the file does not have, and that may still be paid or have been.
    pub gone: u64,
    /// Those of them without a reference.
    pub gone_nameless: u64,
    /// Rows that both have.
    pub unchanged: u64,
    /// Rows that were set aside when the batch was loaded.
    pub rejected_before: u64,
    /// Some new row pays the recipient of a row that is gone.
    pub same_recipient: bool,
}

/// Returns whether a new row may be a mended one.
// A file that holds none of the rows of the batch is what was set aside and is mended by now, as long as it is no longer
// than that and pays nobody whom the batch pays.
#[must_use]
pub fn is_ambiguous(amendment: &Amendment) -> bool {
    let Amendment {
        new,
        new_nameless,
        gone,
        gone_nameless,
        unchanged,
        rejected_before,
        same_recipient,
    } = *amendment;
    // With references on both sides, two rows of different references are two payments.
    let nameless = new_nameless > 0 || gone_nameless > 0;
    let is_of_corrections = unchanged == 0 && new <= rejected_before && !same_recipient;
    planted!(ledger::is_ambiguous(
        new > 0 && gone > 0 && nameless && !is_of_corrections
    ))
}

/// Returns whether a new row of an amendment may be another one of the batch under another reference, which the file leaves out;
/// `pairs`: so many new rows pay the recipient of such a row through the same service.
// A file with no row of the batch is what is added, and leaves out nothing.
#[must_use]
pub fn may_stand_instead(unchanged: u64, pairs: u64) -> bool {
    unchanged > 0 && pairs > 0
}

/// Returns whether an amendment that shares no row with its batch is the batch again, under other references; `equal`: so many of its
/// new rows pay the recipient of a row of the batch the same amount.
// One such row may be a further payment.
#[must_use]
pub fn is_batch_again(unchanged: u64, new: u64, equal: u64) -> bool {
    unchanged == 0 && new > 1 && equal == new
}

/// What a file and the batch of the same name have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Rows that both have.
    pub unchanged: u64,
    /// Rows with a reference of the batch, and other content.
    pub changed: u64,
    /// Rows of the file that the batch does not have.
    pub new: u64,
    /// Rows of the batch that the file does not have.
    pub gone: u64,
}

/// Rows from which on a file that changes them all is taken for another payroll with the same references.
const MANY: u64 = 10;

/// Returns whether a file is rather another payroll than this batch again: nearly no row is in both.
#[must_use]
pub fn is_another_batch(shared: &Shared) -> bool {
    let Shared {
        unchanged,
        changed,
        new,
        gone,
    } = *shared;
    let common = unchanged + changed;
    let least = common + new.min(gone);
    new + changed > 0 && unchanged * 10 <= least && (changed == 0 || least >= MANY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded_bugs::SeededBug;

    /// New, of them nameless, gone, of them nameless, unchanged, rejected before, the same recipient.
    type Case = ((u64, u64, u64, u64, u64, u64, bool), bool);

    const CASES: [Case; 15] = [
        // Nothing is new, or nothing is gone.
        ((0, 0, 3, 3, 0, 0, false), false),
        ((3, 3, 0, 0, 5, 0, false), false),
        // A narration was mended in one row, or in all.
        ((1, 1, 1, 1, 9, 0, true), true),
        ((9, 9, 9, 9, 0, 0, true), true),
        // A number was mended.
        ((1, 1, 1, 1, 9, 0, false), true),
        // References were added to a file that had none, or taken out.
        ((9, 0, 9, 9, 0, 0, true), true),
        ((9, 9, 9, 0, 0, 0, true), true),
        // Both sides have references.
        ((2, 0, 9, 0, 0, 0, true), false),
        ((2, 0, 1, 0, 8, 0, false), false),
        // One of many has none.
        ((2, 1, 9, 0, 0, 0, false), true),
        ((2, 0, 9, 1, 0, 0, false), true),
        // What was set aside is added, and nothing else.
        ((3, 3, 9, 9, 0, 3, false), false),
        ((3, 3, 9, 9, 0, 2, false), true),
        ((3, 3, 9, 9, 0, 3, true), true),
        ((3, 3, 8, 8, 1, 3, false), true),
    ];

    fn judged(case: &Case) -> bool {
        let (new, new_nameless, gone, gone_nameless, unchanged, rejected_before, same_recipient) =
            case.0;
        is_ambiguous(&Amendment {
            new,
            new_nameless,
            gone,
            gone_nameless,
            unchanged,
            rejected_before,
            same_recipient,
        })
    }

    #[test]
    fn a_file_that_pays_everybody_of_the_batch_again_is_the_batch_again() {
        for (unchanged, new, equal, expected) in [
            (0, 6, 6, true),
            (0, 2, 2, true),
            // A further payment.
            (0, 1, 1, false),
            (0, 6, 5, false),
            (1, 6, 6, false),
            (0, 0, 0, false),
        ] {
            let found = is_batch_again(unchanged, new, equal);
            assert_eq!(found, expected, "{unchanged} {new} {equal}");
        }
    }

    #[test]
    fn a_mended_row_is_never_taken_for_a_new_one() {
        for case in &CASES {
            assert_eq!(judged(case), case.1, "{case:?}");
        }
    }

    #[test]
    fn a_row_that_stands_in_the_place_of_one_that_is_left_out_is_no_further_payment() {
        for (unchanged, pairs, expected) in [
            (9, 1, true),
            (1, 3, true),
            (9, 0, false),
            (0, 1, false),
            (0, 0, false),
        ] {
            assert_eq!(
                may_stand_instead(unchanged, pairs),
                expected,
                "{unchanged} {pairs}"
            );
        }
    }

    #[test]
    fn a_file_that_shares_nearly_nothing_with_its_batch_is_another_one() {
        // Unchanged, changed, new, gone.
        let table = [
            // December's file, with references of its own or those of November.
            ((0, 0, 200, 200), true),
            ((0, 200, 0, 0), true),
            ((3, 150, 60, 47), true),
            ((0, 0, 1, 1), true),
            ((0, 0, 12, 200), true),
            // Rows were mended, added, or left out.
            ((190, 10, 0, 0), false),
            ((200, 0, 400, 0), false),
            ((2, 0, 0, 198), false),
            ((40, 0, 160, 160), false),
            ((0, 1, 0, 0), false),
            ((0, 3, 0, 0), false),
        ];
        for ((unchanged, changed, new, gone), expected) in table {
            let shared = Shared {
                unchanged,
                changed,
                new,
                gone,
            };
            assert_eq!(is_another_batch(&shared), expected, "{shared:?}");
        }
    }

    #[test]
    fn a_rule_that_takes_it_for_one_is_found() {
        let _awake = SeededBug::MendedIsNew.wake();
        assert!(CASES.iter().any(|case| judged(case) != case.1));
    }
}
