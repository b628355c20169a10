//! What the configuration says about rows.

use std::collections::BTreeMap;

use crate::domain::{Amount, Country, Currency, PaymentKind, ServiceCode};

/// What is known about one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceRule {
    /// What kind of payment it makes.
    pub kind: PaymentKind,
    /// The only currency it pays; any when absent.
    pub currency: Option<Currency>,
    /// The smallest amount, in minor units of the row's currency.
    pub min: Option<Amount>,
    /// The largest amount, in minor units of the row's currency.
    pub max: Option<Amount>,
}

/// The rules that rows are checked by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The services by code. None at all means that no service is configured, and that every code is taken.
    pub services: BTreeMap<ServiceCode, ServiceRule>,
    /// The service of rows that name none.
    pub default_service: Option<ServiceCode>,
    /// The currency of rows that name none, unless their service has its own.
    pub default_currency: Option<Currency>,
    /// The country of rows that name none.
    pub default_country: Option<Country>,
    /// Headers of files, and the columns of the contract they stand for.
    pub columns: BTreeMap<String, String>,
}

impl Rules {
    /// Returns whether a row needs no currency of its own.
    pub(super) fn always_has_currency(&self) -> bool {
        self.default_currency.is_some()
            || !self.services.is_empty()
                && self.services.values().all(|rule| rule.currency.is_some())
    }
}
