//! What is configured: ceilings per currency, lists, waits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::failures::StopRule;
use super::names::NameList;
use crate::domain::{Amount, Currency, Money, ServiceCode, WireZone};

/// The most, by currency. A currency without an entry has no ceiling.
pub type Ceilings = BTreeMap<Currency, Amount>;

/// The ceilings of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfService {
    /// Of a day.
    pub day: Ceilings,
    /// Of a month.
    pub month: Ceilings,
}

/// Everything that limits payments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The zone of days and months.
    pub zone: WireZone,
    /// Of one payment.
    pub payment: Ceilings,
    /// Of all payments to one recipient in a day.
    pub recipient_day: Ceilings,
    /// And in a month.
    pub recipient_month: Ceilings,
    /// Of all rows of a batch.
    pub batch: Ceilings,
    /// Of all payments of each service, unless it has its own.
    pub each_service: OfService,
    /// Of services that have their own.
    pub services: BTreeMap<ServiceCode, OfService>,
    /// Of what is under way, in doubt or in conflict at once.
    pub exposure: Ceilings,
    /// Who alone is paid.
    pub allow: Option<Arc<NameList>>,
    /// Who is not paid.
    pub deny: Option<Arc<NameList>>,
    /// How long a row waits after its load whose recipient was never paid before.
    pub new_recipient_wait: Option<Duration>,
    /// The share of failures that stops a service.
    pub stop: Option<StopRule>,
}

impl Limits {
    /// Returns limits that limit nothing.
    #[must_use]
    pub fn none(zone: WireZone) -> Self {
        Self {
            zone,
            payment: Ceilings::new(),
            recipient_day: Ceilings::new(),
            recipient_month: Ceilings::new(),
            batch: Ceilings::new(),
            each_service: OfService::default(),
            services: BTreeMap::new(),
            exposure: Ceilings::new(),
            allow: None,
            deny: None,
            new_recipient_wait: None,
            stop: None,
        }
    }

    /// Returns whether nothing is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::none(self.zone.clone())
    }

    /// Returns whether a limit needs to know what was paid before.
    #[must_use]
    pub fn counts(&self) -> bool {
        let some = |of: &OfService| !of.day.is_empty() || !of.month.is_empty();
        !self.recipient_day.is_empty()
            || !self.recipient_month.is_empty()
            || some(&self.each_service)
            || self.services.values().any(some)
            || self.new_recipient_wait.is_some()
    }

    /// Returns the ceilings of a service's day and month, each its own or that of every service.
    #[must_use]
    pub fn of_service(
        &self,
        service: &ServiceCode,
        currency: Currency,
    ) -> (Option<Amount>, Option<Amount>) {
        let own = self.services.get(service);
        let of = |own: Option<&Ceilings>, all: &Ceilings| {
            own.and_then(|own| own.get(&currency))
                .or_else(|| all.get(&currency))
                .copied()
        };
        (
            of(own.map(|own| &own.day), &self.each_service.day),
            of(own.map(|own| &own.month), &self.each_service.month),
        )
    }

    /// Returns the ceiling that a payment of this service and currency keeps to by itself, with its name: above it, it could
    /// never leave, on whatever day.
    #[must_use]
    pub fn of_payment(
        &self,
        service: &ServiceCode,
        currency: Currency,
    ) -> Option<(Amount, &'static str)> {
        let (day, month) = self.of_service(service, currency);
        let of = |ceilings: &Ceilings| ceilings.get(&currency).copied();
        [
            (of(&self.payment), "limits.payment"),
            (of(&self.recipient_day), "limits.recipient_day"),
            (of(&self.recipient_month), "limits.recipient_month"),
            (of(&self.batch), "limits.batch"),
            (day, "limits.service_day"),
            (month, "limits.service_month"),
            (of(&self.exposure), "limits.exposure"),
        ]
        .into_iter()
        .filter_map(|(ceiling, name)| Some((ceiling?, name)))
        .min_by_key(|(ceiling, _)| *ceiling)
    }

    /// Returns the first two ceilings that contradict one another: what the smaller one lets pass, the larger one never would.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let each = &self.each_service;
        let of_all = [
            (
                "payment",
                &self.payment,
                "recipient_day",
                &self.recipient_day,
            ),
            (
                "payment",
                &self.payment,
                "recipient_month",
                &self.recipient_month,
            ),
            (
                "recipient_day",
                &self.recipient_day,
                "recipient_month",
                &self.recipient_month,
            ),
            ("payment", &self.payment, "batch", &self.batch),
            ("payment", &self.payment, "service_day", &each.day),
            ("payment", &self.payment, "service_month", &each.month),
            ("service_day", &each.day, "service_month", &each.month),
            ("payment", &self.payment, "exposure", &self.exposure),
        ];
        let first = of_all.into_iter().find_map(|(low, lows, high, highs)| {
            let lows = lows.iter().map(|(currency, amount)| (*currency, *amount));
            above((low, lows), high, |currency| highs.get(&currency).copied())
        });
        first.or_else(|| {
            self.services
                .keys()
                .find_map(|service| self.of_one(service))
        })
    }

    fn of_one(&self, service: &ServiceCode) -> Option<String> {
        let key = |last: &str| format!("services.{service}.{last}");
        let payments = || {
            self.payment
                .iter()
                .map(|(currency, amount)| (*currency, *amount))
        };
        let own = self.services.get(service)?;
        let day = |currency| self.of_service(service, currency).0;
        let month = |currency| self.of_service(service, currency).1;
        let named = own.day.keys().chain(own.month.keys());
        let days = named.filter_map(|currency| Some((*currency, day(*currency)?)));
        above(("payment", payments()), &key("day"), day)
            .or_else(|| above(("payment", payments()), &key("month"), month))
            .or_else(|| above((&key("day"), days), &key("month"), month))
    }
}

/// Says of the first of some ceilings that it is above another one of its currency.
fn above(
    (low, lows): (&str, impl Iterator<Item = (Currency, Amount)>),
    high: &str,
    highs: impl Fn(Currency) -> Option<Amount>,
) -> Option<String> {
    lows.filter_map(|(currency, low)| Some((currency, low, highs(currency)?)))
        .find(|(_, low, high)| low > high)
        .map(|(currency, lower, higher)| {
            let money = |amount| Money { amount, currency };
            format!(
                "limits.{low} {currency} {} is more than limits.{high} {currency} {}: the second ceiling always refuses before the first",
                money(lower),
                money(higher)
            )
        })
}
