//! The amount, within its currency and its service's limits.

use crate::domain::{Amount, AmountError, Currency, Money, PaymentKind};

use super::super::columns::Field;
use super::super::damage;
use super::findings::Findings;
use super::service::Service;

/// What a valid row says of its amount.
#[derive(Clone, Copy)]
pub(in super::super) enum Stated {
    /// So much.
    Amount(Money),
    /// What its bill says is due, in this currency.
    AsDue(Currency),
}

impl Stated {
    pub(super) fn money(self) -> Option<Money> {
        match self {
            Self::Amount(money) => Some(money),
            Self::AsDue(_) => None,
        }
    }
}

/// Checks the amount. Money over or under a limit is returned all the same: its row still counts in control totals.
pub(super) fn check(
    cell: &str,
    currency: Option<Currency>,
    service: Option<&Service>,
    found: &mut Findings,
) -> Option<Stated> {
    if cell.is_empty() {
        if service.and_then(Service::kind) == Some(PaymentKind::BillPostpaid) {
            return currency.map(Stated::AsDue);
        }
        missing(service, currency, found);
        return None;
    }
    let Some(currency) = currency else {
        // How many decimals are right is not known, but what is no number at all is.
        if let Some(cause) = damage::of_amount(cell, None) {
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
                | AmountError::TooManyDecimals { .. } => damage::of_amount(cell, Some(currency)),
                AmountError::Empty | AmountError::Zero | AmountError::TooLarge => None,
            };
            let mut cause = cause.unwrap_or_else(|| error.to_string());
            // What a person is told to write is not to be the next error.
            let meant = damage::meant(cell, currency);
            let broken = meant
                .iter()
                .map(|amount| broken_limit(*amount, currency, service));
            if let Some(broken) = broken.collect::<Option<Vec<String>>>()
                && let Some(first) = broken.first()
            {
                cause = format!("{cause}; {first}");
            }
            found.cell(Field::Amount, cause, cell);
            return None;
        }
    };
    let money = Money { amount, currency };
    if let Some(broken) = broken_limit(amount, currency, service) {
        found.add(Field::Amount, format!("{broken}, found {money}"));
    }
    Some(Stated::Amount(money))
}

/// Returns the limit of a service that an amount breaks.
fn broken_limit(amount: Amount, currency: Currency, service: Option<&Service>) -> Option<String> {
    let service = service?;
    let rule = service.rule.as_ref()?;
    if rule.currency.is_some_and(|own| own != currency) {
        return None;
    }
    let expected = |words: &str, amount| {
        let limit = Money { amount, currency };
        format!(
            "expected at {words} {limit} {currency} for {}",
            service.code
        )
    };
    let least = rule.min.filter(|min| amount < *min);
    let most = rule.max.filter(|max| amount > *max);
    least
        .map(|min| expected("least", min))
        .or_else(|| most.map(|max| expected("most", max)))
}

fn missing(service: Option<&Service>, currency: Option<Currency>, found: &mut Findings) {
    let why = match service.and_then(|service| Some((&service.code, service.kind()?))) {
        Some((code, kind)) => {
            format!("; only a bill_postpaid service takes what is due, and {code} is {kind}")
        }
        None => String::new(),
    };
    let example = match currency.map(Currency::exponent) {
        Some(0) => "1500",
        _ => "1500.50",
    };
    let message = format!("expected an amount such as {example}, found nothing{why}");
    found.add(Field::Amount, message);
}
