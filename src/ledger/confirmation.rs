//! What a person confirmed is what is posted: neither a row more, nor an amount that was not shown.
//!
//! The figures that are shown are taken in one look at the journal, with the numbers that it had given until then. What
//! comes later (rows that are added, retries, an amount that a bill tells) has a greater number, and waits for a
//! confirmation of its own.

use crate::domain::{BillId, Money, PaymentId, Tally};
use crate::lifecycle::PaymentState;

/// How far a confirmation reaches: the numbers that were given last when its figures were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Of an instruction: of a row, or of a retry.
    pub instruction: PaymentId,
    /// Of what a bill said.
    pub bill: BillId,
}

impl Bound {
    /// Reaches over everything, also over what is still to come.
    pub const EVERYTHING: Self = Self {
        instruction: PaymentId::AFTER_ALL,
        bill: BillId::AFTER_ALL,
    };

    /// Reaches over nothing: whatever may be asked, not a payment leaves.
    pub const NOTHING: Self = Self {
        instruction: PaymentId::NONE,
        bill: BillId::NONE,
    };

    /// Reaches as far as both do.
    #[must_use]
    pub fn least(self, other: Self) -> Self {
        Self {
            instruction: self.instruction.min(other.instruction),
            bill: self.bill.min(other.bill),
        }
    }

    /// Returns whether a payment was among those that were shown, with its amount; `priced_by` is the bill that told it.
    #[must_use]
    pub fn covers(&self, instruction: PaymentId, priced_by: Option<BillId>) -> bool {
        instruction <= self.instruction && priced_by.is_none_or(|bill| bill <= self.bill)
    }
}

/// Who said yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A person at the terminal, who was asked.
    Asked,
    /// The flag `--yes`.
    Flag,
    /// Nobody: against the sandbox, nothing moves.
    Rehearsal,
}

impl Answer {
    /// Returns its name in the evidence.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Asked => "at the terminal",
            Self::Flag => "--yes",
            Self::Rehearsal => "a rehearsal",
        }
    }
}

/// What was confirmed for one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// What was still to be posted, or in doubt.
    pub open: Tally,
    /// How far it reaches.
    pub bound: Bound,
    /// By whom.
    pub answer: Answer,
}

impl Confirmation {
    /// Confirms what was shown.
    #[must_use]
    pub fn of(open: Tally, bound: Bound, answer: Answer) -> Self {
        Self {
            open,
            bound: planted!(ledger::confirmed(bound)),
            answer,
        }
    }
}

impl Confirmation {
    /// Returns how much may leave for the first time under it; `None` where it reaches over everything.
    #[must_use]
    pub fn allowance(&self) -> Option<Allowance> {
        (self.bound != Bound::EVERYTHING).then(|| Allowance {
            left: self.open.clone(),
        })
    }
}

/// What may be posted for the first time under a confirmation: no more than what it showed, whatever the journal says it has.
#[derive(Clone, Debug, Default)]
pub struct Allowance {
    left: Tally,
}

impl Allowance {
    /// Takes one payment out; `false` when it is more than what was shown.
    pub fn take(&mut self, money: Money) -> bool {
        let Some(count) = self.left.count.checked_sub(1) else {
            return false;
        };
        let minor = i128::from(money.amount.minor());
        if self.left.amounts.minor(money.currency) < minor {
            return false;
        }
        self.left.count = count;
        self.left.amounts.add_minor(money.currency, -minor);
        true
    }
}

/// Returns whether a payment was taken out of what was shown before: it was posted, and what is posted again is not counted twice.
#[must_use]
pub fn was_counted(life: &PaymentState) -> bool {
    life.attempts > 0
}

/// How a declared total differs from what the whole batch comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Another number of rows.
    Count {
        /// Declared.
        expected: u64,
        /// In the batch.
        found: u64,
    },
    /// Another total, or further currencies.
    Total(Money),
}

