//! The float account of one service.

use super::verdict::FloatAccount;
use crate::domain::decimal;
use crate::sandbox::options::Service;

/// What is in it, and what of that is promised, in minor units.
pub(in crate::sandbox) struct Account {
    pub service: Service,
    pub balance: i128,
    pub reserved: i128,
    pub accepted: u64,
    /// Whether a planned shortage is on.
    pub short: bool,
    /// Whether it was.
    pub was_short: bool,
}

impl Account {
    pub fn new(service: &Service) -> Self {
        Self {
            balance: i128::from(service.float),
            service: service.clone(),
            reserved: 0,
            accepted: 0,
            short: false,
            was_short: false,
        }
    }

    /// Returns whether there is float for a further payment.
    pub fn covers(&self, minor: i128) -> bool {
        !self.short && self.balance - self.reserved >= minor
    }

    /// Adds float, which ends a shortage.
    pub fn add_float(&mut self, minor: impl Into<i128>) {
        self.short = false;
        self.balance += minor.into();
    }

    /// The account as its callers see it.
    pub fn shown(&self) -> FloatAccount {
        FloatAccount {
            service: self.service.code.clone(),
            currency: self.service.currency,
            balance: self.decimal(self.balance),
            available: self.decimal(match self.short {
                true => 0,
                false => self.balance - self.reserved,
            }),
            reserved: self.decimal(self.reserved),
            accepted: self.accepted,
            short: self.short,
        }
    }

    // A float that was configured smaller since the payments were made is overdrawn.
    fn decimal(&self, minor: i128) -> String {
        decimal(minor, self.service.currency)
    }
}
