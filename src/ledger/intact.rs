//! What is posted is what was loaded, and what its evidence says is ready.
//!
//! Whoever can write the journal's file can change an amount, a number or a state in it. What the chain of evidence holds of
//! a payment is compared with what is about to be posted, and nothing leaves that does not fit.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::lifecycle::{PaymentState, State, proven};

/// What does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// A block of instructions is not the one that was loaded.
    #[error("it, or a row that was loaded with it, is not as it was loaded")]
    Instruction,
    /// It is in no block, and is no retry that was recorded.
    #[error("nothing on the chain of evidence says that it was loaded")]
    Unknown,
    /// The journal has it as never touched, and its evidence says otherwise.
    #[error("it is stored as never posted, but there is evidence about it")]
    Touched,
    /// Its evidence does not add up to a payment that may be posted.
    #[error("it is stored as ready, but its evidence adds up to {}", .0.name())]
    NotReady(State),
    /// Its evidence adds up to a payment that may be posted, and to another one than the journal has.
    #[error("what is on record of its attempts is not what its evidence adds up to")]
    OtherLife,
    /// It stands elsewhere than its evidence adds up to.
    #[error("it is stored as {}, but its evidence adds up to {}", .0.name(), .1.name())]
    Elsewhere(State, State),
    /// Generations of its row are missing, or do not belong to it.
    #[error("the earlier payments of its row are not those that it replaced")]
    Generations,
    /// Its amount is not that of the bill that decided it.
    #[error("its amount is not that of its bill, or the bill is not as it was recorded")]
    Bill,
    /// The document that its post names is not the one that was uploaded.
    #[error("its uploaded document is not as it was recorded")]
    Document,
    /// It would leave without a look at failed rows of its debt.
    #[error(
        "the failed rows that it is held against before it leaves are not those that were recorded"
    )]
    Watched,
    /// With it, more would be posted than was shown.
    #[error(
        "with it more would be posted than was shown when the run was confirmed: the counts on record are not those of the rows"
    )]
    Beyond,
}

/// Judges a payment that stands as ready by the life that its evidence adds up to.
///
/// # Errors
/// What does not fit.
pub fn ready(on_record: &PaymentState, replayed: &PaymentState) -> Result<(), Mismatch> {
    planted_instead!(ledger::replayed());
    if replayed.state != State::Ready {
        return Err(Mismatch::NotReady(replayed.state));
    }
    if proven(*on_record) == proven(*replayed) {
        Ok(())
    } else {
        Err(Mismatch::OtherLife)
    }
}

/// Judges a generation of a row by the life that its evidence adds up to: a retry rests on where the earlier ones ended.
///
/// # Errors
/// What does not fit.
pub fn generation(on_record: &PaymentState, replayed: &PaymentState) -> Result<(), Mismatch> {
    planted_instead!(ledger::ancestor_replayed());
    if on_record.state != replayed.state {
        return Err(Mismatch::Elsewhere(on_record.state, replayed.state));
    }
    if proven(*on_record) == proven(*replayed) {
        Ok(())
    } else {
        Err(Mismatch::OtherLife)
    }
}

/// Judges a digest by the one on the chain; nothing is proven where either of them is missing.
///
/// # Errors
/// What does not fit.
pub fn same<T: PartialEq>(
    on_chain: Option<T>,
    found: Option<T>,
    otherwise: Mismatch,
) -> Result<(), Mismatch> {
    let same = match (on_chain, found) {
        (Some(on_chain), Some(found)) if on_chain == found => Ok(()),
        _ => Err(otherwise),
    };
    planted!(ledger::same(same))
}

/// Judges the failed rows that a payment is held against, each with whether a person's word alone said that it had failed: more of
/// them are asked about, and none that was recorded may be missing.
///
/// # Errors
/// What does not fit.
pub fn watches(
    recorded: &BTreeSet<(i64, bool)>,
    found: &BTreeSet<(i64, bool)>,
) -> Result<(), Mismatch> {
    match recorded.is_subset(found) {
        true => Ok(()),
        false => Err(Mismatch::Watched),
    }
}

/// What the present evidence of a batch is to a head that somebody kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extends {
    /// It is at this head, or goes on from it.
    Yes,
    /// It never was at this head.
    Unknown,
    /// It is not what was recorded.
    Changed,
}

/// Judges evidence that was computed again: where it met the head, and how much in it did not fit.
#[must_use]
pub fn extends(met_at: Option<u64>, findings: u64) -> Extends {
    match (met_at, findings) {
        (Some(_), 0) => Extends::Yes,
        (Some(_), _) => Extends::Changed,
        // That it was not met is a finding itself.
        (None, 0 | 1) => Extends::Unknown,
        (None, _) => Extends::Changed,
    }
}

/// Numbers from the first to the last.
pub type Span = (i64, i64);

