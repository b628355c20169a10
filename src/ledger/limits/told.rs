//! Ceilings by the keys that set them: what a person is told of one, and changes.

use super::ceilings::{Ceilings, Limits};
use super::reason::Reason;
use crate::domain::{Currency, Money, ServiceCode};

/// A ceiling, as the configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceiling {
    /// Its key, such as `limits.payment`.
    pub key: String,
    /// The most.
    pub money: Money,
}

impl Limits {
    /// Returns the ceiling that a payment of this service and currency is above where it waits for this reason; `None` where the
    /// reason is a list or a wait, or where there is no such ceiling.
    #[must_use]
    pub fn ceiling(
        &self,
        reason: Reason,
        service: &ServiceCode,
        currency: Currency,
    ) -> Option<Ceiling> {
        let of = |ceilings: &Ceilings| ceilings.get(&currency).copied();
        let (day, month) = self.of_service(service, currency);
        let (amount, name) = match reason {
            Reason::Denied | Reason::NotAllowed | Reason::NewRecipient => return None,
            Reason::Payment => self.of_payment(service, currency)?,
            Reason::Batch => (of(&self.batch)?, "limits.batch"),
            Reason::RecipientMonth => (of(&self.recipient_month)?, "limits.recipient_month"),
            Reason::RecipientDay => (of(&self.recipient_day)?, "limits.recipient_day"),
            Reason::ServiceMonth => (month?, MONTH),
            Reason::ServiceDay => (day?, DAY),
        };
        Some(Ceiling {
            key: self.key(name, service, currency),
            money: Money { amount, currency },
        })
    }

    /// Returns the key that is to be changed: that of the service where it has its own.
    fn key(&self, name: &str, service: &ServiceCode, currency: Currency) -> String {
        let own = self.services.get(service);
        let (own, last) = match name {
            DAY => (own.map(|own| &own.day), "day"),
            MONTH => (own.map(|own| &own.month), "month"),
            _ => (None, ""),
        };
        match own.is_some_and(|own| own.contains_key(&currency)) {
            true => format!("limits.services.{service}.{last}"),
            false => name.to_owned(),
        }
    }
}

/// What [`Limits::of_payment`] calls the ceilings of a service.
const DAY: &str = "limits.service_day";
const MONTH: &str = "limits.service_month";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Amount, WireZone};
    use crate::ledger::limits::OfService;

    #[test]
    fn a_ceiling_is_told_by_the_key_that_sets_it() {
        let currency = Currency::from_code("KES").unwrap();
        let kes = |major: i64| {
            let amount = Amount::parse(&format!("{major}.00"), currency).unwrap();
            Ceilings::from([(currency, amount)])
        };
        let service = |code| ServiceCode::parse(code).unwrap();
        let own = OfService {
            day: kes(700),
            month: Ceilings::new(),
        };
        let limits = Limits {
            payment: kes(800),
            recipient_day: kes(900),
            batch: kes(5_000),
            each_service: OfService {
                day: kes(1_000),
                month: kes(9_000),
            },
            services: [(service("BANK"), own)].into(),
            ..Limits::none(WireZone::utc())
        };
        for (reason, code, expected) in [
            (Reason::Denied, "B2C", None),
            (Reason::NotAllowed, "B2C", None),
            (Reason::NewRecipient, "B2C", None),
            (Reason::Payment, "B2C", Some("limits.payment 800.00")),
            (
                Reason::Payment,
                "BANK",
                Some("limits.services.BANK.day 700.00"),
            ),
            (Reason::Batch, "B2C", Some("limits.batch 5000.00")),
            (
                Reason::RecipientDay,
                "B2C",
                Some("limits.recipient_day 900.00"),
            ),
            (Reason::RecipientMonth, "B2C", None),
            (
                Reason::ServiceDay,
                "B2C",
                Some("limits.service_day 1000.00"),
            ),
            (
                Reason::ServiceDay,
                "BANK",
                Some("limits.services.BANK.day 700.00"),
            ),
            (
                Reason::ServiceMonth,
                "BANK",
                Some("limits.service_month 9000.00"),
            ),
        ] {
            let found = limits.ceiling(reason, &service(code), currency);
            let found = found.map(|of| format!("{} {}", of.key, of.money));
            assert_eq!(found.as_deref(), expected, "{reason:?} {code}");
            let other = Currency::from_code("UGX").unwrap();
            assert_eq!(limits.ceiling(reason, &service(code), other), None);
        }
    }
}
