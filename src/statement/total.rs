//! A row at the end of a table that holds the sum of those above it: it is compared, and no line of the statement.

use super::error::StatementError;
use super::row::Row;
use crate::domain::{Currency, Totals};
use crate::intake::plain_name;

/// What such a row says in its first cell.
const MARKS: [&str; 6] = ["total", "totals", "grandtotal", "sum", "subtotal", "jumla"];

/// What the columns `amount`, `paid_out` and `paid_in` come to.
#[derive(Default)]
pub(super) struct Sums {
    all: [i128; 3],
    /// Of what has moved alone.
    booked: [i128; 3],
    currency: Option<Currency>,
    is_mixed: bool,
    /// The row with the sum.
    pub(super) found: Option<String>,
}

impl Sums {
    /// Returns whether a row says that it is a sum.
    pub(super) fn is_marked(row: &Row<'_>) -> bool {
        let mut cells = row.cells.iter().map(|cell| cell.text.trim());
        let first = cells.find(|text| !text.is_empty()).unwrap_or_default();
        Self::is_mark(first)
    }

    /// Returns whether a cell says that its row is a sum.
    pub(super) fn is_mark(text: &str) -> bool {
        let word = plain_name(text.trim_end_matches([':', '=']));
        MARKS.contains(&word.as_str())
    }

    pub(super) fn currency(&self) -> Option<Currency> {
        self.currency
    }

    pub(super) fn add(&mut self, amounts: [Option<i64>; 3], currency: Currency, is_booked: bool) {
        self.is_mixed |= *self.currency.get_or_insert(currency) != currency;
        for (at, amount) in amounts.into_iter().enumerate() {
            let amount = i128::from(amount.unwrap_or(0));
            self.all[at] = self.all[at].saturating_add(amount);
            if is_booked {
                self.booked[at] = self.booked[at].saturating_add(amount);
            }
        }
    }

    /// Compares a row with the sum of those above it.
    pub(super) fn compare(
        &mut self,
        amounts: [Option<i64>; 3],
        row: &Row<'_>,
    ) -> Result<(), StatementError> {
        let place = (row.at)(0);
        self.found = Some(row.named.clone());
        let refused = |what: String| {
            let hint = "a line is missing, or was changed: fetch the statement again, whole";
            Err(StatementError::new(&place, what, hint))
        };
        if self.is_mixed {
            return refused(
                "the row with the sum cannot be compared with amounts of several currencies"
                    .to_owned(),
            );
        }
        for (at, said) in amounts.into_iter().enumerate() {
            let Some(said) = said else { continue };
            let said = i128::from(said);
            // Some write what left with a minus in the rows, and without one in the sum.
            if ![self.all[at], self.booked[at]]
                .map(i128::abs)
                .contains(&said.abs())
            {
                let told = |minor: i128| {
                    let mut totals = Totals::default();
                    if let Some(currency) = self.currency {
                        totals.add_minor(currency, minor.abs());
                    }
                    totals.to_string()
                };
                return refused(format!(
                    "the statement does not add up: this row says that the sum is {}, and the rows above come to {}",
                    told(said),
                    told(self.all[at])
                ));
            }
        }
        Ok(())
    }
}