/// Says where a span lies, seen from a number: before it, around it, behind it.
#[must_use]
pub fn place((first, last): Span, number: i64) -> Ordering {
    if last < number {
        Ordering::Less
    } else if first > number {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// Judges a payment that stands as never touched: first claims of a lane go up, so that it must lie beyond all of them, and
/// nothing else may be on record of it.
///
/// # Errors
/// What does not fit.
pub fn untouched(
    number: i64,
    claimed_up_to: Option<i64>,
    has_evidence: bool,
) -> Result<(), Mismatch> {
    planted_instead!(ledger::replayed());
    match claimed_up_to.is_some_and(|last| number <= last) || has_evidence {
        true => Err(Mismatch::Touched),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use crate::seeded_bugs::SeededBug;

    #[test]
    fn no_failed_row_that_was_recorded_is_missing() {
        let set = |pairs: &[(i64, bool)]| pairs.iter().copied().collect::<BTreeSet<_>>();
        for (recorded, found, fits) in [
            (&[][..], &[][..], true),
            (&[(7, false)], &[(7, false)], true),
            (&[(7, false), (9, true)], &[(7, false)], false),
            (&[(7, false)], &[], false),
            // The word of a person alone is what lets a payment leave beside one that is not proven failed.
            (&[(7, false)], &[(7, true)], false),
            (&[(7, false)], &[(8, false)], false),
            (&[(7, false)], &[(7, false), (8, false)], true),
        ] {
            let judged = watches(&set(recorded), &set(found));
            assert_eq!(judged.is_ok(), fits, "{recorded:?} {found:?}");
        }
    }

    #[test]
    fn a_payment_is_ready_only_where_its_evidence_says_so() {
        let at = |ms| Some(Timestamp::from_millis(ms));
        let tried = PaymentState {
            attempts: 1,
            posted_at: at(5),
            quarantine_from: at(5),
            ..PaymentState::NEW
        };
        let later = PaymentState {
            due_at: at(9),
            queries: 3,
            ..tried
        };
        let paid = PaymentState {
            state: State::Paid,
            code: Some(140),
            ..tried
        };
        for (on_record, replayed, expected) in [
            (PaymentState::NEW, PaymentState::NEW, Ok(())),
            // When something is done next is no matter of evidence.
            (later, tried, Ok(())),
            (tried, paid, Err(Mismatch::NotReady(State::Paid))),
            (PaymentState::NEW, tried, Err(Mismatch::OtherLife)),
            (tried, PaymentState::NEW, Err(Mismatch::OtherLife)),
            (
                PaymentState {
                    attempts: 2,
                    ..tried
                },
                tried,
                Err(Mismatch::OtherLife),
            ),
        ] {
            assert_eq!(
                ready(&on_record, &replayed),
                expected,
                "{on_record:?} {replayed:?}"
            );
        }
        let _awake = SeededBug::EvidenceNotReplayed.wake();
        assert_eq!(ready(&tried, &paid), Ok(()), "the table finds it");
    }

    #[test]
    fn a_generation_stands_where_its_evidence_says() {
        let failed = PaymentState {
            state: State::Failed,
            code: Some(110),
            attempts: 1,
            ..PaymentState::NEW
        };
        let paid = PaymentState {
            state: State::Paid,
            code: Some(140),
            ..failed
        };
        let other = PaymentState {
            code: Some(120),
            ..failed
        };
        let elsewhere = Mismatch::Elsewhere(State::Failed, State::Paid);
        for (on_record, replayed, expected) in [
            (failed, failed, Ok(())),
            (failed, paid, Err(elsewhere)),
            (failed, other, Err(Mismatch::OtherLife)),
            (
                failed,
                PaymentState {
                    queries: 3,
                    ..failed
                },
                Ok(()),
            ),
        ] {
            assert_eq!(generation(&on_record, &replayed), expected);
        }
        let _awake = SeededBug::AncestorNotReplayed.wake();
        assert_eq!(generation(&failed, &paid), Ok(()), "the table finds it");
    }

    #[test]
    fn what_stands_as_never_touched_lies_beyond_every_first_claim() {
        for (number, claimed_up_to, has_evidence, fits) in [
            (1, None, false, true),
            (8, Some(7), false, true),
            (7, Some(7), false, false),
            (3, Some(7), false, false),
            (8, Some(7), true, false),
            (1, None, true, false),
        ] {
            let found = untouched(number, claimed_up_to, has_evidence);
            assert_eq!(
                found.is_ok(),
                fits,
                "{number} {claimed_up_to:?} {has_evidence}"
            );
        }
    }

    #[test]
    fn a_digest_fits_itself_alone() {
        for (on_chain, found, fits) in [
            (Some(1), Some(1), true),
            (Some(1), Some(2), false),
            (Some(1), None, false),
            (None, Some(1), false),
            (None, None, false),
        ] {
            let found = same(on_chain, found, Mismatch::Instruction);
            assert_eq!(found.is_ok(), fits, "{on_chain:?}");
        }
        let _awake = SeededBug::DigestNotCompared.wake();
        let found = same(Some(1), Some(2), Mismatch::Instruction);
        assert_eq!(found, Ok(()), "the table finds it");
    }

    #[test]
    fn evidence_goes_on_from_a_head_that_it_met_and_only_where_all_of_it_fits() {
        for (met_at, findings, expected) in [
            (Some(3), 0, Extends::Yes),
            (Some(3), 1, Extends::Changed),
            (None, 1, Extends::Unknown),
            (None, 2, Extends::Changed),
            (None, 0, Extends::Unknown),
        ] {
            assert_eq!(extends(met_at, findings), expected, "{met_at:?} {findings}");
        }
    }

    #[test]
    fn a_number_finds_its_span() {
        let spans = [(1, 3), (4, 4), (9, 12)];
        for (number, expected) in [
            (1, Ok(0)),
            (3, Ok(0)),
            (4, Ok(1)),
            (12, Ok(2)),
            (5, Err(2)),
            (0, Err(0)),
            (13, Err(3)),
        ] {
            let found = spans.binary_search_by(|span| place(*span, number));
            assert_eq!(found, expected, "{number}");
        }
    }
}