/// Compares a whole batch, rows that were set aside included, with what was declared; rows without an amount put the total off.
#[must_use]
pub fn compare(
    batch: &Tally,
    unpriced: u64,
    count: Option<u64>,
    total: Option<Money>,
) -> Option<Difference> {
    if let Some(expected) = count.filter(|expected| *expected != batch.count) {
        return Some(Difference::Count {
            expected,
            found: batch.count,
        });
    }
    let total = total.filter(|_| unpriced == 0)?;
    let others = batch
        .amounts
        .iter()
        .any(|(found, minor)| found != total.currency && minor != 0);
    let same = batch.amounts.minor(total.currency) == i128::from(total.amount.minor());
    (!same || others).then_some(Difference::Total(total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Amount, Currency};

    fn money(currency: &str, minor: i64) -> Money {
        Money {
            amount: Amount::from_minor(minor).unwrap(),
            currency: Currency::from_code(currency).unwrap(),
        }
    }

    fn tally(moneys: &[Money]) -> Tally {
        let mut tally = Tally::default();
        for money in moneys {
            tally.add(*money);
        }
        tally
    }

    #[test]
    fn what_has_a_greater_number_than_what_was_shown_is_not_confirmed() {
        let bound = Bound {
            instruction: PaymentId::new(10),
            bill: BillId::new(3),
        };
        for (instruction, priced_by, covered) in [
            (1, None, true),
            (10, None, true),
            // A row that was added, or a retry.
            (11, None, false),
            // The bill told its amount before it was shown, and after.
            (10, Some(3), true),
            (10, Some(4), false),
            (11, Some(3), false),
        ] {
            assert_eq!(
                bound.covers(PaymentId::new(instruction), priced_by.map(BillId::new)),
                covered,
                "{instruction} {priced_by:?}"
            );
        }
        assert!(Bound::EVERYTHING.covers(PaymentId::AFTER_ALL, Some(BillId::AFTER_ALL)));
    }

    #[test]
    fn no_more_leaves_than_was_shown() {
        let shown = tally(&[money("KES", 100), money("KES", 200), money("UGX", 5)]);
        for (claims, taken) in [
            (&[("KES", 100), ("KES", 200), ("UGX", 5)][..], 3),
            (&[("KES", 300)], 1),
            // Another amount than was shown.
            (&[("KES", 301)], 0),
            (&[("KES", 200), ("KES", 200)], 1),
            (&[("UGX", 6)], 0),
            (&[("TZS", 1)], 0),
            // A row more.
            (&[("KES", 1), ("KES", 1), ("UGX", 1), ("KES", 1)], 3),
        ] {
            let bound = Bound {
                instruction: PaymentId::new(3),
                bill: BillId::NONE,
            };
            let confirmation = Confirmation::of(shown.clone(), bound, Answer::Asked);
            let mut allowance = confirmation.allowance().unwrap();
            let found = claims
                .iter()
                .take_while(|(currency, minor)| allowance.take(money(currency, *minor)))
                .count();
            assert_eq!(found, taken, "{claims:?}");
        }
    }

    #[test]
    fn what_was_declared_means_the_whole_batch() {
        let batch = tally(&[money("KES", 100), money("KES", 200)]);
        let mixed = tally(&[money("KES", 100), money("UGX", 200)]);
        let kes = |minor| Some(money("KES", minor));
        let wrong = |minor| Some(Difference::Total(money("KES", minor)));
        for (batch, unpriced, count, total, expected) in [
            (&batch, 0, None, None, None),
            (&batch, 0, Some(2), kes(300), None),
            (
                &batch,
                0,
                Some(3),
                None,
                Some(Difference::Count {
                    expected: 3,
                    found: 2,
                }),
            ),
            (&batch, 0, Some(2), kes(299), wrong(299)),
            (&batch, 1, None, kes(299), None),
            (&mixed, 0, None, kes(100), wrong(100)),
        ] {
            let found = compare(batch, unpriced, count, total);
            assert_eq!(found, expected, "{count:?} {total:?}");
        }
    }
}
