//! Rows of failed payments that a person corrects: another number, another amount. What was not proven to have failed is
//! corrected, too, by people who are in a hurry.

use std::cell::{Cell, RefCell};

use fastrand::Rng;

use crate::domain::{Amount, Instruction, Msisdn};

/// One seed in so many plays it.
const EVERY: u64 = 5;

/// The corrections, with a generator of their own.
pub(in crate::simulation) struct Mended {
    pub(in crate::simulation) rng: RefCell<Rng>,
    pub(in crate::simulation) is_on: bool,
    /// How many were taken.
    pub(in crate::simulation) taken: Cell<u32>,
}

impl Mended {
    pub(in crate::simulation) fn of(seed: u64) -> Self {
        Self {
            rng: RefCell::new(Rng::with_seed(seed ^ 0x0D0C)),
            is_on: seed % EVERY == 3,
            taken: Cell::default(),
        }
    }

    pub(in crate::simulation) fn by_chance(&self, of: u32) -> bool {
        self.rng.borrow_mut().u32(0..of) == 0
    }

    /// A row as it is corrected.
    pub(in crate::simulation) fn mend(&self, mut row: Instruction) -> Instruction {
        let (which, number) = {
            let mut rng = self.rng.borrow_mut();
            (rng.u32(0..3), rng.u32(0..90))
        };
        if which != 0 {
            let digits = format!("25471234{:02}{number:02}", row.line);
            row.msisdn = Msisdn::from_digits(&digits).expect("digits are digits");
            row.account_number = row.msisdn.as_str().into();
        }
        if which != 1 {
            let more = row.money.amount.minor() + 100 * i64::from(number + 1);
            row.money.amount = Amount::from_minor(more).expect("positive");
        }
        row
    }
}
