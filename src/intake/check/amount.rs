//! The amount, within its currency and its service's limits.

use crate::domain::{Amount, AmountError, Currency, Money};

use super::super::columns::Field;
use super::super::damage;
use super::Service;
use super::findings::Findings;

/// Checks the amount. Money over or under a limit is returned all the same: its row still counts in control totals.
pub(super) fn check(
    cell: &str,
    currency: Option<Currency>,
    service: Option<&Service>,
    found: &mut Findings,
) -> Option<Money> {
    if cell.is_empty() {
        found.missing(Field::Amount, "an amount such as 1500.50");
        return None;
    }
    let Some(currency) = currency else {
        // How many decimals are right is not known, but what is no number at all is.
        if let Some(cause) = damage::of_amount(cell) {
            found.cell(Field::Amount, cause, cell);
        }
        return None;
    };
    let amount = match Amount::parse(cell, currency) {
        Ok(amount) => amount,
        // With another currency the decimals may well be right.
        Err(AmountError::TooManyDecimals { .. }) if found.has(Field::CurrencyCode) => return None,
        Err(error) => {
            let cause = match error {
                AmountError::NotANumber
                | AmountError::Negative
                | AmountError::TooManyDecimals { .. } => damage::of_amount(cell),
                AmountError::Empty | AmountError::Zero | AmountError::TooLarge => None,
            };
            found.cell(
                Field::Amount,
                cause.unwrap_or_else(|| error.to_string()),
                cell,
            );
            return None;
        }
    };
    let money = Money { amount, currency };
    if let Some(service) = service
        && let Some(rule) = service.rule
        && rule.currency.is_none_or(|own| own == currency)
    {
        let limit = |amount| Money { amount, currency };
        if let Some(min) = rule.min.filter(|min| amount < *min) {
            let message = format!(
                "expected at least {} {currency} for {}",
                limit(min),
                service.code
            );
            found.add(Field::Amount, format!("{message}, found {money}"));
        }
        if let Some(max) = rule.max.filter(|max| amount > *max) {
            let message = format!(
                "expected at most {} {currency} for {}",
                limit(max),
                service.code
            );
            found.add(Field::Amount, format!("{message}, found {money}"));
        }
    }
    Some(money)
}
