//! Balances that stand beside the lines of a table, whichever way it runs, and with or without charges in them.

use super::error::{Place, StatementError};
use crate::domain::Currency;

/// What one line moves, without its charge and with it, and the balance beside it.
#[derive(Clone, Copy)]
struct Step {
    moved: [i128; 2],
    balance: i128,
}

/// Balances beside the lines.
#[derive(Default)]
pub(super) struct Balances {
    first: Option<Step>,
    last: Option<Step>,
    /// Each line follows from the one before: oldest first, without and with charges; newest first, the same.
    fits: [[bool; 2]; 2],
    breaks: Option<Place>,
    currency: Option<Currency>,
    /// Not every line has one.
    missing: bool,
    rows: u64,
}

/// What the balances come to.
pub(super) struct Held {
    pub(super) currency: Currency,
    pub(super) opening: i128,
    pub(super) closing: i128,
    /// More than one line was held against another.
    pub(super) is_proof: bool,
}

impl Balances {
    /// Takes in a line without a balance.
    pub(super) fn skip(&mut self) {
        self.missing = true;
    }

    pub(super) fn add(
        &mut self,
        (moved, fee): (i64, i64),
        balance: i64,
        currency: Currency,
        place: &Place,
    ) {
        if *self.currency.get_or_insert(currency) != currency {
            self.missing = true;
        }
        let step = Step {
            moved: [i128::from(moved), i128::from(moved) - i128::from(fee)],
            balance: i128::from(balance),
        };
        match self.last {
            None => (self.first, self.fits) = (Some(step), [[true; 2]; 2]),
            Some(before) => {
                for charged in [0, 1] {
                    self.fits[0][charged] &= before.balance + step.moved[charged] == step.balance;
                    self.fits[1][charged] &= step.balance + before.moved[charged] == before.balance;
                }
                if self.fits == [[false; 2]; 2] && self.breaks.is_none() {
                    self.breaks = Some(place.clone());
                }
            }
        }
        self.last = Some(step);
        self.rows += 1;
    }

    /// Returns opening and closing balance; `None`: not every line has one.
    pub(super) fn finish(&self) -> Result<Option<Held>, StatementError> {
        let (Some(first), Some(last), Some(currency), false) =
            (self.first, self.last, self.currency, self.missing)
        else {
            return Ok(None);
        };
        if let Some(place) = &self.breaks {
            return Err(StatementError::new(
                place,
                "the statement does not add up: its balance is not the balance of the line before plus the amount",
                "a line is missing, or was changed: fetch the statement again, whole",
            ));
        }
        let (falls, charged) = match self.fits {
            [[true, _], _] => (true, 0),
            [[_, true], _] => (true, 1),
            [_, [true, _]] => (false, 0),
            _ => (false, 1),
        };
        let (oldest, newest) = if falls { (first, last) } else { (last, first) };
        Ok(Some(Held {
            currency,
            opening: oldest.balance - oldest.moved[charged],
            closing: newest.balance,
            is_proof: self.rows > 1,
        }))
    }
}
